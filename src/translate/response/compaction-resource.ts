import type { CompactionResource, ResponseResource, Usage } from '../../schema/response-resource.ts';
import type { ResponseContext } from '../context.ts';

/** The body for a client that gets JSON: the Response itself, or what `POST /v1/responses/compact` gives for it. */
export function jsonBodyOf(
  response: ResponseResource,
  { kind }: Pick<ResponseContext, 'kind'>,
): ResponseResource | CompactionResource {
  if (kind !== 'compact_endpoint' || response.status === 'failed') return response;
  const { id, created_at, output, usage } = response;
  return { id, object: 'response.compaction', created_at, output, usage: usage ?? noUsage };
}

/** The schema has no null here. */
const noUsage: Usage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};
