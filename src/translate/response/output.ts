import type { OutputItem } from '../../schema/response-resource.ts';
import type { EventLog } from './event-log.ts';

export type ClosingStatus = 'completed' | 'incomplete';

/** An item whose `output_item.added` was sent and whose `output_item.done` was not. */
export interface OpenItem {
  /** Sends what ends the item's parts, and gives the item as it stays. */
  close(status: ClosingStatus): OutputItem;
}

/** The output of one response: who is at which `output_index`, who is open. */
export interface Output {
  /** Sends `output_item.added` at the next index and gives that index. */
  add(item: OutputItem): number;
  /** Makes the item just added one that `close` and `closeAll` know. */
  register(index: number, item: OpenItem): void;
  /** Closes one item as completed. Nothing happens if it is closed already. */
  close(index: number): void;
  /** Closes what is open in order of `output_index`; the last gets `lastStatus`, the others are completed. */
  closeAll(lastStatus: ClosingStatus): void;
  /** Items added so far. */
  size(): number;
  /** The closed items: all of them after `closeAll`. */
  items(): readonly OutputItem[];
}

/** An empty output that tells `log` about its items. */
export function createOutput(log: EventLog): Output {
  return new LoggedOutput(log);
}

class LoggedOutput implements Output {
  readonly #log: EventLog;
  /** By `output_index`; null once closed. */
  #open: (OpenItem | null)[] = [];
  readonly #items: OutputItem[] = [];
  #size = 0;

  constructor(log: EventLog) {
    this.#log = log;
  }

  add(item: OutputItem): number {
    this.#log.emit({ type: 'response.output_item.added', output_index: this.#size, item });
    return this.#size++;
  }

  register(index: number, item: OpenItem): void {
    // Nearly always it is the only one, and an array that is made with it takes a tenth of one that grows.
    if (index === 0) this.#open = [item];
    else this.#open[index] = item;
  }

  close(index: number): void {
    const item = this.#open[index];
    if (item != null) this.#end(index, item, 'completed');
  }

  closeAll(lastStatus: ClosingStatus): void {
    const last = this.#open.findLastIndex((item) => item != null);
    for (let index = 0; index <= last; index++) {
      const item = this.#open[index];
      if (item != null) this.#end(index, item, index === last ? lastStatus : 'completed');
    }
  }

  size(): number {
    return this.#size;
  }

  items(): readonly OutputItem[] {
    return this.#items;
  }

  #end(index: number, item: OpenItem, status: ClosingStatus): void {
    this.#open[index] = null;
    const closed = item.close(status);
    this.#items[index] = closed;
    this.#log.emit({ type: 'response.output_item.done', output_index: index, item: closed });
  }
}
