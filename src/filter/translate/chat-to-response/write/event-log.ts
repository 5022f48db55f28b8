import { estimatedOutput } from '../../../wire/schema/estimate.ts';
import { isDelta, type ResponseStreamEvent, type UnnumberedEvent } from '../../../wire/schema/stream-events.ts';
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
  readonly isWanted: boolean;
  #events: ResponseStreamEvent[] | null = null;
  /** Events appended so far: the next one's `sequence_number`. */
  count = 0;
  #deltas = 0;
  #characters = 0;
  readonly #leastRoom: number;
  /** Bytes that the events may still take; negative where they took more. Without limit until something is said to have come. */
  room = Number.POSITIVE_INFINITY;
  /** Counts what the answer keeps: its items and parts, as they are emitted; texts where they grow. */
  readonly held: HeldBytes;

  constructor(
    { obfuscate, newId, requestBytes = 0 }: Pick<ResponseContext, 'obfuscate' | 'newId' | 'requestBytes'>,
    held: HeldBytes,
    isWanted = true,
  ) {
    this.held = held;
    this.#leastRoom = leastRoom + maxRequestGrowth * requestBytes;
    this.#padding = obfuscate ? newId : null;
    this.isWanted = isWanted;
  }

  /** So many bytes of the upstream's answer came: its events may take so much more. */
  came(bytes: number): void {
    if (this.room === Number.POSITIVE_INFINITY) this.room = this.#leastRoom;
    this.room += maxGrowth * bytes;
  }

  emit(event: UnnumberedEvent): void {
    this.tally(event);
    this.append(event);
  }

  /** Counts an event, whether or not it is ever sent. */
  tally(event: UnnumberedEvent): void {
    this.room -= eventBytes;
    if (isDelta(event)) {
      this.room -= copiesOfText * event.delta.length;
      this.#deltas += 1;
      this.#characters += event.delta.length;
    } else if (event.type === 'response.output_item.added') this.held.addItem(event.item.type);
    else if (event.type === 'response.content_part.done') this.held.add('part');
    else if (event.type === 'response.output_item.done' && event.item.type === 'reasoning')
      this.held.bytes += event.item.encrypted_content?.length ?? 0;
  }

  /** Appends an event that was counted. */
  append(event: UnnumberedEvent): void {
    if (!this.isWanted) return;
    // The event was made for this call alone: it is completed in place, because a copy for each token would cost more.
    const own = event as UnnumberedEvent & { sequence_number: number; obfuscation?: string };
    if (this.#padding !== null && isDelta(event))
      own.obfuscation = this.#padding('resp').slice(-(paddingMultiple - (event.delta.length % paddingMultiple)));
    own.sequence_number = this.count++;
    // Nearly always it is alone, and an array literal takes a tenth of the memory of one that grows.
    if (this.#events === null) this.#events = [own];
    else this.#events.push(own);
  }

  /** Returns the events that were appended since the last call. */
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
