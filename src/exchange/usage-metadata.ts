import type { ExchangeSummary } from './exchange.ts';
import type { ExchangeReply, UsageMetadata } from './types.ts';

/**
 * The replies that carry the end of an answer, the first of them with what Envoy may use of it. A stream's usage is known
 * only at its end; with an answer in JSON the first reply is the one to the headers, so that filters can set headers from it.
 * An immediate response carries none: its `details` name the error.
 */
export function withUsageMetadata(replies: ExchangeReply[], summary: ExchangeSummary): ExchangeReply[] {
  const [first, ...rest] = replies;
  if (first === undefined || first.type === 'immediate_response') return replies;
  return [{ ...first, metadata: usageMetadataOf(summary) }, ...rest];
}

/** Fields that the upstream did not report are absent, never 0: a budget would take that for an answer that cost nothing. */
function usageMetadataOf({ outcome, model, upstreamModel, usage }: ExchangeSummary): UsageMetadata {
  return {
    outcome,
    ...(model !== null && { model: short(model) }),
    ...(upstreamModel !== null && { upstream_model: short(upstreamModel) }),
    ...(usage !== null && {
      input_tokens: usage.input_tokens,
      cached_tokens: usage.input_tokens_details.cached_tokens,
      output_tokens: usage.output_tokens,
      reasoning_tokens: usage.output_tokens_details.reasoning_tokens,
      total_tokens: usage.total_tokens,
    }),
  };
}

/** Names chosen by clients and upstreams may be of any length. */
function short(name: string): string {
  return name.slice(0, 200);
}
