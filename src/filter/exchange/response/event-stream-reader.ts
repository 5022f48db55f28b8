import { hasMoreValues } from '../../../formats/json/scan.ts';
import { isCommentInData, readSseData } from '../../../formats/sse/data.ts';
import { SseDecoder, SseLimitError, type SseMessage } from '../../../formats/sse/sse-decoder.ts';
import { isToldInStream } from '../../translate/chat-to-response/error.ts';
import { StreamTranslator } from '../../translate/chat-to-response/stream.ts';
import type { ResponseContext } from '../../translate/shared/context.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import { isDelta, type ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import { keepAliveComment } from '../../wire/sse/encode-events.ts';
import { repeatsMuch } from '../kept-echo.ts';
import { type ClientBytes, encodeEvents, encodeJson, joinBodies, longBodyBytes } from './delivery.ts';
import {
  AnswerState,
  mostValuesFor,
  nothing,
  tooLarge,
  tooManyValues,
  type UpstreamBodyOptions,
  type UpstreamBodyReader,
} from './upstream-body-reader.ts';

/**
 * Reads an event stream. A client that asked for a stream gets each event as it arrives, but nothing before the first is read: an error that
 * comes first becomes an HTTP status while headers can still be changed. A client that asked for JSON gets the Response of the last event.
 */
export class EventStreamReader implements UpstreamBodyReader {
  readonly #context: ResponseContext;
  readonly #options: UpstreamBodyOptions;
  readonly #decoder: SseDecoder;
  readonly #translator: StreamTranslator;
  /** Each lifecycle event repeats a long part of the request. */
  readonly #repeatsMuch: boolean;
  #isLast = false;
  readonly state: AnswerState;

  constructor(context: ResponseContext, options: UpstreamBodyOptions, state = new AnswerState()) {
    this.#context = context;
    this.#options = options;
    this.#decoder = new SseDecoder({ maxEventBytes: options.limits.maxSseEventBytes });
    this.#translator = new StreamTranslator(context);
    this.#repeatsMuch = repeatsMuch(context.echo);
    this.state = state;
    state.parsesWhole = false;
    state.decision = options.committed ? 'translated' : null;
    state.translator = this.#translator;
  }

  push(bytes: Buffer): ClientBytes {
    return this.#updated(this.#translator.ended() ? nothing : this.#push(bytes));
  }

  start(): ClientBytes {
    return this.#updated(this.#encode(this.#translator.start()));
  }

  end(error?: ApiError, isShed?: boolean): ClientBytes {
    if (this.#translator.ended()) return nothing;
    return this.#updated(error === undefined ? this.#finish() : this.#encode(this.#translator.fail(error, isShed)));
  }

  #updated(out: ClientBytes): ClientBytes {
    const { state } = this;
    const translator = this.#translator;
    state.isComplete = translator.ended();
    state.isFinishing = translator.finishReason !== null;
    state.bufferedBytes = this.#decoder.pending() + translator.holds();
    state.outputTokens = translator.response.usage?.output_tokens ?? translator.response.outputTokens();
    return out;
  }

  #push(bytes: Buffer): ClientBytes {
    const translator = this.#translator;
    const { committed, limits } = this.#options;
    try {
      translator.response.came(bytes.length);
      const out = this.#read(this.#decoder.push(bytes));
      // All of the output is kept, since the last event repeats it.
      if (translator.holds() > limits.maxResponseBytes && !translator.ended())
        return joinBodies(out, this.#fail(tooLarge('an output', limits.maxResponseBytes)));
      if (!committed || translator.ended() || translator.finishReason === null || translator.response.usage === null)
        return out;
      // Where headers are committed (STREAMED), an answer ends once it has its usage and its reason, not at `[DONE]`: each message has one
      // reply there, and the next message may be trailers, whose reply carries no body.
      return joinBodies(out, this.#encode(translator.finish('done')));
    } catch (thrown) {
      return this.#failWith(thrown);
    }
  }

  #finish(): ClientBytes {
    const translator = this.#translator;
    try {
      this.#isLast = true;
      const out = this.#read(this.#decoder.finish());
      return translator.ended() ? out : joinBodies(out, this.#encode(translator.finish('eof')));
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
      const translated = message.type === 'event' ? this.#translate(message) : null;
      // A comment shows that the upstream is working: start the client's stream.
      const more = translated ?? (state.decision === null ? translator.start() : []);
      if (translated === null && state.decision !== null) comments = true;
      this.#options.onMessage?.(more.length);
      events = append(events, more);
      // The first message alone decides, so that the outcome does not depend on how the bytes were cut.
      if (state.decision === null && translator.response.failure === null && this.#context.stream && events.length > 0)
        state.decision = 'translated';
    }
    return this.#encode(events, comments);
  }

  /** Translates a message; null for data that is a comment. */
  #translate({ event, data: text }: Extract<SseMessage, { type: 'event' }>): ResponseStreamEvent[] | null {
    const translator = this.#translator;
    // Fast path: a plain delta is translated from its JSON text without parsing it (`DeltaTemplate`).
    const deltas = event === null ? translator.pushRawJson(text) : null;
    if (deltas !== null) return deltas;
    const most = mostValuesFor(this.#context);
    if (hasMoreValues(text, most)) return translator.fail(tooManyValues('an event', most));
    const data = readSseData(text, most);
    if (data === null)
      return event === 'error' ? translator.push(text, event) : translator.malformed(text, this.#isLast);
    const { values, done } = data;
    if (values.length === 0 && event === 'error') return translator.push(text.trim() === '' ? null : text, event);
    if (values.length === 0 && !done && isCommentInData(text)) return null;
    if (values.length === 1 && !done) return translator.push(values[0], event, text);
    let events: ResponseStreamEvent[] = [];
    for (const value of values) events = append(events, translator.push(value, event));
    return done ? append(events, translator.finish('done')) : events;
  }

  #encode(events: readonly ResponseStreamEvent[], keepalive = false): ClientBytes {
    const { state } = this;
    const translator = this.#translator;
    const { failure } = translator.response;
    const isInStream = this.#options.mayReplaceStatus && this.#context.stream;
    if (failure !== null && !(isInStream && isToldInStream(failure))) state.decision ??= failure;
    if (state.decision instanceof ApiError) return nothing;
    if (!this.#context.stream) return this.#encodeWhole();
    if (events.length === 0) return keepalive ? keepAliveComment : nothing;
    state.decision = 'translated';
    if (!state.hasToken) state.hasToken = events.some(isDelta);
    const areLong = this.#isLong() && events.some((event) => !isDelta(event) || event.delta.length >= longBodyBytes);
    return encodeEvents(events, translator.ended(), areLong);
  }

  #encodeWhole(): ClientBytes {
    const response = this.#translator.response.final;
    if (response === null) return nothing;
    this.state.decision = 'translated';
    return encodeJson(this.#context.answer.writeBody(response), this.#isLong());
  }

  /** May an event that repeats the kept output be long? */
  #isLong(): boolean {
    return this.#repeatsMuch || this.#translator.holds() >= longBodyBytes;
  }

  #fail(error: ApiError): ClientBytes {
    return this.#translator.ended() ? nothing : this.#encode(this.#translator.fail(error));
  }

  #failWith(thrown: unknown): ClientBytes {
    return this.#fail(
      thrown instanceof SseLimitError ? ApiError.answerTooLarge(thrown.message) : ApiError.from(thrown),
    );
  }
}

/** Appends events; one of the lists is nearly always empty, and then the other is returned as it is. */
function append(events: ResponseStreamEvent[], more: ResponseStreamEvent[]): ResponseStreamEvent[] {
  if (events.length === 0) return more;
  for (const event of more) events.push(event);
  return events;
}
