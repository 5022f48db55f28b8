import { setImmediate as turn } from 'node:timers/promises';
import type { ExchangeStore, StoredExchange } from './exchange-store.ts';
import { bodyNames } from './recording.ts';
import { createDeltaTexts } from './view/delta-texts.ts';

/**
 * Those of these exchanges that have the text in one of their bodies, ignoring case: as it is, as JSON escapes it, or in
 * what the deltas of an answer add up to. Searches one exchange after the other, an answer's deltas some at a time, and
 * lets the service work in between.
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
    for (const isFound of findingsIn(exchange, wanted)) {
      if (isFound) {
        found.push(id);
        break;
      }
      await turn();
      signal.throwIfAborted();
    }
  }
  return found;
}

/** Lines of a stream that are read at a time: a millisecond or so. */
const linesAtATime = 500;

/** Whether the exchange has one of these texts: false after each part of the work, true once it is found. */
function* findingsIn(exchange: StoredExchange, wanted: readonly string[]): Generator<boolean> {
  for (const body of bodyNames) {
    const text = exchange.bytesOf(body).toString('utf8');
    const lower = text.toLowerCase();
    yield wanted.some((each) => lower.includes(each));
    if (body !== 'chat_response' && body !== 'client_response') continue;
    const deltas = createDeltaTexts<typeof body>();
    for (const [index, line] of text.split('\n').entries()) {
      deltas.add(line.replace(/^data:/, ''), body);
      if (index % linesAtATime === linesAtATime - 1) yield false;
    }
    yield deltas.find(wanted).size > 0;
  }
}
