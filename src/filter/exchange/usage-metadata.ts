import { type BilledFacts, costs } from './summary.ts';
import type { ExchangeReply, Replies, UsageMetadata } from './types.ts';

/** The most output tokens between two updates: an update takes 2 µs, a third of what this service takes for a token. */
const tokensBetweenUpdates = 64;

/** The number of output tokens at which the next update is due: at 1, 4, 16 and 64, then at every 64. */
export function nextUpdateAfter(outputTokens: number): number {
  return Math.min(4 * outputTokens, outputTokens + tokensBetweenUpdates);
}

/** The replies, the first of them with the metadata. */
export function withMetadata(replies: Replies, metadata: UsageMetadata): Replies {
  if (!Array.isArray(replies)) return withMetadataOnFirst(replies, metadata);
  const [first, ...rest] = replies;
  return first === undefined ? replies : [{ ...first, metadata }, ...rest];
}

function* withMetadataOnFirst(
  replies: Generator<ExchangeReply, void>,
  metadata: UsageMetadata,
): Generator<ExchangeReply, void> {
  const { done, value } = replies.next();
  if (done) return;
  yield { ...value, metadata };
  yield* replies;
}

/**
 * The metadata for Envoy at this point of the exchange. Envoy keeps the last value of each field until the client's stream
 * ends; budgets and the access log see that value. So an exchange that is still open is called `aborted`, which it is
 * unless more metadata follows, and a field that was sent once is sent again.
 */
export function usageMetadataOf({ outcome, model, upstreamModel, tokens, estimate }: BilledFacts): UsageMetadata {
  const metadata: Record<string, string | number> = {
    ...paid({ outcome, tokens, estimate }),
    outcome: outcome === 'open' ? 'aborted' : outcome,
  };
  // Names chosen by clients and upstreams may be of any length.
  if (model !== null) metadata['model'] = model.slice(0, 200);
  if (upstreamModel !== null) metadata['upstream_model'] = upstreamModel.slice(0, 200);
  return metadata;
}

/** The tokens to pay for; zeros replace an estimate that was sent before. */
function paid({ outcome, tokens, estimate }: Omit<BilledFacts, 'model' | 'upstreamModel'>): UsageMetadata {
  if (!costs(outcome)) return nothingToPay;
  if (tokens !== null) return { ...tokens, tokens_from: 'upstream' };
  return estimate === null ? {} : { ...estimate, tokens_from: 'estimate' };
}

const nothingToPay = { input_tokens: 0, output_tokens: 0, total_tokens: 0, tokens_from: 'none' };
