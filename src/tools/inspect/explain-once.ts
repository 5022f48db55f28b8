import { buildExplainedRequest, type ExplainedRequest } from './exchange-json.ts';
import type { StoredExchange } from './exchange-store.ts';

/** Explains requests beside the service, one at a time. */
export interface Explainer {
  /** Prepares for a question, because a page is open. */
  prepare(): void;
  /** Frees what was prepared, because no page is open. */
  rest(): void;
  /**
   * Resolves with the output of `explain --json`, compressed with gzip. Rejects with its error text, after a timeout, and
   * when the signal aborts.
   */
  explain(request: ExplainedRequest, signal: AbortSignal): Promise<Buffer>;
  close(): void;
}

/** The most explanations that wait for another one. A page asks for one at a time. */
const maxWaiting = 8;

/**
 * Creates the function that explains exchanges one after another. An explanation is kept with its exchange, so each is made
 * once. The result is null if too many exchanges are waiting.
 */
export function createExplainOnce({ explain }: Explainer) {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function explained(exchange: StoredExchange, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    if (exchange.isDiscarded) throw new Error('This exchange is no longer in memory.');
    // Another page may have asked for the same explanation meanwhile.
    if (exchange.explanation !== null) return exchange.explanation;
    const gzip = await explain(buildExplainedRequest(exchange), signal);
    exchange.keepExplanation(gzip);
    return gzip;
  }

  return async (exchange: StoredExchange, signal: AbortSignal): Promise<Buffer | null> => {
    if (exchange.explanation !== null) return exchange.explanation;
    if (waiting >= maxWaiting) return null;
    waiting += 1;
    const mine = last.then(() => explained(exchange, signal));
    last = mine
      .catch(() => {})
      .then(() => {
        waiting -= 1;
      });
    return mine;
  };
}
