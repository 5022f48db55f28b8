import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Kept } from '../../shared/kept.ts';

const textFields = ['content', 'reasoning_content', 'reasoning'] as const;
type TextField = (typeof textFields)[number];

/** What is new in the deltas of a server that repeats, in each, all of the text before it. */
export class CumulativeDeltas {
  readonly #kept: Kept;
  readonly #before: Partial<Record<TextField, string>> = {};

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  newIn(delta: LooseMessage): LooseMessage {
    let own = delta;
    for (const field of textFields) {
      const text = delta[field];
      if (typeof text === 'string' && text !== '') own = { ...own, [field]: this.#newText(field, text) };
    }
    return own;
  }

  /** A text that does not begin with the one before it is another: what follows a call, say. */
  #newText(field: TextField, text: string): string {
    const before = this.#before[field] ?? '';
    if (before.startsWith(text)) return '';
    this.#before[field] = text;
    this.#kept.bytes += text.length - before.length;
    if (!text.startsWith(before)) return text;
    // A slice would keep the whole text alive.
    return JSON.parse(JSON.stringify(text.slice(before.length)));
  }
}
