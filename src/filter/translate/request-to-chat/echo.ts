import type { CreateResponseEcho, InputTransformation } from '../../wire/schema/response-resource.ts';
import type { Reading } from '../shared/dropped.ts';
import type { CreateResponse } from '../shared/parsed.ts';

/**
 * The fields of the request that the Response repeats, with the API's defaults for absent ones. A field that is dropped and listed is not
 * in force, so it is repeated as its default.
 */
export function buildEcho(
  request: CreateResponse,
  made: {
    readonly model: string;
    readonly tier: string | null;
    readonly toolChoice: unknown;
    readonly format: unknown;
  },
  withheld: readonly InputTransformation[],
  { settings: { strictEcho }, dropped }: Reading,
): CreateResponseEcho {
  const { reasoning, text } = request;
  const sent = <Value>(path: string, value: Value) => (dropped.has(path) ? null : (value ?? null));
  const effort = sent('reasoning.effort', reasoning?.effort);
  const verbosity = sent('text.verbosity', text.verbosity);
  const user = sent('user', request.user);
  const retention = sent('prompt_cache_retention', request.prompt_cache_retention);
  const options = Object.entries(request.prompt_cache_options ?? {}).filter(
    ([key]) => !dropped.has(`prompt_cache_options.${key}`),
  );
  // The published schema lacks these two efforts.
  const unpublished = strictEcho && (effort === 'minimal' || effort === 'max');
  return {
    model: made.model,
    instructions: request.instructions ?? null,
    tools: request.listedTools,
    tool_choice: made.toolChoice,
    parallel_tool_calls: sent('parallel_tool_calls', request.parallel_tool_calls) ?? true,
    truncation: sent('truncation', request.truncation) ?? 'disabled',
    text: { format: made.format, ...(verbosity === null ? {} : { verbosity }) },
    temperature: sent('temperature', request.temperature) ?? 1,
    top_p: sent('top_p', request.top_p) ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    reasoning: {
      effort: unpublished ? null : effort,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
      ...(strictEcho || reasoning?.context == null || reasoning.context === 'auto'
        ? {}
        : { context: reasoning.context }),
    },
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    service_tier: sent('service_tier', made.tier) ?? 'default',
    metadata: request.metadata ?? {},
    safety_identifier: sent('safety_identifier', request.safety_identifier),
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(user === null ? {} : { user }),
    ...(retention === null ? {} : { prompt_cache_retention: retention }),
    ...(strictEcho || options.length === 0 ? {} : { prompt_cache_options: Object.fromEntries(options) }),
    ...(strictEcho || withheld.length === 0 ? {} : { input_transformations: withheld }),
  };
}
