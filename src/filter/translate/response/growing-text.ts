import type { RetainedBytes } from '../../memory/retained-bytes.ts';
import { stringNode } from '../../memory/value-cost.ts';

const piecesToFold = 64;

/**
 * A text that grows by small pieces and is read once, at its end. With a plain `+=` V8 keeps every piece, and a node for
 * each, until the text is read: several times the text's own size when pieces are tokens, for as long as the stream
 * lasts. Joining some at a time keeps little more than the text.
 */
export class GrowingText {
  readonly #retained: RetainedBytes;
  #text = '';
  #pieces: string[] = [];
  #last = '';

  constructor(retained: RetainedBytes) {
    this.#retained = retained;
  }

  append(piece: string): void {
    this.#retained.add(piece.length);
    this.#pieces.push(piece);
    this.#last = piece;
    if (this.#pieces.length === piecesToFold) this.toString();
  }

  /** Frees the text. Its small remainder stays counted. */
  clear(): void {
    this.#text = '';
    this.#pieces = [];
    this.#last = '';
  }

  /** The last piece, whose end can be read without joining the text. */
  last(): string {
    return this.#last;
  }

  isEmpty(): boolean {
    return this.#text === '' && this.#pieces.length === 0;
  }

  toString(): string {
    if (this.#pieces.length > 0) {
      const [first = ''] = this.#pieces;
      const joined = this.#pieces.length === 1 ? first : this.#pieces.join('');
      this.#retained.addString(joined);
      if (this.#text !== '') this.#retained.add(stringNode);
      this.#text += joined;
      this.#pieces = [];
    }
    return this.#text;
  }
}
