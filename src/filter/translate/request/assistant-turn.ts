import type { EarlierReasoning } from './earlier-reasoning.ts';
import type { PairedCall } from './pair-calls.ts';
import type { InputMessage } from './parsed.ts';

/** What one assistant message is made of. */
export interface Turn {
  readonly reasoning: EarlierReasoning[];
  /** How much of the reasoning came before the text. */
  reasoningBeforeText: number;
  text: string | null;
  refusal: string | null;
  /** Of the text, for a server that knows it. */
  phase: string | null;
  readonly calls: PairedCall[];
  /** The ids of its calls: one message may hold each only once. */
  readonly callIds: Set<string>;
  /** Calls whose output has not been reached yet. */
  readonly waiting: Set<PairedCall>;
  /** An output of this turn has been reached: what follows is the model's next turn, made with that output. */
  answered: boolean;
  /** Messages that stood between calls and outputs: they follow the outputs. */
  readonly deferred: InputMessage[];
}

/** An empty turn. */
export function createTurn(): Turn {
  return {
    reasoning: [],
    reasoningBeforeText: 0,
    text: null,
    refusal: null,
    phase: null,
    calls: [],
    callIds: new Set(),
    waiting: new Set(),
    answered: false,
    deferred: [],
  };
}
