import { isDeepStrictEqual } from 'node:util';
import { parseExactly } from '../../../../formats/json/exact.ts';
import { JsonEnd } from '../../../../formats/json/json-end.ts';
import { jsonOf } from '../../../../formats/json/loose.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import { GrowingText, type HeldBytes } from '../../shared/held-bytes.ts';
import { checkMove } from '../../shared/moves.ts';
import { type OpenCall, toolCallMoves } from './output.ts';

/** A later call of an id is compared with at most this many earlier ones, since each may have to be parsed. */
const maxCompared = 8;

/** The data of a call in each phase: `unsent` is the end of its text that is in no event yet. */
type CallState =
  | { readonly phase: 'gathering' | 'repeated' }
  | { readonly phase: 'open'; readonly item: OpenCall; unsent: string }
  | { readonly phase: 'ended'; readonly item: OpenCall };

export class Call {
  /** The upstream's id, `''` until one comes. Some servers give two calls the same id. */
  upstreamId = '';
  /** The name as the upstream sent it, which later fragments may repeat. */
  name = '';
  /** True once the name is a tool's and a fragment's name did not continue it: later fragments are not compared with all tools again. */
  isNamed = false;
  readonly index: number | null;
  /** The earlier call of the same id, which this one may repeat. */
  readonly earlier: Call | null;
  readonly text: CallText;
  callId: string | null = null;
  #state: CallState = { phase: 'gathering' };

  constructor(index: number | null, isCustom: boolean, earlier: Call | null, held: HeldBytes) {
    this.index = index;
    this.earlier = earlier;
    this.text = new CallText(isCustom, held);
  }

  get phase(): CallState['phase'] {
    return this.#state.phase;
  }

  /** Once the item was opened, neither the name nor the id of the call can change. */
  isSent(): boolean {
    return 'item' in this.#state;
  }

  /** Adds a piece of the text. After the end of the call it is dropped: it would spoil what was whole. */
  grow(piece: string): void {
    if (this.#state.phase === 'gathering') this.text.grow(piece);
    else if (this.#state.phase === 'open') this.#state.unsent += this.text.grow(piece);
  }

  markRepeated(): void {
    this.#move('recognize', { phase: 'repeated' });
  }

  open(item: OpenCall): void {
    this.#move('send', { phase: 'open', item, unsent: this.text.sendable() });
  }

  close(): void {
    if (this.#state.phase === 'open') this.#move('close', { phase: 'ended', item: this.#state.item });
  }

  /** Gives the item the text that no event has yet. Returns false if there is none. */
  send(): boolean {
    const state = this.#state;
    if (state.phase !== 'open' || state.unsent === '') return false;
    const { unsent } = state;
    state.unsent = '';
    state.item.add(unsent);
    return true;
  }

  isWhole(): boolean {
    if (this.#state.phase === 'open' && this.#state.unsent !== '' && !this.text.isInput) return false;
    return this.text.isWhole();
  }

  unrunnable(): ApiError | null {
    return 'item' in this.#state ? this.#state.item.unrunnable() : null;
  }

  /** The earlier calls of the same id and name, the latest first. */
  namesakes(): readonly Call[] {
    const namesakes: Call[] = [];
    let other = this.earlier;
    for (let step = 0; other !== null && step < maxCompared; step += 1) {
      if (other.name === this.name) namesakes.push(other);
      other = other.earlier;
    }
    return namesakes;
  }

  #move(event: string, to: CallState): void {
    checkMove(toolCallMoves, this.#state.phase, event, to.phase);
    this.#state = to;
  }
}

/**
 * The arguments of a call as they grow, or the input of a native custom call. Some servers send an empty object before the arguments, all
 * arguments once more at the end, a brace too many, or in each piece all arguments so far.
 */
class CallText extends GrowingText {
  readonly isInput: boolean;
  /**
   * A `placeholder` is `{}`, which is the arguments only if no others come. Of arguments that were `cut`, something behind their object was left
   * out. Only input is `ended`: it can end anywhere, so that only what follows ends it.
   */
  state: 'growing' | 'placeholder' | 'cut' | 'ended' = 'growing';
  /** The last piece, while each began with the one before it; then null. */
  #lastPiece: string | null = '';
  #pieces = 0;
  /** Made when the end of the arguments is first asked for, and given all that follows. */
  #end: JsonEnd | null = null;

  constructor(isInput: boolean, held: HeldBytes) {
    super(held);
    this.isInput = isInput;
  }

  /** Adds a piece. Returns what the client gets for it: nothing while the text is only a placeholder. */
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
    return piece.startsWith('{') || this.state === 'placeholder' ? this.#growFromBrace(piece) : this.#append(piece);
  }

  sendable(): string {
    return this.state === 'placeholder' ? '' : this.toString();
  }

  isWholeObject(): boolean {
    return this.#scanner().isWhole();
  }

  /** Are the arguments whole, so that no piece of them can follow? */
  isWholeForGood(): boolean {
    return this.state !== 'placeholder' && this.isWholeObject();
  }

  isWhole(): boolean {
    return this.isInput ? this.state === 'ended' : this.isWholeObject();
  }

  /** Is each piece all of the arguments so far, and their sum no JSON? */
  repeatsItself(): boolean {
    if (this.#lastPiece === null || this.#pieces < 2) return false;
    return isCompleteJson(this.#lastPiece) && !isCompleteJson(this.toString());
  }

  /** The rest of a piece of arguments from where another call's object begins; null if none does. */
  findNextObject(piece: string): string | null {
    if (this.isInput || !mayBeginObject(piece, this.last)) return null;
    const written = this.sendable();
    // xAI sends the whole arguments again at the end.
    if (piece === written) return null;
    const given = written === '' ? withoutPlaceholder(piece) : piece;
    // Scanned only from here on: scanning the characters of every call would cost each token.
    const scanner = written === '' ? new JsonEnd('object') : this.#scanner().copy();
    const end = scanner.push(given);
    const next = end === -1 ? '' : given.slice(end).trimStart();
    return next.startsWith('{') ? next : null;
  }

  isSameJson(other: CallText): boolean {
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

/** A cheap test: might another object begin in `text`, after one that ends there or at the end of `written`? */
export function mayBeginObject(text: string, written: string): boolean {
  if (!text.includes('{')) return false;
  if (/\}\s*\{/.test(text)) return true;
  const last = written.trimEnd();
  return text.trimStart().startsWith('{') && written !== '' && (last === '' || last.endsWith('}'));
}

/** Removes the empty object that some servers write in front of the arguments: `{}{"city":"Oslo"}`. */
function withoutPlaceholder(text: string): string {
  return /^\{\}\s*\{/.test(text) ? text.slice(2).trimStart() : text;
}

/** Arguments are an object: the last character settles nearly every case, so that a long text is rarely parsed in vain. */
export function isCompleteJson(text: string): boolean {
  return text.trimEnd().endsWith('}') && jsonOf(text) !== undefined;
}
