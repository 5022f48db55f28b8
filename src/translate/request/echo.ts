import type { CreateResponseFields } from '../../schema/create-response.ts';
import type { CreateResponseEcho, ToolEcho } from '../../schema/response-resource.ts';

/** What the Response repeats of its request, with the API's defaults where the request is silent. */
export function echoOf(
  fields: CreateResponseFields,
  made: {
    readonly model: string;
    readonly tools: readonly ToolEcho[];
    readonly toolChoice: unknown;
    readonly format: unknown;
    readonly strict: boolean;
  },
): CreateResponseEcho {
  const { reasoning, text } = fields;
  const effort = reasoning?.effort ?? null;
  // The published schema has no word for these two.
  const unspeakable = made.strict && (effort === 'minimal' || effort === 'max');
  return {
    model: made.model,
    instructions: fields.instructions ?? null,
    tools: made.tools,
    tool_choice: made.toolChoice,
    parallel_tool_calls: fields.parallel_tool_calls ?? true,
    truncation: fields.truncation ?? 'disabled',
    text: { format: made.format, ...(text?.verbosity == null ? {} : { verbosity: text.verbosity }) },
    temperature: fields.temperature ?? 1,
    top_p: fields.top_p ?? 1,
    presence_penalty: fields.presence_penalty ?? 0,
    frequency_penalty: fields.frequency_penalty ?? 0,
    top_logprobs: fields.top_logprobs ?? 0,
    reasoning: {
      effort: unspeakable ? null : effort,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
    },
    max_output_tokens: fields.max_output_tokens ?? null,
    max_tool_calls: fields.max_tool_calls ?? null,
    service_tier: fields.service_tier ?? 'default',
    metadata: (fields.metadata ?? {}) as Readonly<Record<string, string>>, // its schema has seen that all values are strings
    safety_identifier: fields.safety_identifier ?? null,
    prompt_cache_key: fields.prompt_cache_key ?? null,
    ...(fields.user == null ? {} : { user: fields.user }),
    ...(fields.prompt_cache_retention == null ? {} : { prompt_cache_retention: fields.prompt_cache_retention }),
  };
}
