import { detailJson, type ExchangeDetail } from '../../src/tools/inspect/exchange-json.ts';
import { noFacts, type StoredExchange } from '../../src/tools/inspect/exchange-store.ts';
import type { ExchangeFacts } from '../../src/tools/inspect/recording.ts';

/** The facts of an exchange that is running, with nothing else known yet. */
export const recordedFacts: ExchangeFacts = { ...noFacts, profile: 'generic', model: 'm', stream: true };

/** Those of one that has ended. */
export const overFacts: ExchangeFacts = { ...recordedFacts, outcome: 'completed' };

/** The head of a client's request. */
export const requestHead = new Map([
  [':method', 'POST'],
  [':path', '/v1/responses'],
]);

/** An exchange as a page gets it. */
export function detailOf(exchange: StoredExchange): ExchangeDetail {
  return JSON.parse([...detailJson(exchange)].join(''));
}
