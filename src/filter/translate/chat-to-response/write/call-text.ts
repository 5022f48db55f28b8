import { isDeepStrictEqual } from 'node:util';
import { parseExactly } from '../../../../formats/json/exact.ts';
import { JsonEnd } from '../../../../formats/json/json-end.ts';
import { jsonOf } from '../../../../formats/json/loose.ts';
import { GrowingText, type HeldBytes } from '../../shared/held-bytes.ts';

/**
 * The arguments of a call as they grow, or the input of a native custom call. Servers send an empty object before the arguments, all of them
 * once more at the end, a brace too many behind them, or all so far in each piece.
 */
export class CallText extends GrowingText {
  readonly isInput: boolean;
  /**
   * - `growing`: pieces follow.
   * - `placeholder`: it is `{}`, which is the arguments only if no more of them come.
   * - `cut`: something stood behind the object that the arguments are, and was left out.
   * - `ended`: an input whose end is known. It can end anywhere, so only what follows ends it.
   */
  state: 'growing' | 'placeholder' | 'cut' | 'ended' = 'growing';
  /** The last piece, while each began with the one before it; then null. */
  #lastPiece: string | null = '';
  #pieces = 0;
  /** Made when the end of the arguments is first asked for; it is told all that follows. */
  #end: JsonEnd | null = null;

  constructor(isInput: boolean, held: HeldBytes) {
    super(held);
    this.isInput = isInput;
  }

  /** Adds a piece. Returns what the client gets for it: nothing while only a placeholder came. */
  grow(piece: string): string {
    if (piece === '') return '';
    if (this.isInput) {
      this.append(piece);
      return piece;
    }
    if (this.#lastPiece !== null) {
      this.#lastPiece = piece.startsWith(this.#lastPiece) ? piece : null;
      this.#pieces += 1;
    }
    // Nearly every piece continues where the last one ended.
    return piece.startsWith('{') || this.state === 'placeholder' ? this.#growFromBrace(piece) : this.#append(piece);
  }

  /** The arguments that may be sent by now: all but a `{}` that may be a placeholder. */
  sendable(): string {
    return this.state === 'placeholder' ? '' : this.toString();
  }

  /** Are they an object, to its end? */
  isWholeObject(): boolean {
    return this.#scanner().isWhole();
  }

  /** Are the arguments whole, so that no piece of them can follow? */
  isWholeForGood(): boolean {
    return this.state !== 'placeholder' && this.isWholeObject();
  }

  /** Is it complete? */
  isWhole(): boolean {
    return this.isInput ? this.state === 'ended' : this.isWholeObject();
  }

  /** Is each piece all of the arguments so far, and their sum no JSON? */
  repeatsItself(): boolean {
    if (this.#lastPiece === null || this.#pieces < 2) return false;
    return isCompleteJson(this.#lastPiece) && !isCompleteJson(this.toString());
  }

  /** The rest of a piece of arguments from where another call's object begins; null if none does. */
  nextObject(piece: string): string | null {
    if (this.isInput || !mayBeginObject(piece, this.last)) return null;
    const written = this.sendable();
    // xAI sends the whole arguments again at the end.
    if (piece === written) return null;
    const given = written === '' ? withoutPlaceholder(piece) : piece;
    // Only from here on, with each piece: scanning every call's characters would cost each token.
    const scanner = written === '' ? new JsonEnd('object') : this.#scanner().copy();
    const end = scanner.push(given);
    const next = end === -1 ? '' : given.slice(end).trimStart();
    return next.startsWith('{') ? next : null;
  }

  /** Is it the same JSON? */
  says(other: CallText): boolean {
    const [one, two] = [this.toString(), other.toString()];
    if (one === two) return true;
    try {
      return isDeepStrictEqual(parseExactly(one), parseExactly(two));
    } catch {
      // Not JSON, or nested deeper than the stack is.
      return false;
    }
  }

  #scanner(): JsonEnd {
    if (this.#end === null) {
      this.#end = new JsonEnd('object');
      this.#end.push(this.toString());
    }
    return this.#end;
  }

  #growFromBrace(piece: string): string {
    if (this.state !== 'placeholder') {
      // xAI sends the whole arguments again at the end.
      if (piece === this.toString() && isCompleteJson(piece)) return '';
      if (!piece.startsWith('{}') || !this.isEmpty()) return this.#append(piece);
      if (piece === '{}') this.state = 'placeholder';
      const sent = this.#append(withoutPlaceholder(piece));
      return piece === '{}' ? '' : sent;
    }
    if (piece === '{}') return '';
    this.state = 'growing';
    if (!piece.trimStart().startsWith('{')) return emptyArguments + this.#append(piece);
    this.#end = null;
    this.clear();
    return this.#append(piece);
  }

  /** Appends the piece up to the end of the object: a brace too many, or markup, may stand behind it. Returns what was appended. */
  #append(piece: string): string {
    let text = piece;
    // Only a piece with a brace can end the object, or come after its end.
    if (piece.includes('}') || this.#end?.isWhole() === true) {
      const end = this.#scanner().copy().push(piece);
      if (end !== -1 && piece.slice(end).trim() !== '') {
        this.state = 'cut';
        text = piece.slice(0, end);
      }
    }
    this.append(text);
    this.#end?.push(text);
    return text;
  }
}

/** No arguments, or a placeholder for those that follow. */
export const emptyArguments = '{}';

/** Might another object begin in `text`, after one that ends there or at the end of `written`? A cheap test. */
export function mayBeginObject(text: string, written: string): boolean {
  if (!text.includes('{')) return false;
  if (/\}\s*\{/.test(text)) return true;
  const last = written.trimEnd();
  return text.trimStart().startsWith('{') && written !== '' && (last === '' || last.endsWith('}'));
}

/** Arguments without the empty object that some servers write in front of them: `{}{"city":"Oslo"}`. */
function withoutPlaceholder(text: string): string {
  return /^\{\}\s*\{/.test(text) ? text.slice(2).trimStart() : text;
}

/** Arguments are an object: the last character settles nearly every case, so that a long text is rarely parsed in vain. */
export function isCompleteJson(text: string): boolean {
  return text.trimEnd().endsWith('}') && jsonOf(text) !== undefined;
}
