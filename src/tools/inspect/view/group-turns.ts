import type { ExchangeRow } from '../exchange-json.ts';
import type { TurnLink } from '../recording.ts';

/** Turns that continue one another, oldest first. */
export type ConversationRow = ReturnType<typeof buildConversation>;

export interface ConversationTurn {
  readonly row: ExchangeRow;
  readonly turn: TurnLink;
}

/** The conversations of more than one turn, newest first; `rows` are oldest first. */
export function groupConversations(rows: readonly ExchangeRow[]): readonly ConversationRow[] {
  const found = new Map<number, ConversationTurn[]>();
  for (const row of rows) {
    if (row.turn === null) continue;
    const turns = (row.turn.parent === null ? undefined : found.get(row.turn.parent)) ?? [];
    turns.push({ row, turn: row.turn });
    found.set(row.id, turns);
  }
  const several = [...new Set(found.values())].filter((turns) => turns.length > 1);
  return several.map(buildConversation).sort((a, b) => b.end - a.end);
}

function buildConversation(turns: readonly ConversationTurn[]) {
  const rows = turns.map(({ row }) => row);
  const sum = (counts: readonly (number | undefined)[]) => counts.reduce<number>((all, each) => all + (each ?? 0), 0);
  return {
    /** The id of the first turn that is known. */
    id: rows[0]?.id ?? 0,
    turns,
    input: sum(rows.map(({ tokens }) => tokens?.input_tokens)),
    cached: sum(rows.map(({ tokens }) => tokens?.cached_tokens)),
    output: sum(rows.map(({ tokens }) => tokens?.output_tokens)),
    /** The start of the first turn, in Unix milliseconds. */
    start: Math.min(...rows.map(({ started_at }) => started_at)),
    end: Math.max(...rows.map(({ started_at, duration_ms }) => started_at + (duration_ms ?? 0))),
  };
}
