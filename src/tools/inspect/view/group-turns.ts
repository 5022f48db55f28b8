import type { ExchangeRow } from '../exchange-json.ts';
import type { TurnLink } from '../recording.ts';

/** Turns that continue one another, oldest first. */
export type ConversationRow = ReturnType<typeof conversationOf>;

export interface ConversationTurn {
  readonly row: ExchangeRow;
  readonly turn: TurnLink;
  readonly cost: number | null;
}

/** The conversations of more than one turn, newest first; `rows` are oldest first. */
export function conversationsOf(rows: readonly ExchangeRow[], prices: readonly Price[]): readonly ConversationRow[] {
  const found = new Map<number, ConversationTurn[]>();
  for (const row of rows) {
    if (row.turn === null) continue;
    const turns = (row.turn.parent === null ? undefined : found.get(row.turn.parent)) ?? [];
    turns.push({ row, turn: row.turn, cost: costOf(row, prices) });
    found.set(row.id, turns);
  }
  const several = [...new Set(found.values())].filter((turns) => turns.length > 1);
  return several.map(conversationOf).sort((a, b) => b.end - a.end);
}

function conversationOf(turns: readonly ConversationTurn[]) {
  const rows = turns.map(({ row }) => row);
  const sum = (counts: readonly (number | undefined)[]) => counts.reduce<number>((all, each) => all + (each ?? 0), 0);
  const costs = turns.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  return {
    /** The id of the first known turn. */
    id: rows[0]?.id ?? 0,
    turns,
    input: sum(rows.map(({ tokens }) => tokens?.input_tokens)),
    cached: sum(rows.map(({ tokens }) => tokens?.cached_tokens)),
    output: sum(rows.map(({ tokens }) => tokens?.output_tokens)),
    /** Null where no turn's model has a price. */
    cost: costs.length === 0 ? null : sum(costs),
    /** Unix milliseconds. */
    start: Math.min(...rows.map(({ started_at }) => started_at)),
    end: Math.max(...rows.map(({ started_at, duration_ms }) => started_at + (duration_ms ?? 0))),
  };
}

/** Prices of a million tokens of a model, with the model's name, or the beginning of names before a `*`. */
type Price = ReturnType<typeof pricesIn>[number];

/** The prices of `INSPECT_PRICES`, whose format the service has checked. */
export function pricesIn(text: string) {
  return [...text.matchAll(/([^,]+)=([^,]+)/g)].map(([, model = '', amounts = '']) => {
    const [input = 0, second = 0, third] = amounts.split('/').map(Number);
    // Without their own price, cached tokens cost the same as others.
    const [cached, output] = third === undefined ? [input, second] : [second, third];
    return { model: model.trim(), input, cached, output };
  });
}

/** Returns the cost of an exchange's tokens; null if its model has no price, or its tokens are unknown. */
export function costOf({ model, tokens }: ExchangeRow, prices: readonly Price[]): number | null {
  const price = prices.find(({ model: name }) =>
    name.endsWith('*') ? model?.startsWith(name.slice(0, -1)) : name === model,
  );
  if (price === undefined || tokens === null) return null;
  const cached = Math.min(tokens.cached_tokens, tokens.input_tokens);
  const input = (tokens.input_tokens - cached) * price.input + cached * price.cached;
  return (input + tokens.output_tokens * price.output) / 1_000_000;
}
