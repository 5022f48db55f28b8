import { setImmediate as turn } from 'node:timers/promises';
import { bodyNames } from './recording.ts';
import type { ExchangeStore, StoredExchange } from './store.ts';

/**
 * Those of these exchanges that have the text in one of their bodies, ignoring case, as it is or as JSON escapes it.
 * The text of a stream is found in its last event, which repeats all of it. Searches one exchange after the other, and lets
 * the service work in between.
 */
export async function searchBodies(
  store: ExchangeStore,
  text: string,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<number[]> {
  const plain = text.toLowerCase();
  const wanted = [...new Set([plain, JSON.stringify(plain).slice(1, -1)])];
  const found: number[] = [];
  for (const id of ids) {
    const exchange = store.get(id);
    if (exchange === undefined) continue;
    if (hasText(exchange, wanted)) found.push(id);
    await turn();
    signal.throwIfAborted();
  }
  return found;
}

function hasText({ log }: StoredExchange, wanted: readonly string[]): boolean {
  return bodyNames.some((body) => {
    const text = log.whole(body).toString('utf8').toLowerCase();
    return wanted.some((each) => text.includes(each));
  });
}
