import { estimatedOutput } from '../../../wire/schema/estimate.ts';
import { isDelta, type ResponseStreamEvent, type UnnumberedEvent } from '../../../wire/schema/stream-events.ts';
import type { NewId, ResponseContext } from '../../shared/context.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';

/** A delta and its padding together are a multiple of so many characters, so that sizes on the wire reveal little about the text. */
const paddingMultiple = 16;

/** Bytes that events may take for each byte of the answer, beside `leastRoom`. A server's smallest chunk becomes 8 times as much. */
const maxGrowth = 20;
/** Bytes that events may take for each byte of the request: a tool is announced at most once, in three events. */
const maxRequestGrowth = 4;
const leastRoom = 4 * 1024 * 1024;
const eventBytes = 300;
/** A text is in its delta, in the events that end its part and its item, and in the terminal event; likewise a citation, and a part. */
export const copiesOfText = 4;

/** Numbers the events of a response from 0, pads deltas if asked, and keeps the events until they are taken, if wanted. */
export class EventLog {
  /** Padding is the last characters of an id, the only randomness here. Null where nothing is padded. */
  readonly #padding: NewId | null;
  readonly isWanted: boolean;
  #events: ResponseStreamEvent[] | null = null;
  /** The number of events so far, and the next one's `sequence_number`. */
  count = 0;
  #deltas = 0;
  #characters = 0;
  readonly #leastRoom: number;
  /** Bytes that the events may still take; negative where they took more. There is no limit until `came` is called. */
  room = Number.POSITIVE_INFINITY;
  /** Counts what the answer keeps: items and parts as they are emitted, texts where they grow. */
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

  /** Counts bytes of the upstream's answer, with which the events may grow. */
  came(bytes: number): void {
    if (this.room === Number.POSITIVE_INFINITY) this.room = this.#leastRoom;
    this.room += maxGrowth * bytes;
  }

  emit(event: UnnumberedEvent): void {
    this.tally(event);
    this.append(event);
  }

  /** Counts an event, even one that is never sent. */
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

  append(event: UnnumberedEvent): void {
    if (!this.isWanted) return;
    // The event is completed in place, since nobody else has it: a copy for each token would cost more.
    const own = event as UnnumberedEvent & { sequence_number: number; obfuscation?: string };
    if (this.#padding !== null && isDelta(event))
      own.obfuscation = this.#padding('resp').slice(-(paddingMultiple - (event.delta.length % paddingMultiple)));
    own.sequence_number = this.count++;
    // Nearly always there is one event, and an array literal takes a tenth of the memory of an array that grows.
    if (this.#events === null) this.#events = [own];
    else this.#events.push(own);
  }

  take(): ResponseStreamEvent[] {
    const taken = this.#events;
    this.#events = null;
    return taken ?? [];
  }

  tokens(): number {
    return estimatedOutput(this.#deltas, this.#characters);
  }
}
