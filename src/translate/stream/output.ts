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
  hold(index: number, item: OpenItem): void;
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
  const items: OutputItem[] = [];
  const open = new Map<number, OpenItem>();
  let size = 0;

  function end(index: number, item: OpenItem, status: ClosingStatus): void {
    open.delete(index);
    const closed = item.close(status);
    items[index] = closed;
    log.emit({ type: 'response.output_item.done', output_index: index, item: closed });
  }

  return {
    add(item) {
      log.emit({ type: 'response.output_item.added', output_index: size, item });
      return size++;
    },
    hold(index, item) {
      open.set(index, item);
    },
    close(index) {
      const item = open.get(index);
      if (item !== undefined) end(index, item, 'completed');
    },
    closeAll(lastStatus) {
      // A Map keeps the order of insertion, and indices are given in that order.
      let left = open.size;
      for (const [index, item] of [...open]) end(index, item, --left === 0 ? lastStatus : 'completed');
    },
    size() {
      return size;
    },
    items() {
      return items;
    },
  };
}
