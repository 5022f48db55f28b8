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
  /** Calls whose output the walk has not met yet. */
  readonly waiting: Set<PairedCall>;
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
    waiting: new Set(),
    deferred: [],
  };
}
