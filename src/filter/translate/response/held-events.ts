import { isOfItem, type UnnumberedEvent } from '../../wire/schema/stream-events.ts';
import type { Kept } from '../kept.ts';

/** The events of one item; its deltas are joined, and grow in place. */
interface HeldItem {
  readonly events: UnnumberedEvent[];
  bytes: number;
}

type GrowingDelta = UnnumberedEvent & { delta: string };

/** An event beside its delta, and its place in the list. What else is long in it is counted where its item keeps it. */
const eventBytes = 400;
/** What V8 keeps of a piece of a delta beside its text. */
const pieceBytes = 64;

/** The events of items, held until an earlier item is closed, in the order of the items. */
export class HeldEvents {
  readonly #kept: Kept;
  readonly #items = new Map<number, HeldItem>();
  /** Events up to those of this item are not held. */
  #through: number;

  constructor(through: number, kept: Kept) {
    this.#through = through;
    this.#kept = kept;
  }

  /** Holds the event if it has to wait; otherwise does nothing and returns false. */
  hold(event: UnnumberedEvent): boolean {
    if (!isOfItem(event) || event.output_index <= this.#through) return false;
    const item = this.#itemAt(event.output_index);
    const last = item.events.at(-1);
    if (last !== undefined && isCallDelta(event) && last.type === event.type) {
      (last as GrowingDelta).delta += event.delta;
      this.#count(item, pieceBytes + event.delta.length);
    } else {
      item.events.push(event);
      this.#count(item, eventBytes + (isCallDelta(event) ? event.delta.length : 0));
    }
    return true;
  }

  /** The held events of items up to that one; with null, all. */
  take(through: number | null): UnnumberedEvent[] {
    const taken: UnnumberedEvent[] = [];
    this.#through = through ?? Number.POSITIVE_INFINITY;
    // Items are added in order, so the map has them in order.
    for (const [index, item] of this.#items) {
      if (index > this.#through) break;
      for (const event of item.events) taken.push(event);
      this.#kept.bytes -= item.bytes;
      this.#items.delete(index);
    }
    return taken;
  }

  #itemAt(index: number): HeldItem {
    let item = this.#items.get(index);
    if (item === undefined) {
      item = { events: [], bytes: 0 };
      this.#items.set(index, item);
    }
    return item;
  }

  #count(item: HeldItem, bytes: number): void {
    item.bytes += bytes;
    this.#kept.bytes += bytes;
  }
}

/** Deltas of a call have nothing beside their text. */
function isCallDelta(event: UnnumberedEvent): event is GrowingDelta {
  return (
    event.type === 'response.function_call_arguments.delta' || event.type === 'response.custom_tool_call_input.delta'
  );
}
