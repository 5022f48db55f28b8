import type { EarlierReasoning } from './earlier-reasoning.ts';
import type { PairedCall } from './pair-calls.ts';
import type { InputMessage } from './parsed.ts';

/** What one assistant message is made of. */
export class Turn {
  readonly reasoning: EarlierReasoning[] = [];
  /** How much of the reasoning came before the text. */
  reasoningBeforeText = 0;
  text: string | null = null;
  refusal: string | null = null;
  /** Of the text, for a server that knows it. */
  phase: string | null = null;
  readonly calls: PairedCall[] = [];
  /** The ids of its calls: one message may hold each only once. */
  readonly callIds = new Set<string>();
  /** Calls whose output has not been reached yet. */
  readonly waiting = new Set<PairedCall>();
  /** An output of this turn has been reached: what follows is the model's next turn, made with that output. */
  answered = false;
  /** Messages that stood between calls and outputs: they follow the outputs. */
  readonly deferred: InputMessage[] = [];
}
