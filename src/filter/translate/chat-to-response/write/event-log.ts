import { estimatedOutput } from '../../../wire/schema/estimate.ts';
import {
  isDelta,
  isOfItem,
  type ResponseStreamEvent,
  type UnnumberedEvent,
} from '../../../wire/schema/stream-events.ts';
import type { NewId, ResponseContext } from '../../shared/context.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';

/** A delta and its padding are together a multiple of this, so that sizes on the wire reveal little about the text. */
const paddingMultiple = 16;

/** Bytes that events may take for each that came, beside `leastRoom`. A server's smallest chunk becomes 8 times as much. */
const maxGrowth = 20;
/** The same for each byte of the request: a tool of it is announced at most once, in three events. */
const maxRequestGrowth = 4;
const leastRoom = 4 * 1024 * 1024;
/** About what an event takes beside its texts. */
const eventBytes = 300;
/** A text is in its delta, in the events that end its part and its item, and in the last one. */
const copiesOfText = 4;

/** Numbers the events of a response from 0, pads deltas if asked, and keeps them until they are taken, if wanted. */
export class EventLog {
  /** Null where nothing is padded. The only randomness here is that of ids: their last characters are used. */
  readonly #padding: NewId | null;
  #isWanted: boolean;
  #events: ResponseStreamEvent[] | null = null;
  /** Events emitted so far: the next one's `sequence_number`. */
  count = 0;
  #deltas = 0;
  #characters = 0;
  #heldBack: HeldBackEvents | null = null;
  readonly #leastRoom: number;
  /** Bytes that the events may still take; negative where they took more. Without limit until something is said to have come. */
  room = Number.POSITIVE_INFINITY;
  /** Counts what the answer keeps: its items and parts, and events that are held back, as they are emitted; texts where they grow. */
  readonly held: HeldBytes;

  constructor(
    { obfuscate, newId, requestBytes = 0 }: Pick<ResponseContext, 'obfuscate' | 'newId' | 'requestBytes'>,
    held: HeldBytes,
    isWanted = true,
  ) {
    this.held = held;
    this.#leastRoom = leastRoom + maxRequestGrowth * requestBytes;
    this.#padding = obfuscate ? newId : null;
    this.#isWanted = isWanted;
  }

  /** So many bytes of the upstream's answer came: its events may take so much more. */
  came(bytes: number): void {
    if (this.room === Number.POSITIVE_INFINITY) this.room = this.#leastRoom;
    this.room += maxGrowth * bytes;
  }

  emit(event: UnnumberedEvent): void {
    this.room -= eventBytes;
    if (isDelta(event)) {
      this.room -= copiesOfText * event.delta.length;
      this.#deltas += 1;
      this.#characters += event.delta.length;
    } else if (event.type === 'response.output_item.added') this.held.addItem(event.item.type);
    else if (event.type === 'response.content_part.done') this.held.add('part');
    else if (event.type === 'response.output_item.done' && event.item.type === 'reasoning')
      this.held.bytes += event.item.encrypted_content?.length ?? 0;
    if (!this.#isWanted || this.#heldBack?.holdBack(event)) return;
    this.#append(event);
  }

  /** From now on, events of items after that one are held back. */
  holdBackAfter(outputIndex: number): void {
    if (this.#isWanted) this.#heldBack ??= new HeldBackEvents(outputIndex, this.held);
  }

  /** Emits events that were held back, up to those of that item; later ones still are. With null, none are. */
  releaseThrough(outputIndex: number | null): void {
    const heldBack = this.#heldBack;
    if (heldBack === null) return;
    if (outputIndex === null) this.#heldBack = null;
    for (const event of heldBack.take(outputIndex)) this.#append(event);
  }

  /** Drops events that were held back, and whatever is emitted meanwhile. */
  whileSilent(action: () => void): void {
    const isWanted = this.#isWanted;
    this.#heldBack = null;
    this.#isWanted = false;
    action();
    this.#isWanted = isWanted;
  }

  /** Drops events that were held back or not taken. */
  drop(): void {
    this.#heldBack = null;
    this.#events = null;
  }

  #append(event: UnnumberedEvent): void {
    // The event was made for this call alone: it is completed in place, because a copy for each token would cost more.
    const own = event as UnnumberedEvent & { sequence_number: number; obfuscation?: string };
    if (this.#padding !== null && isDelta(event))
      own.obfuscation = this.#padding('resp').slice(-(paddingMultiple - (event.delta.length % paddingMultiple)));
    own.sequence_number = this.count++;
    // Nearly always it is alone, and an array literal takes a tenth of the memory of one that grows.
    if (this.#events === null) this.#events = [own];
    else this.#events.push(own);
  }

  /** Returns the events that were emitted since the last call. */
  take(): ResponseStreamEvent[] {
    const taken = this.#events;
    this.#events = null;
    return taken ?? [];
  }

  /** Tokens of the deltas so far, wanted or not, as `estimatedOutput` has them. */
  tokens(): number {
    return estimatedOutput(this.#deltas, this.#characters);
  }
}

/** The events of one item; its deltas are joined, and grow in place. */
interface HeldItem {
  readonly events: UnnumberedEvent[];
  bytes: number;
}

/** The events of items, held back until an earlier item is closed, in the order of the items. */
class HeldBackEvents {
  readonly #held: HeldBytes;
  readonly #items = new Map<number, HeldItem>();
  /** Events up to those of this item are not held back. */
  #through: number;

  constructor(through: number, held: HeldBytes) {
    this.#through = through;
    this.#held = held;
  }

  /** Holds the event back if it has to wait; otherwise does nothing and returns false. */
  holdBack(event: UnnumberedEvent): boolean {
    if (!isOfItem(event) || event.output_index <= this.#through) return false;
    const item = this.#items.get(event.output_index) ?? { events: [], bytes: 0 };
    this.#items.set(event.output_index, item);
    const last = item.events.at(-1);
    // Deltas of a call have nothing beside their text.
    const isCallDelta =
      event.type === 'response.function_call_arguments.delta' || event.type === 'response.custom_tool_call_input.delta';
    const delta = isCallDelta ? event.delta : '';
    const grows = delta !== '' && last?.type === event.type;
    if (grows) (last as UnnumberedEvent & { delta: string }).delta += delta;
    else item.events.push(event);
    item.bytes += this.#held.add(grows ? 'piece' : 'event', delta.length);
    return true;
  }

  /** The events of items up to that one; with null, all. */
  take(through: number | null): UnnumberedEvent[] {
    const taken: UnnumberedEvent[] = [];
    this.#through = through ?? Number.POSITIVE_INFINITY;
    // Items are added in order, so the map has them in order.
    for (const [index, item] of this.#items) {
      if (index > this.#through) break;
      for (const event of item.events) taken.push(event);
      this.#held.bytes -= item.bytes;
      this.#items.delete(index);
    }
    return taken;
  }
}
