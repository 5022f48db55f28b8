import type { ResponseStreamEvent, UnnumberedEvent } from '../../schema/stream-events.ts';
import type { ResponseContext } from '../context.ts';

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
  let events: ResponseStreamEvent[] = [];
  let count = 0;
  let written = 0;
  return {
    emit(event) {
      // The event was made for this call alone: it is completed in place, a copy per token would only cost.
      const own = event as UnnumberedEvent & { sequence_number: number; obfuscation?: string };
      if ('delta' in event) {
        written += event.delta.length;
        if (obfuscate) own.obfuscation = paddingFor(event.delta.length);
      }
      own.sequence_number = count++;
      events.push(own);
    },
    take() {
      const taken = events;
      events = [];
      return taken;
    },
    count() {
      return count;
    },
    written() {
      return written;
    },
  };

  /** The only randomness here is that of ids: their last letters are it. */
  function paddingFor(length: number): string {
    return newId('resp').slice(-(PADDED_TO - (length % PADDED_TO)));
  }
}
