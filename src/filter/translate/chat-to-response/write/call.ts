import type { HeldBytes } from '../../shared/held-bytes.ts';
import { checkMove } from '../../shared/moves.ts';
import { CallText } from './call-text.ts';
import { type OpenCall, toolCallMoves } from './output.ts';

/** Calls of one id that a later one of it is compared with: each may have to be parsed. */
const maxCompared = 8;

/** The data of a call in each phase: `unsent` is the end of its text that is in no event yet. */
type CallState =
  | { readonly phase: 'gathering' | 'repeated' }
  | { readonly phase: 'open'; readonly item: OpenCall; unsent: string }
  | { readonly phase: 'ended'; readonly item: OpenCall };

/** One tool call as gathered from its fragments. */
export class Call {
  /** The upstream's id, `''` until one comes. Not unique: some servers give two calls the same. */
  upstreamId = '';
  /** The upstream's own, which later fragments may repeat. */
  name = '';
  readonly index: number | null;
  /** The call before it of the same id, which it may repeat. */
  readonly repeats: Call | null;
  readonly text: CallText;
  /** The client's; null until it is asked for. */
  callId: string | null = null;
  #state: CallState = { phase: 'gathering' };

  constructor(index: number | null, isCustom: boolean, repeats: Call | null, held: HeldBytes) {
    this.index = index;
    this.repeats = repeats;
    this.text = new CallText(isCustom, held);
  }

  get phase(): CallState['phase'] {
    return this.#state.phase;
  }

  /** Has its item been opened? Then its name and its id can no longer change. */
  isSent(): boolean {
    return 'item' in this.#state;
  }

  /** Adds a piece of its text. What comes after its end is dropped: it would spoil what was whole. */
  grow(piece: string): void {
    if (this.#state.phase === 'gathering') this.text.grow(piece);
    else if (this.#state.phase === 'open') this.#state.unsent += this.text.grow(piece);
  }

  /** The call says once more what an earlier one did. */
  recognize(): void {
    this.#move('recognize', { phase: 'repeated' });
  }

  /** The item is open: the text so far is to be sent. */
  open(item: OpenCall): void {
    this.#move('send', { phase: 'open', item, unsent: this.text.sendable() });
  }

  /** The item is closed. */
  close(): void {
    if (this.#state.phase === 'open') this.#move('close', { phase: 'ended', item: this.#state.item });
  }

  /** Gives its item the text that it has not got. Returns false if there is none. */
  send(): boolean {
    const state = this.#state;
    if (state.phase !== 'open' || state.unsent === '') return false;
    const { unsent } = state;
    state.unsent = '';
    state.item.add(unsent);
    return true;
  }

  /** Is it complete, and sent? */
  isWhole(): boolean {
    if (this.#state.phase === 'open' && this.#state.unsent !== '' && !this.text.isInput) return false;
    return this.text.isWhole();
  }

  unrunnable(): ReturnType<OpenCall['unrunnable']> {
    return 'item' in this.#state ? this.#state.item.unrunnable() : null;
  }

  /** Does it say once more what an earlier one of its id did: by the same name, with arguments that are the same JSON? */
  repeatsOne(): boolean {
    return this.#earlier().some(({ text }) => this.text.says(text));
  }

  /** May it yet come to do so? */
  mayRepeatOne(): boolean {
    return this.#earlier().length > 0;
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

  #move(event: string, to: CallState): void {
    checkMove(toolCallMoves, this.#state.phase, event, to.phase);
    this.#state = to;
  }
}
