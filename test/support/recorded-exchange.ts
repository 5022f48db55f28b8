import { buildExchangePart, type ExchangePart } from '../../src/tools/inspect/exchange-json.ts';
import { type ExchangeFacts, noFacts, type StoredExchange } from '../../src/tools/inspect/exchange-store.ts';
import type { Explainer } from '../../src/tools/inspect/explain-once.ts';
import { type BodyName, bodyNames } from '../../src/tools/inspect/recording.ts';
import { type ExchangeDetail, joinParts } from '../../src/tools/inspect/view/join-parts.ts';

/** The facts of an exchange that is running, with nothing else known yet. */
export const recordedFacts: ExchangeFacts = { ...noFacts, profile: 'generic', model: 'm', stream: true };

/** Those of one that has ended. */
export const overFacts: ExchangeFacts = { ...recordedFacts, outcome: 'completed' };

/** The head of a client's request. */
export const requestHead = new Map([
  [':method', 'POST'],
  [':path', '/v1/responses'],
]);

/** For an inspector that is not asked to explain. */
export const noExplainer: Explainer = {
  prepare: () => {},
  rest: () => {},
  explain: async () => Buffer.alloc(0),
  close: () => {},
};

/** Adds a piece of text or bytes to one of its bodies. */
export function addBytes(exchange: StoredExchange, body: BodyName, atMs: number, bytes: string | Uint8Array): void {
  exchange.addPiece(body, atMs, Buffer.from(bytes as Uint8Array).toString('latin1'));
}

/** An exchange as a page gets it, part by part. */
export function detailOf(exchange: StoredExchange): ExchangeDetail {
  let detail = joinParts(null, partAfter(exchange, null));
  while (detail.has_more) detail = joinParts(detail, partAfter(exchange, detail));
  return detail;
}

function partAfter(exchange: StoredExchange, before: ExchangeDetail | null): ExchangePart {
  const counts = bodyNames.map((name) => [name, before?.pieces[name].length ?? 0]);
  return JSON.parse(JSON.stringify(buildExchangePart(exchange, Object.fromEntries(counts))));
}

/** What a service has recorded, part by part. */
export async function loadDetail(get: (path: string) => Promise<Response>, id: number): Promise<ExchangeDetail> {
  const load = async (before: ExchangeDetail | null) => {
    const from = bodyNames.map((name) => before?.pieces[name].length ?? 0);
    const response = await get(`/inspect/exchanges/${id}?from=${from}`);
    return joinParts(before, (await response.json()) as ExchangePart);
  };
  let detail = await load(null);
  while (detail.has_more) detail = await load(detail);
  return detail;
}
