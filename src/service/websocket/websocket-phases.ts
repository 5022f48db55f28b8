import type { Moves } from '../../filter/index.ts';

/** The legal moves of a connection. `npm run generate` makes diagrams of both tables in `docs/architecture.md`. */
export const connectionMoves = {
  open: { end: ['ending'], abort: ['closed'] },
  // Running turns finish, new ones are refused.
  ending: { last_turn: ['closed'], abort: ['closed'] },
  closed: { abort: ['closed'] },
} as const satisfies Moves<ConnectionMove>;

export type ConnectionMove = 'end' | 'last_turn' | 'abort';

const cutShort = { broken: ['ended'], cancel: ['ended'] } as const;

/** The legal moves of a turn. */
export const turnMoves = {
  // A start leads to `ended` if the turn is refused before the proxy is asked.
  waiting: { start: ['requesting', 'ended'], cancel: ['ended'] },
  requesting: { answer_headers: ['streaming', 'reading_error'], ...cutShort },
  streaming: { answer_body: ['streaming', 'ended'], answer_end: ['ended'], ...cutShort },
  reading_error: { answer_body: ['reading_error'], answer_end: ['ended'], ...cutShort },
  // The client has the terminal event; what the proxy still sends is ignored.
  ended: { answer_body: ['ended'], answer_end: ['ended'], ...cutShort },
} as const satisfies Moves<TurnEvent>;

export type TurnEvent = 'start' | 'answer_headers' | 'answer_body' | 'answer_end' | 'broken' | 'cancel';
