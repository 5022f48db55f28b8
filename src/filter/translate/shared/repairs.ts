/** Kinds of faults that are repaired in an upstream's answer, so that clients can use it, or left out of it, for the metric and the log. */
export const repairKinds = [
  'skipped_data', // data in a stream that was not JSON
  'repeated_call', // a tool call that came twice
  'arguments', // arguments that are `null`, a text of the object, or have something behind it
  'whole_number', // `120000.0` in arguments, written as `120000`
  'usage', // counts of tokens that contradict each other
  'service_tier', // a tier for which the API has no word
  'tool_choice_ignored', // text where the request required a call: the server ignores the word
  'parallel_tool_calls_ignored', // several calls where the request allowed one: the server ignores the field
  'reasoning_alone', // an answer of reasoning and nothing else that ended normally: agents stop at it without a word
] as const;
export type Repair = (typeof repairKinds)[number];
