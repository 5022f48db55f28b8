import { ApiError } from '../../../wire/schema/api-error.ts';
import type { OutputItem } from '../../../wire/schema/response-resource.ts';
import type { OutputEvent } from '../../../wire/schema/stream-events.ts';
import type { Repair, ResponseContext } from '../../shared/context.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';
import type { Moves } from '../../shared/moves.ts';
import type { EventLog } from './event-log.ts';

/**
 * How the output of an answer is written. Its grammar is in `docs/answers.md` §2.2, and what each event does in §2.6.
 *
 * **What can be open.** An item is open from its `output_item.added` to its `output_item.done`. At most one message or reasoning item is open,
 * and it is always the item that was added last. Any number of calls may be open, because servers mix the pieces of parallel calls.
 * `Output` alone knows what is open; a call has its phase besides.
 *
 * **Who may close it.** `Output` alone, for one of four reasons. Whatever opens next closes an open message or reasoning item. A call is closed
 * as soon as its arguments are whole and a later item is there. The end of the answer closes all in order: the last item and the calls that were
 * cut get the status of the answer, any other is completed. A failure closes all as incomplete, and a call silently: clients run what is
 * done, and then try the request again.
 *
 * **What waits for what.** A call waits until its name can no longer grow, and until the calls before it were sent. It also waits for all of its
 * arguments where its item shows them from the start, or where it may repeat an earlier call (`ToolCalls`). What has to go back to the
 * upstream waits for a reasoning item, which opens before the message or call that it belongs to (`PlainItems.carryEnvelope`).
 * Logprobs wait for their text, and citations for the first text of a message.
 *
 * **What is held back, and why.**
 *
 * - Events of an item while an earlier one is open: many clients mix up the events of two (`Output.emit`).
 * - White space before any text: before calls it is only a template's markup (`PlainItems.text`).
 * - Text that may be a tag, and a block in tags that may be a copy of a field's reasoning, or the other way round (`ReasoningInText`).
 * - The arguments `{}`, which may stand in front of the real ones (`CallText`); arguments that may be a text or `null` in place of an object, and
 *   the digits of a number that may be whole (`FunctionCallWriter`).
 *
 * A call goes through the phases below. The client knows nothing of a call that is `gathering`, whose name and id may change, and never gets one
 * that is `repeated`. An item that is closed never changes: what still comes for it is dropped.
 */
export const toolCallMoves = {
  gathering: { send: ['open'], recognize: ['repeated'] },
  repeated: {},
  open: { close: ['ended'] },
  ended: {},
} as const satisfies Moves<'send' | 'recognize' | 'close'>;

export type ClosingStatus = 'completed' | 'incomplete';

export interface OpenItem {
  /** Sends the events that end the item's parts, and returns the finished item. */
  close(status: ClosingStatus): OutputItem;
}

export interface OpenCall extends OpenItem {
  /** Adds a piece of the arguments, or of a native custom call's input. */
  add(text: string): void;
  /** Is the call certainly complete? */
  isWhole(): boolean;
  /** Is the call, before the last item of an answer that ends, incomplete? */
  isCut(): boolean;
  /**
   * Returns an error if the client of a completed answer would run an empty call, or half of one: clients do not check. The finish
   * reason does not show it: vLLM gives `tool_calls` where the token limit cut the call (vllm#53269).
   */
  unrunnable(): ApiError | null;
}

/** More items than any model makes in an answer. An item may take 20 µs, and all items of one chunk are made in one step. */
export const maxItems = 2048;

export interface WriterParts {
  readonly output: Output;
  readonly held: HeldBytes;
  readonly context: ResponseContext;
  readonly repairs: Set<Repair>;
}

/** The output of one response: which item has which `output_index`, which items are open, and which events are held back. */
export class Output {
  readonly #log: EventLog;
  /** By `output_index`; null once closed. */
  #open: (OpenItem | OpenCall | null)[] = [];
  /** After `closeAll` every item is in it. */
  readonly closed: OutputItem[] = [];
  /** The number of items so far, and how many of them are calls. */
  size = 0;
  calls = 0;
  /** The index of the first item that is not closed. Its events are sent; those of later items are held back. */
  #firstOpen = 0;
  #heldBack: HeldBackEvents | null = null;
  #isSilent = false;
  /** False once the answer has failed: what is held back may still be written then, and open items. */
  #isBounded = true;

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Sends an event of an item, or holds it back until the items before that are closed. */
  emit(event: OutputEvent): void {
    this.#log.tally(event);
    if (event.output_index <= this.#firstOpen || !this.#log.isWanted) {
      if (!this.#isSilent) this.#log.append(event);
    } else if (!this.#isSilent) {
      this.#heldBack ??= new HeldBackEvents(this.#log.held);
      this.#heldBack.add(event);
    }
  }

  /**
   * Sends `output_item.added` at the next index and returns that index; `open` closes the item. Throws `ApiError` where there are too
   * many items, and as `repeats` does.
   */
  add(item: OutputItem, open: OpenItem | OpenCall): number {
    if (this.#isBounded && this.size === maxItems) throw tooManyItems();
    this.repeats(0);
    const index = this.size++;
    if (isCall(open)) this.calls += 1;
    this.closeWhole();
    this.emit({ type: 'response.output_item.added', output_index: index, item });
    // Nearly always there is one item, and an array literal takes a tenth of the memory of an array that grows.
    if (index === 0) this.#open = [open];
    else this.#open[index] = open;
    return index;
  }

  /** Counts characters that events repeat. Throws `ApiError` where the events so far took many times the bytes that the upstream sent. */
  repeats(characters: number): void {
    this.#log.room -= characters;
    if (this.#isBounded && this.#log.room < 0) throw grewTooMuch();
  }

  /** Adds an item that is complete when it begins. `characters`: how many its events repeat. */
  addWhole(begun: OutputItem, done: OutputItem, characters: number): void {
    this.repeats(characters);
    this.add(begun, { close: () => done });
    this.closeLast();
  }

  /** The item that was added last, if it is open. */
  last(): OpenItem | null {
    return this.#open[this.size - 1] ?? null;
  }

  /** Closes the item that was added last as completed, unless it is closed already. */
  closeLast(): void {
    const item = this.last();
    if (item !== null) this.#end(this.size - 1, item, 'completed');
  }

  /** Closes the calls that are complete, up to one that is not. Called whenever a call has grown. */
  closeWhole(): void {
    while (this.#firstOpen < this.size - 1) {
      const item = this.#open[this.#firstOpen];
      if (item == null || !isCall(item) || !item.isWhole()) return;
      this.#end(this.#firstOpen, item, 'completed');
    }
  }

  /** Closes all in order of `output_index`. The last item and the calls that were cut get `lastStatus`, others are completed. */
  closeAll(lastStatus: ClosingStatus): void {
    const last = this.#open.findLastIndex((item) => item != null);
    for (let index = 0; index <= last; index++) {
      const item = this.#open[index];
      if (item == null) continue;
      const isCut = index === last || (isCall(item) && item.isCut());
      this.#end(index, item, isCut ? lastStatus : 'completed');
    }
  }

  /** Is a call open that is, or may be, incomplete? */
  hasCutCall(): boolean {
    return this.#open.some((item) => item != null && isCall(item) && !item.isWhole());
  }

  /** Refuses nothing from now on: of an answer that has failed, only what was held back is still written. */
  unbind(): void {
    this.#isBounded = false;
  }

  /** Closes all of an answer that failed. A call that was open, and the events that waited for it, are in the Response alone. */
  fail(): void {
    const first = this.#open[this.#firstOpen];
    this.#isSilent = first != null && isCall(first);
    this.closeAll('incomplete');
  }

  #end(index: number, item: OpenItem, status: ClosingStatus): void {
    this.#open[index] = null;
    const closed = item.close(status);
    this.closed[index] = closed;
    this.emit({ type: 'response.output_item.done', output_index: index, item: closed });
    if (index === this.#firstOpen) this.#advance();
  }

  #advance(): void {
    do this.#firstOpen += 1;
    while (this.#open[this.#firstOpen] === null);
    const sent = this.#heldBack?.takeThrough(this.#firstOpen) ?? [];
    if (!this.#isSilent) for (const event of sent) this.#log.append(event);
  }
}

/** Events that are held back, in the order of their items. Deltas of a call are joined. */
class HeldBackEvents {
  readonly #held: HeldBytes;
  readonly #items = new Map<number, { readonly events: OutputEvent[]; bytes: number }>();

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  add(event: OutputEvent): void {
    const item = this.#items.get(event.output_index) ?? { events: [], bytes: 0 };
    this.#items.set(event.output_index, item);
    const last = item.events.at(-1);
    const isCallDelta =
      event.type === 'response.function_call_arguments.delta' || event.type === 'response.custom_tool_call_input.delta';
    const delta = isCallDelta ? event.delta : '';
    const grows = delta !== '' && last?.type === event.type;
    if (grows) (last as OutputEvent & { delta: string }).delta += delta;
    else item.events.push(event);
    item.bytes += this.#held.add(grows ? 'piece' : 'event', delta.length);
  }

  takeThrough(index: number): OutputEvent[] {
    const taken: OutputEvent[] = [];
    // Items are added in order, so the map has them in order.
    for (const [itemIndex, item] of this.#items) {
      if (itemIndex > index) break;
      for (const event of item.events) taken.push(event);
      this.#held.bytes -= item.bytes;
      this.#items.delete(itemIndex);
    }
    return taken;
  }
}

function grewTooMuch(): ApiError {
  return ApiError.answerTooLarge('The upstream’s answer would take many times the bytes that the upstream sent.');
}

export function tooManyItems(): ApiError {
  return ApiError.answerTooLarge(`The upstream sent an answer of more than ${maxItems} items.`);
}

function isCall(item: OpenItem | OpenCall): item is OpenCall {
  return 'isWhole' in item;
}
