import { ApiError } from '../../../wire/schema/api-error.ts';
import type { OutputItem } from '../../../wire/schema/response-resource.ts';
import type { ResponseContext } from '../../shared/context.ts';
import type { Repair } from '../../shared/repairs.ts';
import type { EventLog } from './event-log.ts';

export type ClosingStatus = 'completed' | 'incomplete';

/** An item whose `output_item.added` was sent and whose `output_item.done` was not. */
export interface OpenItem {
  /** Sends the events that end the item's parts, and gives the finished item. */
  close(status: ClosingStatus): OutputItem;
}

/** A call, which clients run once it is done. Any other item is closed before the next one opens. */
export interface OpenCall extends OpenItem {
  readonly outputIndex: number;
  /** The next piece of the arguments, or of a native custom call's input. */
  add(text: string): void;
  /** Is it certainly complete? */
  isWhole(): boolean;
  /** Is it incomplete? Asked of calls before the last item, when the answer ends. */
  isCut(): boolean;
  /**
   * An error if the client of a completed answer would be told to run an empty call, or half of one: clients do not check. The finish
   * reason says nothing of it: vLLM gives `tool_calls` where the token limit cut the call (vllm#53269).
   */
  unrunnable(): ApiError | null;
}

/** Items of one answer, more than any model makes. Each may take 20 µs, and all those of one chunk are made in one step. */
export const maxItems = 2048;

/** Parts that the writers of one answer share; its `log` counts what they keep. */
export interface WriterParts {
  readonly log: EventLog;
  readonly output: Output;
  readonly context: ResponseContext;
  readonly repairs: Set<Repair>;
}

/**
 * The output of one response: which item has which `output_index`, and which items are open. Clients see one open item at a
 * time, since many of them mix up the events of two (docs/answers.md §2.2): a complete item is closed when the next one
 * begins; otherwise the events of later items are held back until it is closed.
 */
export class Output {
  readonly #log: EventLog;
  /** By `output_index`; null once closed. */
  #open: (OpenItem | OpenCall | null)[] = [];
  /** The closed items: all of them after `closeAll`. */
  readonly items: OutputItem[] = [];
  /** Items added so far. */
  size = 0;
  /** The first item that is not closed: the one whose events are sent. */
  #firstOpen = 0;
  #isTooLarge = false;

  constructor(log: EventLog) {
    this.#log = log;
  }

  /**
   * Sends `output_item.added` at the next index and gives that index; `open` is what closes the item. Throws `ApiError`, once, where
   * there are too many items, or the events of those before took many times what the upstream sent.
   */
  add(item: OutputItem, open: OpenItem | OpenCall): number {
    if (!this.#isTooLarge && (this.size === maxItems || this.#log.room < 0)) {
      // What is held back is written even so, once the answer has failed.
      this.#isTooLarge = true;
      throw this.size === maxItems ? tooManyItems() : ApiError.answerTooLarge(grewTooMuch);
    }
    const index = this.size++;
    this.closeWhole();
    if (this.#firstOpen < index) this.#log.holdBackAfter(this.#firstOpen);
    this.#log.emit({ type: 'response.output_item.added', output_index: index, item });
    // Nearly always it is the only one, and an array literal takes a tenth of the memory of one that grows.
    if (index === 0) this.#open = [open];
    else this.#open[index] = open;
    return index;
  }

  /** An item that is complete when it begins; its events repeat so many characters. */
  addWhole(begun: OutputItem, done: OutputItem, characters: number): void {
    this.#log.room -= characters;
    this.close(this.add(begun, { close: () => done }));
  }

  /** Closes complete items: call it when the item whose events are sent has grown. */
  closeWhole(): void {
    while (this.#firstOpen < this.size - 1) {
      const item = this.#open[this.#firstOpen];
      if (item == null || !isCall(item) || !item.isWhole()) return;
      this.#end(this.#firstOpen, item, 'completed');
    }
  }

  isOpen(index: number): boolean {
    return this.#open[index] != null;
  }

  /** Closes one item as completed. Nothing happens if it is closed already. */
  close(index: number): void {
    const item = this.#open[index];
    if (item != null) this.#end(index, item, 'completed');
  }

  /** Closes what is open in order of `output_index`; the last and those that were cut get `lastStatus`, others are completed. */
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

  /**
   * Closes what is open of an answer that failed. A call that was open is never done, since clients run what is done and then
   * try again; it and what waited for it are in the response alone.
   */
  fail(): void {
    const first = this.#open[this.#firstOpen];
    if (first != null && isCall(first)) this.#log.whileSilent(() => this.closeAll('incomplete'));
    else this.closeAll('incomplete');
  }

  #end(index: number, item: OpenItem, status: ClosingStatus): void {
    this.#open[index] = null;
    const closed = item.close(status);
    this.items[index] = closed;
    this.#log.emit({ type: 'response.output_item.done', output_index: index, item: closed });
    if (index === this.#firstOpen) this.#advance();
  }

  /** Sends the events that waited for the first open item, up to the next one that is open. */
  #advance(): void {
    do this.#firstOpen += 1;
    while (this.#open[this.#firstOpen] === null);
    this.#log.releaseThrough(this.#firstOpen < this.size - 1 ? this.#firstOpen : null);
  }
}

const grewTooMuch = 'The upstream’s answer would take many times the bytes that the upstream sent.';

/** Returns the error for an answer of more items than `maxItems`. */
export function tooManyItems(): ApiError {
  return ApiError.answerTooLarge(`The upstream sent an answer of more than ${maxItems} items.`);
}

function isCall(item: OpenItem | OpenCall): item is OpenCall {
  return 'isWhole' in item;
}
