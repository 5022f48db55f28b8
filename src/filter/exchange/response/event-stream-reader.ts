import type { ResponseContext } from '../../translate/context.ts';
import { StreamTranslator } from '../../translate/stream.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import { isDelta, type ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import { readSseData } from '../../wire/sse/data.ts';
import { doneEvent, encodeSseEvents, keepAliveComment } from '../../wire/sse/encode-events.ts';
import { SseDecoder, SseLimitError, type SseMessage } from '../../wire/sse/sse-decoder.ts';
import { repeatsMuch } from '../kept-echo.ts';
import { type ClientBytes, joined, longBodyBytes, longEvents, longJson } from './long-body.ts';
import {
  AnswerState,
  type UpstreamBodyLimits,
  type UpstreamBodyOptions,
  type UpstreamBodyReader,
} from './upstream-body-reader.ts';
import { tooLarge } from './upstream-errors.ts';

const nothing = Buffer.alloc(0);

/**
 * Reads an event stream. A client that asked for a stream gets each event as it arrives, but nothing before the first is
 * read: an error that arrives first becomes an HTTP status while the headers can still carry it. A client that asked for
 * JSON gets the response of the terminal event.
 */
export class EventStreamReader implements UpstreamBodyReader {
  readonly #committed: boolean;
  readonly #limits: UpstreamBodyLimits;
  /** The client asked for a stream. */
  readonly #stream: boolean;
  readonly #context: ResponseContext;
  readonly #onMessage: ((events: number) => void) | undefined;
  readonly #decoder: SseDecoder;
  readonly #translator: StreamTranslator;
  /** Each lifecycle event repeats a long part of the request. */
  readonly #repeatsMuch: boolean;
  /** The upstream's body has ended. */
  #isLast = false;
  readonly state: AnswerState;

  constructor(
    context: ResponseContext,
    { committed, limits, onMessage }: UpstreamBodyOptions,
    state = new AnswerState(),
  ) {
    this.#committed = committed;
    this.#limits = limits;
    this.#stream = context.stream;
    this.#context = context;
    this.#onMessage = onMessage;
    this.#decoder = new SseDecoder({ maxEventBytes: limits.maxSseEventBytes });
    this.#translator = new StreamTranslator(context);
    this.#repeatsMuch = repeatsMuch(context.echo);
    this.state = state;
    state.parsesWhole = false;
    state.disposition = committed ? 'translated' : null;
    state.translator = this.#translator;
  }

  push(bytes: Buffer): ClientBytes {
    return this.#updated(this.#translator.ended() ? nothing : this.#push(bytes));
  }

  start(): ClientBytes {
    return this.#updated(this.#encode(this.#translator.start()));
  }

  end(error?: ApiError, sheds = false): ClientBytes {
    const translator = this.#translator;
    if (translator.ended()) return nothing;
    if (error === undefined) return this.#updated(this.#finish());
    return this.#updated(this.#encode(sheds ? translator.shed(error) : translator.fail(error)));
  }

  /** Brings the state up to date. */
  #updated(out: ClientBytes): ClientBytes {
    const { state } = this;
    const translator = this.#translator;
    state.isComplete = translator.ended();
    state.isFinishing = translator.finishSeen();
    state.bufferedBytes = this.#decoder.pending() + translator.keptBytes();
    state.outputTokens = translator.usage()?.output_tokens ?? translator.outputTokens();
    return out;
  }

  #push(bytes: Buffer): ClientBytes {
    const translator = this.#translator;
    try {
      const out = this.#read(this.#decoder.push(bytes));
      // The terminal event repeats the whole output, so all of it is kept; the chunks around it are not.
      if (translator.keptBytes() > this.#limits.maxResponseBytes && !translator.ended())
        return joined(out, this.#fail(tooLarge('an output', this.#limits.maxResponseBytes)));
      if (!this.#committed || translator.ended() || !translator.finishSeen() || translator.usage() === null) return out;
      // If each message has one reply, the next message may be trailers, and a reply to them carries no body.
      return joined(out, this.#encode(translator.finish('done')));
    } catch (thrown) {
      return this.#failWith(thrown);
    }
  }

  #finish(): ClientBytes {
    const translator = this.#translator;
    try {
      this.#isLast = true;
      const out = this.#read(this.#decoder.finish());
      return translator.ended() ? out : joined(out, this.#encode(translator.finish('eof')));
    } catch (thrown) {
      return this.#failWith(thrown);
    }
  }

  #read(messages: readonly SseMessage[]): ClientBytes {
    const { state } = this;
    const translator = this.#translator;
    let events: ResponseStreamEvent[] = [];
    let comments = false;
    for (const message of messages) {
      if (translator.ended()) break;
      if (message.type !== 'event' && state.disposition !== null) comments = true;
      const more = this.#eventsOf(message);
      this.#onMessage?.(more.length);
      events = bothOf(events, more);
      // The first message alone decides, so that the outcome does not depend on how the bytes were cut.
      if (state.disposition === null && translator.failure() === null && this.#stream && events.length > 0)
        state.disposition = 'translated';
    }
    return this.#encode(events, comments);
  }

  /** The client's events for one message of the upstream's. */
  #eventsOf(message: SseMessage): ResponseStreamEvent[] {
    if (message.type === 'event') return this.#translate(message);
    // A comment shows that the upstream is working: start the client's stream.
    return this.state.disposition === null ? this.#translator.start() : [];
  }

  #translate({ event, data: text }: Extract<SseMessage, { type: 'event' }>): ResponseStreamEvent[] {
    const translator = this.#translator;
    // Fast path: a plain delta is translated from its JSON text without parsing it (`DeltaTemplate`).
    const deltas = event === null ? translator.pushRawJson(text) : null;
    if (deltas !== null) return deltas;
    const data = readSseData(text);
    switch (data.type) {
      case 'values': {
        if (data.values.length === 0 && event === 'error') return translator.push(null, event);
        if (data.values.length === 1 && !data.done) return translator.push(data.values[0], event, text);
        let events: ResponseStreamEvent[] = [];
        for (const value of data.values) events = bothOf(events, translator.push(value, event));
        return data.done ? bothOf(events, translator.finish('done')) : events;
      }
      case 'malformed':
        return event === 'error' ? translator.push(text, event) : translator.malformed(text, this.#isLast);
    }
  }

  /** The client's bytes for these events. The terminal event is passed in only once. */
  #encode(events: readonly ResponseStreamEvent[], keepalive = false): ClientBytes {
    const { state } = this;
    const translator = this.#translator;
    if (state.disposition === null && translator.failure() !== null) state.disposition = translator.failure();
    if (state.disposition instanceof ApiError) return nothing;
    if (!this.#stream) return this.#encodeWhole();
    if (events.length === 0) return keepalive ? keepAliveComment : nothing;
    state.disposition = 'translated';
    if (!state.hasToken) state.hasToken = events.some(isDelta);
    if (this.#areLong(events)) return longEvents(events, translator.ended());
    const bytes = encodeSseEvents(events);
    return translator.ended() ? Buffer.concat([bytes, doneEvent]) : bytes;
  }

  /** The Response of the terminal event, once there is one. */
  #encodeWhole(): ClientBytes {
    const response = this.#translator.response();
    if (response === null) return nothing;
    this.state.disposition = 'translated';
    const body = this.#context.answer.bodyOf(response);
    return this.#isLong() ? longJson(body) : Buffer.from(JSON.stringify(body));
  }

  /** Can an event that repeats the kept output be long? */
  #isLong(): boolean {
    return this.#repeatsMuch || this.#translator.keptBytes() >= longBodyBytes;
  }

  #areLong(events: readonly ResponseStreamEvent[]): boolean {
    return this.#isLong() && events.some((event) => !isDelta(event) || event.delta.length >= longBodyBytes);
  }

  #fail(error: ApiError): ClientBytes {
    return this.#translator.ended() ? nothing : this.#encode(this.#translator.fail(error));
  }

  #failWith(thrown: unknown): ClientBytes {
    const { maxSseEventBytes } = this.#limits;
    return this.#fail(thrown instanceof SseLimitError ? tooLarge('an event', maxSseEventBytes) : ApiError.from(thrown));
  }
}

/** Both lists in order. One is nearly always empty; then the other is returned as it is. */
function bothOf(events: ResponseStreamEvent[], more: ResponseStreamEvent[]): ResponseStreamEvent[] {
  if (events.length === 0) return more;
  for (const event of more) events.push(event);
  return events;
}
