import type { ResponseContext } from '../../translate/context.ts';
import type { ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import type { SseMessage } from '../../wire/sse/sse-decoder.ts';
import { EventStreamReader } from './event-stream-reader.ts';
import type { AnswerState, UpstreamBodyOptions } from './upstream-body-reader.ts';

/**
 * Reads an event stream and reports how many events each message became. A subclass, so that other readers have no check
 * for it.
 */
export class ObservedEventStreamReader extends EventStreamReader {
  readonly #onMessage: (events: number) => void;

  constructor(
    context: ResponseContext,
    options: UpstreamBodyOptions,
    onMessage: (events: number) => void,
    state?: AnswerState,
  ) {
    super(context, options, state);
    this.#onMessage = onMessage;
  }

  protected override eventsOf(message: SseMessage): ResponseStreamEvent[] {
    const events = super.eventsOf(message);
    this.#onMessage(events.length);
    return events;
  }
}
