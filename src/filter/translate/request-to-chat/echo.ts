import type { CreateResponseEcho, InputTransformation } from '../../wire/schema/response-resource.ts';
import type { CreateResponse } from '../shared/parsed.ts';

/** The fields of the request that the Response repeats, with the API's defaults for absent ones. */
export function echoOf(
  request: CreateResponse,
  made: {
    readonly model: string;
    readonly toolChoice: unknown;
    readonly format: unknown;
    readonly withheld: readonly InputTransformation[];
    readonly strict: boolean;
  },
): CreateResponseEcho {
  const { reasoning, text } = request;
  const effort = reasoning?.effort ?? null;
  // The published schema does not have these two.
  const unpublished = made.strict && (effort === 'minimal' || effort === 'max');
  return {
    model: made.model,
    instructions: request.instructions ?? null,
    tools: request.listedTools,
    tool_choice: made.toolChoice,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    truncation: request.truncation ?? 'disabled',
    text: { format: made.format, ...(text.verbosity === null ? {} : { verbosity: text.verbosity }) },
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    reasoning: {
      effort: unpublished ? null : effort,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
      ...(made.strict || reasoning?.context == null || reasoning.context === 'auto'
        ? {}
        : { context: reasoning.context }),
    },
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    service_tier: request.service_tier ?? 'default',
    metadata: request.metadata ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(request.user == null ? {} : { user: request.user }),
    ...(request.prompt_cache_retention == null ? {} : { prompt_cache_retention: request.prompt_cache_retention }),
    ...(made.strict || request.prompt_cache_options == null
      ? {}
      : { prompt_cache_options: request.prompt_cache_options }),
    ...(made.strict || made.withheld.length === 0 ? {} : { input_transformations: made.withheld }),
  };
}
