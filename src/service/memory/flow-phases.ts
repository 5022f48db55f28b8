import type { Moves } from '../../filter/index.ts';

/** The phases in which a peer is read or not: it does not read what it was sent (`blocked`), memory is short or its message waits (`paused`). */
export const flowMoves = {
  open: { fill: ['blocked'], drain: ['open'], pause: ['paused'], resume: ['open'], end: ['over'] },
  blocked: { fill: ['blocked'], drain: ['open'], pause: ['blocked_and_paused'], resume: ['blocked'], end: ['over'] },
  paused: { fill: ['blocked_and_paused'], drain: ['paused'], pause: ['paused'], resume: ['open'], end: ['over'] },
  blocked_and_paused: {
    fill: ['blocked_and_paused'],
    drain: ['paused'],
    pause: ['blocked_and_paused'],
    resume: ['blocked'],
    end: ['over'],
  },
  over: { fill: ['over'], drain: ['over'], pause: ['over'], resume: ['over'], end: ['over'] },
} as const satisfies Moves<'fill' | 'drain' | 'pause' | 'resume' | 'end'>;

export type FlowPhase = keyof typeof flowMoves;
export type FlowEvent = keyof (typeof flowMoves)['open'];

export function isBlocked(phase: FlowPhase): boolean {
  return phase === 'blocked' || phase === 'blocked_and_paused';
}
