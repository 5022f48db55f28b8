import { GrowingText, type HeldBytes } from '../../shared/held-bytes.ts';

/**
 * Reads a field's reasoning after reasoning in tags, which was shown as it came: the field may be a copy of it
 * (docs/answers.md §1.4). While the block is open the field is held back; then it is compared piece by piece. White space around
 * either does not count.
 */
export class LateCopy {
  readonly #heldBack: GrowingText;
  readonly #shown: () => string;
  /** The text of the block; null while it is open. */
  #block: string | null = null;
  /** How much of the block the field has repeated. */
  #repeated = 0;
  /** The field says another thing than the block, and not more of the same. */
  isOther = false;

  /** `shown` gives the text of the block so far. */
  constructor(held: HeldBytes, shown: () => string) {
    this.#heldBack = new GrowingText(held);
    this.#shown = shown;
  }

  /** Takes a piece of the field. Returns the text to be shown: `''` while there is only a copy. */
  push(piece: string): string {
    if (this.#block === null) {
      this.#heldBack.append(piece);
      return '';
    }
    const text = this.#repeated === 0 ? piece.trimStart() : piece;
    if (this.#block.startsWith(text, this.#repeated)) {
      this.#repeated += text.length;
      return '';
    }
    const rest = this.#block.slice(this.#repeated);
    this.isOther = !text.startsWith(rest);
    if (this.isOther) return this.#block.slice(0, this.#repeated) + text;
    this.#repeated = this.#block.length;
    const more = text.slice(rest.length);
    return more.trim() === '' ? '' : more;
  }

  /** The block has ended. Returns the text to be shown, as `push` does. */
  endBlock(): string {
    if (this.#block !== null) return '';
    this.#block = this.#shown().trim();
    const heldBack = this.#heldBack.toString();
    this.#heldBack.clear();
    return this.push(heldBack);
  }
}
