import type { MessageItem, ReasoningItem } from './items.ts';
import type { PairedCall } from './pairing.ts';

/** What one assistant message is made of. */
export interface Turn {
  readonly reasoning: ReasoningItem[];
  /** How much of the reasoning came before the text. */
  reasoningBeforeText: number;
  text: string | null;
  refusal: string | null;
  readonly calls: PairedCall[];
  /** The ids of its calls: in one message each may stand once. */
  readonly callIds: Set<string>;
  /** Calls whose output the walk has not met yet. */
  readonly waiting: Set<PairedCall>;
  /** The walk has met an output of this turn: what the model says from here on, it says knowing that. */
  answered: boolean;
  /** Messages that stood between calls and outputs: they follow the outputs. */
  readonly deferred: MessageItem[];
}

/** A turn in which nothing has been said yet. */
export function createTurn(): Turn {
  return {
    reasoning: [],
    reasoningBeforeText: 0,
    text: null,
    refusal: null,
    calls: [],
    callIds: new Set(),
    waiting: new Set(),
    answered: false,
    deferred: [],
  };
}
