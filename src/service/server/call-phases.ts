import type { Moves } from '../../filter/index.ts';

/** The legal moves of one call of Envoy, of which `npm run generate` makes a diagram in `docs/architecture.md`. */
export const callMoves = {
  silent: { observe: ['observed'], open: ['idle'], end: ['over'] },
  // In Envoy's observability mode, messages get no reply.
  observed: { open: ['idle'], end: ['over'] },
  idle: { enqueue: ['queued'], send_long: ['sending'], end: ['over'] },
  queued: { answered: ['idle'], send_long: ['sending'], end: ['over'] },
  sending: { answered: ['idle'], end: ['over'] },
  over: {},
} as const satisfies Moves<CallMove>;

export type CallMove = 'observe' | 'open' | 'enqueue' | 'send_long' | 'answered' | 'end';
