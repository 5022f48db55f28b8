/** Part of `invariants.ts`: the fields each event has, and those of the Response resource. */
import { type Fields, isExtensionType } from './invariants-items.ts';

/** By event type without `response.`: its fields besides `type` and `sequence_number`; those with `?` may be absent. */
export const eventFields: Readonly<Record<string, string>> = {
  created: 'response',
  in_progress: 'response',
  completed: 'response',
  incomplete: 'response',
  failed: 'response',
  'output_item.added': 'output_index item',
  'output_item.done': 'output_index item',
  'content_part.added': 'item_id output_index content_index part',
  'content_part.done': 'item_id output_index content_index part',
  'output_text.delta': 'item_id output_index content_index delta logprobs obfuscation?',
  'output_text.done': 'item_id output_index content_index text logprobs',
  'output_text.annotation.added': 'item_id output_index content_index annotation_index annotation',
  'refusal.delta': 'item_id output_index content_index delta obfuscation?',
  'refusal.done': 'item_id output_index content_index refusal',
  'reasoning_text.delta': 'item_id output_index content_index delta obfuscation?',
  'reasoning_text.done': 'item_id output_index content_index text',
  'reasoning.delta': 'item_id output_index content_index delta obfuscation?',
  'reasoning.done': 'item_id output_index content_index text',
  'reasoning_summary_part.added': 'item_id output_index summary_index part',
  'reasoning_summary_part.done': 'item_id output_index summary_index part',
  'reasoning_summary_text.delta': 'item_id output_index summary_index delta obfuscation?',
  'reasoning_summary_text.done': 'item_id output_index summary_index text',
  'function_call_arguments.delta': 'item_id output_index delta obfuscation?',
  'function_call_arguments.done': 'item_id output_index name arguments',
  'custom_tool_call_input.delta': 'item_id output_index delta obfuscation?',
  'custom_tool_call_input.done': 'item_id output_index input',
  'shell_call_command.added': 'output_index command_index command',
  'shell_call_command.delta': 'output_index command_index delta obfuscation?',
  'shell_call_command.done': 'output_index command_index command',
  error: 'error code message param',
};

/** By item type. */
const itemFields: Readonly<Record<string, string>> = {
  message: 'id type status role content phase?',
  reasoning: 'id type status summary content? encrypted_content?',
  function_call: 'id type status call_id name namespace? arguments',
  custom_tool_call: 'id type status call_id name namespace? input',
  tool_search_call: 'id type status call_id execution arguments',
  tool_search_output: 'id type status call_id execution tools',
  shell_call: 'id type status call_id action environment',
  local_shell_call: 'id type status call_id action',
  apply_patch_call: 'id type status call_id operation',
  image_generation_call: 'id type status result output_format?',
  compaction: 'id type encrypted_content',
};

const partFields: Readonly<Record<string, string>> = {
  output_text: 'type text annotations logprobs',
  refusal: 'type refusal',
  reasoning_text: 'type text',
  summary_text: 'type text',
};

/** All fields of the resource; clients read them without checking that they exist. */
const resourceFields =
  'id object created_at completed_at status error incomplete_details model previous_response_id instructions output ' +
  'tools tool_choice parallel_tool_calls truncation text temperature top_p presence_penalty frequency_penalty ' +
  'top_logprobs reasoning usage max_output_tokens max_tool_calls store background service_tier metadata ' +
  'safety_identifier prompt_cache_key user? prompt_cache_retention? moderation?';

/** What is wrong with an event's fields. One of a provider's own may have any, where such are allowed. */
export function fieldFaults(event: Fields, extensions: boolean): string[] {
  const type = String(event['type']);
  if (extensions && isExtensionType(type)) return [];
  const known = eventFields[type.replace(/^response\./, '')];
  if (known === undefined) return [`${type} is not an event of the API`];
  const faults = keyFaults(event, `type sequence_number ${known}`, type);
  for (const key of ['output_index', 'content_index', 'summary_index', 'annotation_index'])
    if (event[key] !== undefined && !Number.isInteger(event[key])) faults.push(`${type}: ${key} is not an integer`);
  for (const key of ['delta', 'text', 'refusal', 'arguments', 'input', 'item_id', 'name'])
    if (event[key] !== undefined && typeof event[key] !== 'string') faults.push(`${type}: ${key} is not a string`);
  if (event['item'] !== undefined) faults.push(...itemFaults(event['item'] as Fields));
  if (event['part'] !== undefined) faults.push(...partFaults(event['part'] as Fields));
  if (type === 'error') faults.push(...errorFaults(event));
  return faults;
}

/** What is wrong with a snapshot of the response, given the event that carries it. With `extensions` the last may have more fields. */
export function resourceFaults(type: string, response: Fields, extensions: boolean): string[] {
  const isLast = !['response.created', 'response.in_progress'].includes(type);
  const faults = keyFaults(response, resourceFields, 'response', extensions && isLast);
  const status = type === 'response.created' ? 'in_progress' : type.replace('response.', '');
  if (response['status'] !== status) faults.push(`status is ${response['status']}`);
  if ((response['completed_at'] !== null) !== (status === 'completed'))
    faults.push('completed_at does not fit the status');
  if ((response['error'] !== null) !== (status === 'failed')) faults.push('error does not fit the status');
  if ((response['incomplete_details'] !== null) !== (status === 'incomplete'))
    faults.push('incomplete_details does not fit the status');
  const output = response['output'];
  if (!Array.isArray(output)) faults.push('output is not an array');
  else {
    if (status === 'in_progress' && output.length > 0) faults.push('output is not empty at the start');
    for (const item of output) faults.push(...itemFaults(item as Fields));
  }
  if (status === 'in_progress' && response['usage'] !== null) faults.push('usage at the start');
  if (response['usage'] !== null) faults.push(...usageFaults(response['usage'] as Fields, extensions));
  return faults;
}

function itemFaults(item: Fields): string[] {
  const known = itemFields[String(item['type'])];
  if (known === undefined) return [`${item['type']} is not an item of the API`];
  const parts = [...((item['content'] ?? []) as Fields[]), ...((item['summary'] ?? []) as Fields[])];
  return [...keyFaults(item, known, String(item['type'])), ...parts.flatMap(partFaults)];
}

function partFaults(part: Fields): string[] {
  if (isExtensionType(part['type'])) return [];
  const known = partFields[String(part['type'])];
  return known === undefined
    ? [`${part['type']} is not a part of the API`]
    : keyFaults(part, known, String(part['type']));
}

/** The specification nests the error, OpenAI's own event is flat: readers of either form find it (choice D3). */
function errorFaults(event: Fields): string[] {
  const error = event['error'] as Fields;
  const faults = keyFaults(error, 'type code param message headers?', 'error');
  for (const key of ['code', 'message', 'param']) if (error[key] !== event[key]) faults.push(`error: ${key} differs`);
  for (const key of ['type', 'code', 'message'])
    if (typeof error[key] !== 'string' || error[key] === '') faults.push(`error: ${key} is not text`);
  return faults;
}

function usageFaults(usage: Fields, extensions: boolean): string[] {
  const faults = keyFaults(
    usage,
    'input_tokens input_tokens_details output_tokens output_tokens_details total_tokens',
    'usage',
    extensions,
  );
  const counts = [usage, usage['input_tokens_details'], usage['output_tokens_details']] as Fields[];
  const own = /^(input|output|total)_tokens$|^(cached|cache_write|reasoning)_tokens$/;
  for (const [name, count] of counts.flatMap((group) => Object.entries(group)))
    if (own.test(name) && typeof count !== 'object' && !(Number.isInteger(count) && Number(count) >= 0))
      faults.push(`usage: ${count}`);
  const [input, output, total] = [usage['input_tokens'], usage['output_tokens'], usage['total_tokens']].map(Number);
  const { cached_tokens, cache_write_tokens } = usage['input_tokens_details'] as Record<string, number>;
  const { reasoning_tokens } = usage['output_tokens_details'] as Record<string, number>;
  if (Number(cached_tokens) + Number(cache_write_tokens) > Number(input)) faults.push('usage: more cached than input');
  if (Number(reasoning_tokens) > Number(output)) faults.push('usage: more reasoning than output');
  if (Number(input) + Number(output) !== total) faults.push('usage: input and output are not the total');
  return faults;
}

function keyFaults(object: Fields, known: string, what: string, more = false): string[] {
  const faults: string[] = [];
  const names = known.split(' ');
  for (const name of names) {
    if (!name.endsWith('?') && object[name] === undefined) faults.push(`${what}: ${name} is missing`);
  }
  for (const key of more ? [] : Object.keys(object))
    if (!names.includes(key) && !names.includes(`${key}?`) && !isExtensionType(key))
      faults.push(`${what}: ${key} does not belong there`);
  return faults;
}
