import type { ResponseStreamEvent, UnnumberedEvent } from '../../schema/stream-events.ts';
import type { NewId, ResponseContext } from '../context.ts';

/** Where the events of one stream are numbered, and wait for the caller that takes them. */
export interface EventLog {
  emit(event: UnnumberedEvent): void;
  /** What was emitted since the last call. */
  take(): ResponseStreamEvent[];
  /** Events emitted so far: the next one's `sequence_number`. */
  count(): number;
  /** Characters in deltas so far: what is kept for the events that repeat the whole. */
  written(): number;
}

/** A delta and its padding are together a multiple of this, so that the wire's sizes say little about the text. */
const PADDED_TO = 16;

/** Numbers events from 0 without gaps and, when asked for, pads the deltas. */
export function createEventLog({ obfuscate, newId }: Pick<ResponseContext, 'obfuscate' | 'newId'>): EventLog {
  return new NumberedLog(obfuscate ? newId : null);
}

class NumberedLog implements EventLog {
  /** Null where nothing is padded. The only randomness here is that of ids: their last letters are it. */
  readonly #padding: NewId | null;
  #events: ResponseStreamEvent[] | null = null;
  #count = 0;
  #written = 0;

  constructor(padding: NewId | null) {
    this.#padding = padding;
  }

  emit(event: UnnumberedEvent): void {
    // The event was made for this call alone: it is completed in place, a copy per token would only cost.
    const own = event as UnnumberedEvent & { sequence_number: number; obfuscation?: string };
    if ('delta' in event) {
      const { length } = event.delta;
      this.#written += length;
      if (this.#padding !== null) own.obfuscation = this.#padding('resp').slice(-(PADDED_TO - (length % PADDED_TO)));
    }
    own.sequence_number = this.#count++;
    // Nearly always it is alone, and an array that is made with it takes a tenth of one that grows.
    if (this.#events === null) this.#events = [own];
    else this.#events.push(own);
  }

  take(): ResponseStreamEvent[] {
    const taken = this.#events;
    this.#events = null;
    return taken ?? [];
  }

  count(): number {
    return this.#count;
  }

  written(): number {
    return this.#written;
  }
}
