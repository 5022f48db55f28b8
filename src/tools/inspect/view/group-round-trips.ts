import type { ExchangeRow } from '../exchange-json.ts';
import type { RoundTripLink } from '../recording.ts';

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
    /** The id of the first known exchange. */
    id: rows[0]?.id ?? 0,
    roundTrips,
    input: sum(rows.map(({ tokens }) => tokens?.input_tokens)),
    cached: sum(rows.map(({ tokens }) => tokens?.cached_tokens)),
    output: sum(rows.map(({ tokens }) => tokens?.output_tokens)),
    /** The start of the first round trip, in Unix milliseconds. */
    start: Math.min(...rows.map(({ started_at }) => started_at)),
    end: Math.max(...rows.map(({ started_at, duration_ms }) => started_at + (duration_ms ?? 0))),
  };
}
