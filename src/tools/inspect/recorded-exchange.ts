import { inspect } from 'node:util';
import { ContentCodingError, decodeContent, parseContentCodings } from '../../filter/exchange/content-coding.ts';
import { Exchange } from '../../filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../filter/exchange/options.ts';
import type { Steps } from '../../filter/exchange/steps.ts';
import type { ExchangeSummary } from '../../filter/exchange/summary.ts';
import type {
  ExchangeEvent,
  ExchangeReply,
  HeaderMap,
  HeaderMutation,
  Replies,
  RequestEvent,
} from '../../filter/exchange/types.ts';
import type { ApiError } from '../../filter/wire/schema/api-error.ts';
import type { EndedCall, ExchangeObserver } from '../../service/telemetry/observer.ts';
import type { BodyRedactor } from '../redact/body-redactor.ts';
import { Redactor } from '../redact/redactor.ts';
import { burstOf } from './burst.ts';
import {
  type BodyName,
  type ExchangeFacts,
  type HeadChange,
  maxClientLength,
  maxExchangeBytes,
  probeAgent,
  type Recording,
  type RecordingSink,
} from './recording.ts';

/** What a service needs to record its exchanges. */
export interface Recorder {
  createExchange(options: ExchangeOptions): Exchange;
  readonly observer: ExchangeObserver;
}

/** Records each exchange in `sink`, from its first message to its end. */
export function createRecorder(sink: RecordingSink): Recorder {
  return {
    createExchange: (options) => new RecordedExchange(options, sink),
    observer: {
      onStart: (exchange) => ({
        onEnd(call) {
          if (exchange instanceof RecordedExchange) exchange.ended(call);
        },
      }),
    },
  };
}

const maxCauseLength = 16 * 1024;

/** An exchange that records its messages and replies. Without recording there is none, so nothing is checked per token. */
class RecordedExchange extends Exchange {
  readonly #sink: RecordingSink;
  readonly #startedUnixMs = Date.now();
  #recording: Recording = unrecorded;
  readonly #startedAt = performance.now();
  readonly #redactor = new Redactor();
  #chatAnswer: AnswerBody | null = null;
  #clientAnswer: AnswerBody | null = null;
  /** How many events each chunk of the current piece became. */
  readonly #eventsOfChunks: number[];
  #requestHeaders: HeaderMap = noHeaders;
  /** As its `user-agent` is shown. */
  #client: string | null = null;
  #clientBody: WholeBody | null = null;
  #chatBody: WholeBody | null = null;
  #upstreamAnswered = false;
  #clientAnswered = false;

  constructor(options: ExchangeOptions, sink: RecordingSink) {
    const eventsOfChunks: number[] = [];
    super({ ...options, onMessage: (events) => void eventsOfChunks.push(events) });
    this.#eventsOfChunks = eventsOfChunks;
    this.#sink = sink;
  }

  override repliesTo(event: ExchangeEvent): Replies {
    // One time for both: translating takes microseconds, and so would reading the clock twice for each token.
    const at = this.#now();
    if (event.type === 'response_body') return this.#handleAnswer(event, at);
    this.#onEvent(event, at);
    return this.#recorded(event, super.repliesTo(event), at);
  }

  override *handleInSteps(event: RequestEvent): Steps<Replies> {
    this.#onEvent(event, this.#now());
    return this.#recorded(event, yield* super.handleInSteps(event), this.#now());
  }

  override repliesToTick(at: number, blocked: boolean): Replies {
    const replies = super.repliesToTick(at, blocked);
    return Array.isArray(replies) && replies.length === 0 ? replies : this.#recorded(null, replies, this.#now());
  }

  override shed(error: ApiError): Replies | null {
    const replies = super.shed(error);
    return replies === null ? null : this.#recorded(null, replies, this.#now());
  }

  ended({ how, summary, times, cause }: EndedCall): void {
    const at = this.#now();
    // Before any headers came.
    if (this.#recording === unrecorded && !this.#isProbe()) this.#recording = this.#sink.open(this.#startedUnixMs);
    this.#endRequest(at);
    this.#chatAnswer?.end(at);
    this.#clientAnswer?.end(at);
    const thrown = cause ?? summary.errorCause;
    this.#recording.facts({
      ...this.#factsOf(summary),
      // For an exchange that was still open, how the call ended is more informative than the outcome.
      outcome: how === 'done' ? summary.outcome : how,
      cause: thrown === undefined || thrown === null ? null : this.#redactor.text(causeOf(thrown)),
      durationMs: times.duration,
      firstTokenMs: times.firstToken,
    });
    this.#requestHeaders = noHeaders;
  }

  #isProbe(): boolean {
    return this.#requestHeaders.get('user-agent') === probeAgent;
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }

  /** A piece of the upstream's body with what it became; of a burst of chunks, each chunk with its own events. */
  #handleAnswer(event: AnswerEvent, at: number): Replies {
    // Setting its length would free its memory, which the next chunk allocates again.
    while (this.#eventsOfChunks.length > 0) this.#eventsOfChunks.pop();
    let replies: Replies = [];
    try {
      replies = super.repliesTo(event);
      if (Array.isArray(replies)) return replies;
      // Made while they are sent, and recorded then.
      return this.#recorded(event, replies, at);
    } finally {
      const made = Array.isArray(replies) ? replies : [];
      const burst = this.#eventsOfChunks.length > 1 ? burstOf(event.body, made, this.#eventsOfChunks) : null;
      if (burst === null) {
        this.#onEvent(event, at);
        this.#recorded(event, made, at);
      } else {
        for (const reply of made) this.#onReply(event, withoutBody(reply), at);
        for (const [index, { chunk, events }] of burst.entries()) {
          // Chunks of one piece are translated one after the other, some microseconds each.
          const then = at + index / 1000;
          this.#chatAnswer?.push(then, chunk);
          this.#clientAnswer?.push(then, events);
        }
      }
    }
  }

  #onEvent(event: ExchangeEvent, at: number): void {
    switch (event.type) {
      case 'response_body':
        this.#chatAnswer?.push(at, event.body);
        return;
      case 'request_headers':
        this.#requestHeaders = event.headers;
        if (this.#isProbe()) return;
        this.#recording = this.#sink.open(this.#startedUnixMs);
        this.#clientBody = new WholeBody('client_request', this.#recording, this.#redactor);
        this.#chatBody = new WholeBody('chat_request', this.#recording, this.#redactor);
        this.#chatAnswer = new AnswerBody('chat_response', this.#recording, this.#redactor);
        this.#clientAnswer = new AnswerBody('client_response', this.#recording, this.#redactor);
        this.#recordRequestHead(event.headers);
        return;
      case 'request_body':
        this.#clientBody?.push(event.body);
        return;
      case 'response_headers':
        this.#upstreamAnswered = true;
        this.#endRequest(at);
        this.#beginAnswers(Number(event.headers.get(':status')) >= 400);
        this.#recording.head('chat_response', this.#redactor.headers(event.headers));
        return;
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  #recordRequestHead(headers: HeaderMap): void {
    const head = this.#redactor.headers(headers);
    this.#recording.head('client_request', head);
    const agentAt = head.findIndex((text, at) => at % 2 === 0 && text === 'user-agent');
    if (agentAt !== -1) this.#client = head[agentAt + 1]?.slice(0, maxClientLength) ?? null;
  }

  #beginAnswers(isError: boolean): void {
    this.#chatAnswer?.begin(isError);
    this.#clientAnswer?.begin(isError);
  }

  #recorded(event: ExchangeEvent | null, replies: Replies, at: number): Replies {
    if (!Array.isArray(replies)) return this.#recordEach(event, replies, at);
    for (const reply of replies) this.#onReply(event, reply, at);
    return replies;
  }

  *#recordEach(
    event: ExchangeEvent | null,
    replies: Iterable<ExchangeReply>,
    at: number,
  ): Generator<ExchangeReply, void> {
    for (const reply of replies) {
      this.#onReply(event, reply, at);
      yield reply;
    }
  }

  #onReply(event: ExchangeEvent | null, reply: ExchangeReply, at: number): void {
    switch (reply.type) {
      case 'response_body': {
        if (!this.#clientAnswered || reply.headers !== undefined) this.#answerClient(reply.headers);
        const body = reply.body ?? (event?.type === 'response_body' ? event.body : noBytes);
        this.#clientAnswer?.push(at, body);
        return;
      }
      case 'request_headers':
        this.#recording.changedHead('chat_request', 'client_request', this.#changeOf(reply.headers));
        if (event?.type === 'request_headers' && event.endOfStream) this.#endRequest(at);
        return;
      case 'request_body': {
        if (reply.headers !== undefined)
          this.#recording.changedHead('chat_request', 'client_request', this.#changeOf(reply.headers));
        this.#chatBody?.push(reply.body ?? (event?.type === 'request_body' ? event.body : noBytes));
        if (reply.endOfStream) this.#endRequest(at);
        return;
      }
      case 'response_headers':
        this.#answerClient(reply.headers);
        return;
      case 'immediate_response':
        this.#endRequest(at);
        if (!this.#upstreamAnswered) this.#recording.withdraw('chat_request');
        this.#recording.head(
          'client_response',
          this.#redactor.headers([[':status', String(reply.status)], ...Object.entries(reply.headers)]),
        );
        this.#clientAnswer?.begin(true);
        this.#clientAnswer?.push(at, reply.body);
        return;
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  #answerClient(headers: HeaderMutation | undefined): void {
    this.#clientAnswered = true;
    this.#recording.changedHead('client_response', 'chat_response', this.#changeOf(headers));
  }

  #changeOf({ set = {}, remove = [] }: HeaderMutation = {}): HeadChange {
    return { set: this.#redactor.headers(Object.entries(set)), remove };
  }

  /** Both bodies of the request are complete, or as much of them as there will be. */
  #endRequest(at: number): void {
    if (this.#clientBody === null && this.#chatBody === null) return;
    const isDecoded = this.#clientBody?.end(at, this.#requestHeaders.get('content-encoding') ?? null) ?? false;
    // The body is shown decoded, so these headers would not match it.
    if (isDecoded) this.#recording.changedHead('client_request', 'client_request', ofDecodedBody);
    this.#clientBody = null;
    this.#chatBody?.end(at, null);
    this.#chatBody = null;
    // From here on the list shows the exchange as running.
    this.#recording.facts(this.#factsOf(this.summary()));
  }

  #factsOf(summary: ExchangeSummary): ExchangeFacts {
    const { requestId, profile, dropped, status, upstreamStatus, errorCode, finishReason, tokens, events } = summary;
    const model = summary.model ?? summary.asked.model;
    return {
      client: this.#client,
      model: model === null ? null : this.#redactor.text(model),
      stream: summary.stream ?? summary.asked.stream,
      ...{ requestId, profile, dropped, status, upstreamStatus, errorCode, finishReason, tokens, events },
      outcome: null,
      cause: null,
      durationMs: null,
      firstTokenMs: null,
    };
  }
}

function causeOf(thrown: unknown): string {
  return inspect(thrown, { depth: 4 }).slice(0, maxCauseLength);
}

type AnswerEvent = Extract<ExchangeEvent, { type: 'response_body' }>;

/** The reply's body is recorded separately. */
function withoutBody(reply: ExchangeReply): ExchangeReply {
  return reply.type === 'response_body' ? { ...reply, body: noBytes } : reply;
}

/** Accepts what is not kept. */
const unrecorded: Recording = {
  head() {},
  changedHead() {},
  withdraw() {},
  piece() {},
  omit() {},
  facts() {},
};
const noHeaders: HeaderMap = new Map();
const noBytes = new Uint8Array(0);
const ofDecodedBody = { set: [], remove: ['content-encoding', 'content-length'] } as const;

/**
 * A request's body: credentials are found, and compressed bytes read, only when it is complete. Until then its pieces are
 * views of what arrived, not copies: they live no longer than the request.
 */
class WholeBody {
  readonly #body: BodyName;
  readonly #recording: Recording;
  readonly #redactor: Redactor;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #omitted = 0;

  constructor(body: BodyName, recording: Recording, redactor: Redactor) {
    this.#body = body;
    this.#recording = recording;
    this.#redactor = redactor;
  }

  push(bytes: Uint8Array): void {
    const room = Math.min(bytes.length, maxExchangeBytes - this.#size);
    if (room > 0) this.#pieces.push(room === bytes.length ? bytes : bytes.subarray(0, room));
    this.#size += Math.max(room, 0);
    this.#omitted += bytes.length - Math.max(room, 0);
  }

  /** Whether a content coding was undone. */
  end(atMs: number, contentEncoding: string | null): boolean {
    const [only = noBytes, ...more] = this.#pieces;
    const sent = more.length === 0 ? only : Buffer.concat(this.#pieces);
    const bytes = decoded(sent, contentEncoding);
    this.#pieces = [];
    if (bytes.length > 0) this.#recording.piece(this.#body, atMs, this.#redactor.wholeBody(bytes, 'request'));
    if (this.#omitted > 0) this.#recording.omit(this.#body, this.#omitted);
    return bytes !== sent;
  }
}

/** An answer's body, recorded as it arrives: a word that a piece cuts is recorded with the next piece. */
class AnswerBody {
  readonly #body: BodyName;
  readonly #recording: Recording;
  readonly #redactor: Redactor;
  #pieces: BodyRedactor | null = null;

  constructor(body: BodyName, recording: Recording, redactor: Redactor) {
    this.#body = body;
    this.#recording = recording;
    this.#redactor = redactor;
  }

  /** Before its first piece. */
  begin(isError: boolean): void {
    this.#pieces = this.#redactor.body(isError ? 'error' : 'answer');
  }

  push(atMs: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pieces ??= this.#redactor.body('answer');
    this.#record(atMs, this.#pieces.push(bytes));
  }

  end(atMs: number): void {
    if (this.#pieces !== null) this.#record(atMs, this.#pieces.end());
  }

  #record(atMs: number, bytes: Uint8Array): void {
    if (bytes.length > 0) this.#recording.piece(this.#body, atMs, bytes);
  }
}

/** The body without its content coding; unchanged if that cannot be undone. */
function decoded(bytes: Uint8Array, contentEncoding: string | null): Uint8Array {
  const codings = parseContentCodings(contentEncoding);
  if (codings === null || codings.length === 0 || bytes.length === 0) return bytes;
  try {
    return decodeContent(bytes, codings, maxExchangeBytes);
  } catch (thrown) {
    if (thrown instanceof ContentCodingError) return bytes;
    throw thrown;
  }
}
