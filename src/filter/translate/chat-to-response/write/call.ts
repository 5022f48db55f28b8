import { isDeepStrictEqual } from 'node:util';
import { parseExactly } from '../../../../formats/json/exact.ts';
import { JsonEnd } from '../../../../formats/json/json-end.ts';
import { jsonOf } from '../../../../formats/json/loose.ts';
import { GrowingText, type HeldBytes } from '../../shared/held-bytes.ts';
import type { OpenCall } from './output.ts';

/** Calls of one id that a later one of it is compared with: each may have to be parsed. */
const maxCompared = 8;

/** One tool call as gathered from its fragments. */
export class Call {
  /** The upstream's id, `''` until one comes. Not unique: some servers give two calls the same. */
  upstreamId = '';
  /** The upstream's own, which later fragments may repeat. */
  name = '';
  readonly index: number | null;
  readonly isCustom: boolean;
  /** The call before it of the same id, which it may repeat. */
  readonly repeats: Call | null;
  /** The arguments so far (or a native custom call's input). */
  readonly text: GrowingText;
  /** The end of `text` that is not in an event yet. Of a call that was not sent, nothing is: it has no second copy. */
  unsent = '';
  /** `text` is `{}`, which some servers send before the arguments: it is the arguments only if no more of them come. */
  holdsPlaceholder = false;
  /** The client's; null until it is asked for. */
  callId: string | null = null;
  /** Null until it is sent; then name and id can no longer change. */
  item: OpenCall | null = null;
  /** Whether the call repeats an earlier call with the same id. */
  isRepeated = false;
  /** Nothing more of it can come. */
  isEnded = false;
  /** Something stood behind the object that its arguments are, and was left out. */
  hasRest = false;
  /** The last piece, while each began with the one before it; then null. */
  #lastPiece: string | null = '';
  #pieces = 0;
  /** Made when the end of its arguments is first asked for; it is told all that follows. */
  #end: JsonEnd | null = null;

  constructor(index: number | null, isCustom: boolean, repeats: Call | null, held: HeldBytes) {
    this.index = index;
    this.isCustom = isCustom;
    this.repeats = repeats;
    this.text = new GrowingText(held);
  }

  /** Adds a fragment's text. */
  grow(text: string): void {
    if (this.#lastPiece !== null && text !== '') {
      this.#lastPiece = text.startsWith(this.#lastPiece) ? text : null;
      this.#pieces += 1;
    }
    // Nearly every piece continues where the last one ended.
    if (text.startsWith('{') || this.holdsPlaceholder) this.#growFromBrace(text);
    else if (text !== '') this.#append(text);
  }

  /** Is each piece all of the arguments so far, and their sum no JSON? */
  repeatsItself(): boolean {
    const last = this.#lastPiece;
    if (last === null || this.#pieces < 2 || this.isCustom) return false;
    return isCompleteJson(last) && !isCompleteJson(this.text.toString());
  }

  /** The end of that piece, from where the arguments of another call begin; null if none do. */
  nextObject(piece: string): string | null {
    if (this.isCustom || !mayBeginObject(piece, this.text.last)) return null;
    const written = this.holdsPlaceholder ? '' : this.text.toString();
    // xAI sends the whole arguments again at the end.
    if (piece === written) return null;
    const given = written === '' ? withoutPlaceholder(piece) : piece;
    // Only from here on, with each piece: scanning every call's characters would cost each token.
    const scanner = written === '' ? new JsonEnd('object') : this.#scanner().copy();
    const end = scanner.push(given);
    const next = end === -1 ? '' : given.slice(end).trimStart();
    return next.startsWith('{') ? next : null;
  }

  /** Are the arguments an object, to its end? */
  hasWholeObject(): boolean {
    return this.#scanner().isWhole();
  }

  /** Are its arguments whole, so that no piece of them can follow? */
  hasArguments(): boolean {
    return !this.holdsPlaceholder && this.hasWholeObject();
  }

  /** Is it complete, and sent? A native custom call's input can end anywhere, so only what follows ends it. */
  isWhole(): boolean {
    if (this.isCustom) return this.isEnded;
    return (this.unsent === '' || this.holdsPlaceholder) && this.hasWholeObject();
  }

  /** Does it say once more what an earlier one of its id did: by the same name, with arguments that are the same JSON? */
  repeatsOne(): boolean {
    return (
      this.repeats !== null && this.#earlier().some(({ text }) => isSameJson(this.text.toString(), text.toString()))
    );
  }

  /** May it yet come to do so? */
  mayRepeatOne(): boolean {
    return this.repeats !== null && this.#earlier().length > 0;
  }

  /** The last of its id and name before it. */
  #earlier(): readonly Call[] {
    const earlier: Call[] = [];
    let other = this.repeats;
    for (let step = 0; other !== null && step < maxCompared; step += 1) {
      if (other.name === this.name) earlier.push(other);
      other = other.repeats;
    }
    return earlier;
  }

  #scanner(): JsonEnd {
    if (this.#end === null) {
      this.#end = new JsonEnd('object');
      this.#end.push(this.text.toString());
    }
    return this.#end;
  }

  #growFromBrace(text: string): void {
    if (text === '') return;
    // xAI sends the whole arguments again at the end.
    if (text.startsWith('{') && text === this.text.toString() && !this.isCustom && isCompleteJson(text)) return;
    if (this.holdsPlaceholder) {
      this.holdsPlaceholder = false;
      if (text.trimStart().startsWith('{')) {
        this.#end = null;
        this.text.clear();
        this.unsent = '';
      }
    } else if (text.startsWith('{}') && !this.isCustom && this.text.isEmpty()) {
      this.holdsPlaceholder = text === '{}';
      this.#append(withoutPlaceholder(text));
      return;
    }
    this.#append(text);
  }

  #append(given: string): void {
    const text = this.isCustom ? given : this.#withinObject(given);
    this.text.append(text);
    this.#end?.push(text);
    if (this.item !== null) this.unsent += text;
  }

  /** The piece up to the end of the object: a brace too many, or markup, may stand behind it. */
  #withinObject(piece: string): string {
    // Only a piece with a brace can end the object, or come after its end.
    if (!piece.includes('}') && this.#end?.isWhole() !== true) return piece;
    const end = this.#scanner().copy().push(piece);
    if (end === -1 || piece.slice(end).trim() === '') return piece;
    this.hasRest = true;
    return piece.slice(0, end);
  }
}

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

function isSameJson(one: string, other: string): boolean {
  if (one === other) return true;
  try {
    return isDeepStrictEqual(parseExactly(one), parseExactly(other));
  } catch {
    // Not JSON, or nested deeper than the stack is.
    return false;
  }
}

/** Arguments are an object: the last character settles nearly every case, so that a long text is rarely parsed in vain. */
export function isCompleteJson(text: string): boolean {
  return text.trimEnd().endsWith('}') && jsonOf(text) !== undefined;
}
