import type { ExchangeRow } from '../exchange-json.ts';
import type { TurnLink } from '../turn-links.ts';
import { costOf, type Price } from './cost.ts';

/** Turns that continue one another, oldest first. */
export interface Conversation {
  /** The id of its first known turn. */
  readonly id: number;
  readonly turns: readonly ConversationTurn[];
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Null where no turn's model has a price. */
  readonly cost: number | null;
  /** Unix milliseconds. */
  readonly start: number;
  readonly end: number;
}

export interface ConversationTurn {
  readonly row: ExchangeRow;
  readonly turn: TurnLink;
  readonly cost: number | null;
}

/** The conversations of more than one turn, newest first. */
export function conversationsOf(
  turns: Iterable<TurnLink>,
  rowOf: (id: number) => ExchangeRow | undefined,
  prices: readonly Price[],
): readonly Conversation[] {
  const roots = new Map<number, number>();
  const found = new Map<number, ConversationTurn[]>();
  for (const turn of [...turns].sort((a, b) => a.id - b.id)) {
    const row = rowOf(turn.id);
    if (row === undefined) continue;
    // The turn that it continues may no longer be known.
    const root = turn.parent === null ? turn.id : (roots.get(turn.parent) ?? turn.id);
    roots.set(turn.id, root);
    const known = found.get(root) ?? [];
    known.push({ row, turn, cost: costOf(row, prices) });
    found.set(root, known);
  }
  const several = [...found].filter(([, list]) => list.length > 1);
  return several.map(([id, list]) => conversationOf(id, list)).sort((a, b) => b.end - a.end);
}

function conversationOf(id: number, turns: readonly ConversationTurn[]): Conversation {
  const sum = (of: (row: ExchangeRow) => number | null) => turns.reduce((all, { row }) => all + (of(row) ?? 0), 0);
  const costs = turns.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  return {
    id,
    turns,
    input: sum((row) => row.input_tokens),
    cached: sum((row) => row.cached_tokens),
    output: sum((row) => row.output_tokens),
    cost: costs.length === 0 ? null : costs.reduce((all, cost) => all + cost, 0),
    start: Math.min(...turns.map(({ row }) => row.started_at)),
    end: Math.max(...turns.map(({ row }) => row.started_at + (row.duration_ms ?? 0))),
  };
}
