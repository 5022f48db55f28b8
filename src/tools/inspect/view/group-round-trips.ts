import { arrayOf, objectOf, objectsOf } from '../../../formats/json/loose.ts';
import type { ExchangeRow } from '../exchange-json.ts';
import type { RoundTripLink } from '../recording.ts';
import { type AnswerPart, writeShown } from './answer-parts.ts';

/** A conversation: round trips that continue one another, oldest first. */
export type ConversationRow = ReturnType<typeof buildConversation>;

export interface RoundTrip {
  readonly row: ExchangeRow;
  readonly link: RoundTripLink;
}

/** Groups rows, oldest first, into conversations of more than one round trip, newest first. */
export function groupConversations(rows: readonly ExchangeRow[]): readonly ConversationRow[] {
  const found = new Map<number, RoundTrip[]>();
  for (const row of rows) {
    if (row.link === null) continue;
    const roundTrips = (row.link.parent === null ? undefined : found.get(row.link.parent)) ?? [];
    roundTrips.push({ row, link: row.link });
    found.set(row.id, roundTrips);
  }
  const several = [...new Set(found.values())].filter((roundTrips) => roundTrips.length > 1);
  return several.map(buildConversation).sort((a, b) => b.end - a.end);
}

function buildConversation(roundTrips: readonly RoundTrip[]) {
  const rows = roundTrips.map(({ row }) => row);
  const sum = (counts: readonly (number | undefined)[]) => counts.reduce<number>((all, each) => all + (each ?? 0), 0);
  return {
    id: rows[0]?.id ?? 0,
    roundTrips,
    input: sum(rows.map(({ tokens }) => tokens?.input_tokens)),
    cached: sum(rows.map(({ tokens }) => tokens?.cached_tokens)),
    output: sum(rows.map(({ tokens }) => tokens?.output_tokens)),
    start: Math.min(...rows.map(({ started_at }) => started_at)),
    end: Math.max(...rows.map(({ started_at, duration_ms }) => started_at + (duration_ms ?? 0))),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads what a Chat request has after its first `from` messages: the user's words, and the results of calls. */
export function readRoundTripWords(chat: unknown, from: number) {
  const later = objectsOf<Fields>(readMessages(chat).slice(from));
  const of = (role: string) => later.filter((message) => message['role'] === role);
  return {
    said: of('user').map(({ content }) => readContentText(content)),
    results: of('tool').map(({ tool_call_id, content }) => ({ callId: tool_call_id, text: readContentText(content) })),
  };
}

/** The number of messages before the user's last one. A conversation whose beginning is unknown starts there. */
export function countBeforeLastUser(chat: unknown): number {
  return readMessages(chat).findLastIndex((message) => objectOf<Fields>(message)?.['role'] === 'user');
}

function readMessages(chat: unknown): readonly unknown[] {
  return arrayOf(objectOf<Fields>(chat)?.['messages']);
}

function readContentText(content: unknown): string {
  if (!Array.isArray(content)) return writeShown(content);
  return objectsOf<Fields>(content)
    .map(({ text, type }) => (text === undefined ? `(${writeShown(type)})` : writeShown(text)))
    .join('\n');
}

/** Finds the result of each call. Where ids repeat, the order decides, because a Chat request makes them different. */
export function findResults(calls: readonly AnswerPart[], results: ReturnType<typeof readRoundTripWords>['results']) {
  // The first of several results with one id is that of the call.
  const byId = new Map(results.toReversed().map((result) => [result.callId, result]));
  const hasIds = calls.some(({ callId }) => byId.has(callId));
  return new Map(calls.map((call, index) => [call, (hasIds ? byId.get(call.callId) : results[index])?.text]));
}

/** The WebSocket turn that a request belongs to: its connection and number. It is null for a request over HTTP. */
export function readWebSocketTurn(requestId: string | null) {
  const [, connection, number] = /^(.+)-turn-(\d+)$/.exec(requestId ?? '') ?? [];
  return connection === undefined ? null : { connection, number: Number(number) };
}
