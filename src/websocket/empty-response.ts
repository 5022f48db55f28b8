import type { FunctionToolEcho, ResponseResource } from '../schema/response-resource.ts';

type JsonFields = Readonly<Record<string, unknown>>;

/**
 * The Response to `generate: false`: complete and without output. It repeats the request as far as the request's values
 * are of the field's type; nothing else of the request is judged before it is used.
 */
export function emptyResponse(
  fields: JsonFields,
  made: { readonly id: string; readonly at: number; readonly previousId: string | null },
): Omit<ResponseResource, 'previous_response_id'> & { readonly previous_response_id: string | null } {
  const text = (name: string) => (typeof fields[name] === 'string' ? (fields[name] as string) : null);
  const number = (name: string) => (typeof fields[name] === 'number' ? (fields[name] as number) : null);
  const object = (name: string): JsonFields => {
    const value = fields[name];
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonFields) : {};
  };
  const { effort, summary } = object('reasoning');
  return {
    id: made.id,
    object: 'response',
    created_at: made.at,
    completed_at: made.at,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: text('model') ?? '',
    instructions: text('instructions'),
    tools: functionsOf(fields['tools']),
    tool_choice: text('tool_choice') ?? 'auto',
    parallel_tool_calls: fields['parallel_tool_calls'] !== false,
    truncation: fields['truncation'] === 'auto' ? 'auto' : 'disabled',
    text: { format: { type: 'text' } },
    temperature: number('temperature') ?? 1,
    top_p: number('top_p') ?? 1,
    presence_penalty: number('presence_penalty') ?? 0,
    frequency_penalty: number('frequency_penalty') ?? 0,
    top_logprobs: number('top_logprobs') ?? 0,
    reasoning: {
      effort: typeof effort === 'string' ? effort : null,
      summary: typeof summary === 'string' ? summary : null,
    },
    max_output_tokens: number('max_output_tokens'),
    max_tool_calls: number('max_tool_calls'),
    service_tier: text('service_tier') ?? 'default',
    metadata: Object.fromEntries(
      Object.entries(object('metadata')).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
    safety_identifier: text('safety_identifier'),
    prompt_cache_key: text('prompt_cache_key'),
    previous_response_id: made.previousId,
    output: [],
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
    store: false,
    background: false,
  };
}

function functionsOf(tools: unknown): FunctionToolEcho[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: JsonFields | null) => {
    if (tool?.['type'] !== 'function' || typeof tool['name'] !== 'string') return [];
    const { name, description, parameters, strict } = tool;
    return [
      {
        type: 'function',
        name,
        description: typeof description === 'string' ? description : null,
        parameters: parameters ?? null,
        strict: typeof strict === 'boolean' ? strict : null,
      },
    ];
  });
}
