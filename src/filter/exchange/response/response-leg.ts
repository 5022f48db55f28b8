import {
  type ContentDecoder,
  createContentDecoder,
  parseContentCodings,
} from '../../../formats/bytes/content-coding.ts';
import { translateError } from '../../translate/chat-to-response/error.ts';
import { checkMove } from '../../translate/shared/moves.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import { keepAliveComment } from '../../wire/sse/encode-events.ts';
import type { ExchangeOptions } from '../options.ts';
import { checkEvent, type RequestOutcome, type ResponsePhase, responseMoves } from '../phases.ts';
import { cutBytes, cutEvents, discard, immediateResponse, passThrough } from '../replies.ts';
import { type AnswerFacts, errorHeaders, keptHeaders, translatedHeaders } from '../response-headers.ts';
import type {
  Attributes,
  BodyMode,
  ExchangeReply,
  HeaderMap,
  HeaderMutation,
  Replies,
  ResponseEvent,
  Schedule,
  Steps,
} from '../types.ts';
import { createUpstreamBodyReader } from './choose-reader.ts';
import {
  type BodyEnd,
  type ClientBytes,
  joinBodies,
  LongBody,
  longBodyBytes,
  type Pieces,
  writeBodyReplies,
} from './delivery.ts';
import { createPassedReader } from './passed-reader.ts';
import {
  type AnswerState,
  emptyReport,
  type UpstreamBodyReader,
  type UpstreamBodyReport,
} from './upstream-body-reader.ts';

export interface ResponseLegReport extends UpstreamBodyReport {
  /** Null while there is none, and if Envoy made the response. */
  readonly upstreamStatus: number | null;
  readonly responder: Responder;
  /** The status sent to the client; null until then. */
  readonly clientStatus: number | null;
  /** The bytes of the upstream's body before decompression. */
  readonly upstreamBytes: number;
  readonly clientBytes: number;
}

type HeadersEvent = Extract<ResponseEvent, { type: 'response_headers' }>;
type BodyEvent = Extract<ResponseEvent, { type: 'response_body' }>;
type Cause = ResponseEvent['type'] | 'tick';

interface OpenBody extends AnswerFacts {
  readonly reader: UpstreamBodyReader;
  readonly decoder: ContentDecoder;
  readonly isEncoded: boolean;
}

/** The phase of the leg, with the body it reads, or the state of the answer that has ended. */
type LegState =
  | { readonly phase: 'awaiting_headers' | 'passing' | 'passed' }
  | { readonly phase: 'holding_headers' | 'sending_body'; readonly body: OpenBody }
  | { readonly phase: 'ended'; readonly answer: Readonly<AnswerState> | null };

const noBytes = Buffer.alloc(0);

/** A larger piece of an answer is queued: one read may have such pieces of many streams, and 60 kB of the costliest events take 10 ms. */
const burstBytes = 32 * 1024;
/** A longer or compressed piece is decoded at once, and then translated in steps of so many bytes. */
const stepBytes = 64 * 1024;

/** An upstream may keep its stream open for so long after the finish reason, since usage may follow. */
const finishGraceMs = 2000;

const noHeaders: HeaderMap = new Map();

export class ResponseLeg {
  readonly #options: ExchangeOptions;
  readonly #requestId: () => string | null;
  readonly #mode: BodyMode;
  readonly #lastUpstreamActivity = new Stopwatch();
  readonly #lastClientWrite = new Stopwatch();
  readonly #finish = new Stopwatch();
  #state: LegState = { phase: 'awaiting_headers' };
  /** The kind of event that this phase was last found to allow: nearly always the next event is of the same kind. */
  #allowed: ResponseEvent['type'] | null = null;
  /** The upstream's headers until the client's are committed, since a stream may last long. */
  #headers: HeaderMap = noHeaders;
  #refusal: ApiError | null = null;
  #status: number | null = null;
  #responder: Responder = 'upstream';
  #clientStatus: number | null = null;
  #upstreamBytes = 0;
  #clientBytes = 0;

  constructor(options: ExchangeOptions, requestId: () => string | null) {
    this.#options = options;
    this.#requestId = requestId;
    this.#mode = options.modes.response;
  }

  /** Returns the replies to one message, if any is due. Throws `ProtocolError` for a message that the phase does not allow. */
  handle(event: ResponseEvent, request: RequestOutcome): Replies {
    const state = this.#state;
    this.#arrive(event);
    if (event.type === 'response_headers') return this.#onHeaders(event, request);
    switch (state.phase) {
      case 'holding_headers':
      case 'sending_body':
        if (event.type === 'response_body')
          return this.#refusedPart(event) ?? this.#deliverRead(event, state.body, this.#read(state.body, event));
        return this.#deliver(event.type, state.body, state.body.reader.end(), 'trailers');
      case 'passing':
      case 'passed':
        return this.#onPassing(event);
      case 'awaiting_headers':
      case 'ended':
        return discard(event, this.#isFullDuplex());
    }
  }

  /** Chooses by the size of the piece; a compressed one may be very many events. */
  chooseSchedule(event: ResponseEvent): Schedule {
    if (event.type !== 'response_body') return 'at_once';
    if (event.body.length > stepBytes || this.#openBody()?.isEncoded === true) return 'in_steps';
    return event.body.length > burstBytes ? 'queued_once' : 'at_once';
  }

  *handleInSteps(event: BodyEvent, request: RequestOutcome): Steps<Replies> {
    const current = this.#openBody();
    if (current === null) return this.handle(event, request);
    this.#arrive(event);
    const refused = this.#refusedPart(event);
    if (refused !== null) return refused;
    const out = yield* this.#readInSteps(current, event.body);
    return out === null ? [] : this.#deliverRead(event, current, out);
  }

  /** Returns the replies that are due because time has passed; `Exchange.tick` has the same arguments. */
  tick(at: number, blocked: boolean): Replies {
    const body = this.#openBody();
    if (!this.#isFullDuplex() || body === null) return [];
    if (!blocked) return this.#onTick(at, body);
    for (const watch of [this.#lastUpstreamActivity, this.#lastClientWrite, this.#finish]) watch.touch();
    return [];
  }

  /** Ends an incomplete answer with this error, without its output so far. Null before the headers, after the end, and outside of full duplex. */
  shed(error: ApiError): Replies | null {
    const body = this.#openBody();
    if (!this.#isFullDuplex() || body === null) return null;
    return this.#deliver('tick', body, body.reader.end(error, true), 'body');
  }

  /** Returns the state of an answer that is translated, for logs and metrics. */
  answer(): Readonly<AnswerState> | null {
    return 'answer' in this.#state ? this.#state.answer : (this.#openBody()?.reader.state ?? null);
  }

  phase(): ResponsePhase {
    return this.#state.phase;
  }

  /** Is the client's answer complete, whether or not the upstream's has ended? */
  isComplete(): boolean {
    const { phase } = this.#state;
    return phase === 'ended' || phase === 'passed' || this.answer()?.isComplete === true;
  }

  report(): ResponseLegReport {
    const answer = this.answer();
    const report = answer?.translator?.summary() ?? answer?.whole ?? emptyReport;
    return {
      ...report,
      error: this.#refusal ?? report.error,
      upstreamStatus: this.#responder === 'upstream' ? this.#status : null,
      responder: this.#responder,
      clientStatus: this.#clientStatus,
      upstreamBytes: this.#upstreamBytes,
      clientBytes: this.#clientBytes,
    };
  }

  #arrive(event: ResponseEvent): void {
    if (event.type !== this.#allowed) checkEvent(responseMoves, this.#state.phase, event.type);
    this.#allowed = event.type;
    this.#lastUpstreamActivity.touch();
    if (event.type === 'response_body') this.#upstreamBytes += event.body.length;
  }

  #openBody(): OpenBody | null {
    return 'body' in this.#state ? this.#state.body : null;
  }

  #isFullDuplex(): boolean {
    return this.#mode === 'FULL_DUPLEX_STREAMED';
  }

  #move(cause: Cause, to: LegState): void {
    if (to === this.#state) return;
    if (to.phase !== this.#state.phase) {
      checkMove(responseMoves, this.#state.phase, cause, to.phase);
      this.#allowed = null;
    }
    this.#state = to;
  }

  #onHeaders({ type, headers, endOfStream, attributes }: HeadersEvent, request: RequestOutcome): Replies {
    const status = Number(headers.get(':status') ?? 0);
    this.#status = status;
    this.#responder = readResponder(attributes, request.type === 'unseen');
    this.#clientStatus = status;
    const { settings, bodyLimits: limits, tap } = this.#options;
    const operation = request.type === 'passed' && this.#canHold(status, headers) ? request.operation : null;
    // A response of Envoy's own without an error passes: a preflight of CORS, a redirect to a login.
    const isLocal = this.#responder === 'proxy' && status < 400;
    if (isLocal || (request.type === 'passed' && (operation === null || endOfStream))) {
      this.#move(type, { phase: endOfStream ? 'passed' : 'passing' });
      return [{ type }];
    }
    this.#headers = headers;
    const contentType = headers.get('content-type') ?? null;
    const retryAfter = headers.get('retry-after') ?? null;
    const byStatus = (): ApiError => translateError({ status, contentType, body: '', retryAfter });
    const refuseUnread = (otherwise: ApiError) => this.#refuse(type, status < 300 ? otherwise : byStatus());
    if (endOfStream) return refuseUnread(ApiError.invalidUpstream('The upstream’s response is empty.'));
    const codings = parseContentCodings(headers.get('content-encoding') ?? null);
    if (codings === null) {
      const message = `The upstream’s response has the unknown encoding ${headers.get('content-encoding')}.`;
      return refuseUnread(ApiError.invalidUpstream(message));
    }
    const decoder = createContentDecoder(codings);

    const { context, dropped } = request.type === 'translated' ? request : { context: null, dropped: [] };
    const committed = this.#mode === 'STREAMED' || this.#mode === 'NONE';
    const maxBytes = limits.maxResponseBytes;
    const mayReplaceStatus = this.#isFullDuplex() || this.#mode === 'BUFFERED';
    const onMessage = tap === undefined ? undefined : (events: number) => tap.onMessage(events);
    const given = { status, contentType, retryAfter, context, committed, mayReplaceStatus, limits, onMessage };
    const reader =
      operation === null
        ? createUpstreamBodyReader(given)
        : createPassedReader((answer) => operation.complete(answer, settings, maxBytes), maxBytes);
    const body = { reader, decoder, isEncoded: codings.length > 0, stream: context?.stream ?? false, dropped };
    this.#move(type, { phase: committed ? 'sending_body' : 'holding_headers', body });
    if (this.#isFullDuplex()) return [];
    if (this.#mode === 'BUFFERED') return [{ type }];
    // The headers are committed now, so an error can be described by its status alone.
    if (!committed || status < 300) return [{ type, headers: translatedHeaders(headers, body, this.#requestId()) }];
    const error = byStatus();
    this.#clientStatus = error.status;
    return [{ type, headers: errorHeaders(headers, error, this.#requestId()) }];
  }

  /** Can the headers wait for the end of this answer, which must be plain JSON? */
  #canHold(status: number, headers: HeaderMap): boolean {
    const canWait = this.#isFullDuplex() || this.#mode === 'BUFFERED';
    const type = headers.get('content-type') ?? '';
    return canWait && status === 200 && isJsonType.test(type) && !headers.has('content-encoding');
  }

  #refusedPart({ type, endOfStream }: BodyEvent): Replies | null {
    if (this.#mode !== 'BUFFERED_PARTIAL' || endOfStream) return null;
    const message = 'The upstream’s response is larger than the proxy’s buffer (response body mode BUFFERED_PARTIAL).';
    return this.#refuse(type, ApiError.answerTooLarge(message));
  }

  #deliverRead(event: BodyEvent, current: OpenBody, out: ClientBytes): Replies {
    const { type } = event;
    return this.#isLast(event)
      ? this.#deliver(type, current, joinBodies(out, current.reader.end()), 'body')
      : this.#deliver(type, current, out, 'open');
  }

  /** Is it the last piece? In BUFFERED, one message carries the whole body, with or without trailers behind it. */
  #isLast({ endOfStream }: BodyEvent): boolean {
    return endOfStream || this.#mode === 'BUFFERED';
  }

  #read(current: OpenBody, event: BodyEvent): ClientBytes {
    if (current.reader.state.isComplete) return noBytes;
    return this.#checked(current, current.reader.push(this.#decode(current, event.body), this.#isLast(event)));
  }

  /** Reads a piece in steps; null if the answer has ended meanwhile. */
  *#readInSteps(current: OpenBody, body: Uint8Array): Steps<ClientBytes | null> {
    const { reader } = current;
    if (reader.state.isComplete) return noBytes;
    const plain = this.#decode(current, body);
    const out: ClientBytes[] = [];
    for (let at = 0; at < plain.length && !reader.state.isComplete; at += stepBytes) {
      if (at > 0) yield;
      if (this.#openBody() !== current) return null;
      out.push(reader.push(plain.subarray(at, at + stepBytes)));
    }
    return this.#checked(current, joinBodies(...out));
  }

  #decode({ decoder, reader }: OpenBody, body: Uint8Array): Buffer {
    const plain = decoder.push(body);
    const windows = decoder.windowBytes();
    // The decoded bytes and the windows are in memory now, and garbage soon.
    if (windows > 0) this.#options.hold(reader.state.bufferedBytes + windows + plain.length);
    return plain;
  }

  #checked({ decoder, reader }: OpenBody, out: ClientBytes): ClientBytes {
    const damage = decoder.failure();
    if (damage !== null) {
      const undecodable = ApiError.invalidUpstream('The upstream’s response cannot be decompressed.', damage);
      // The status of an error says enough.
      return joinBodies(out, reader.end((this.#status ?? 0) >= 300 ? undefined : undecodable));
    }
    const { bufferedBytes, parsesWhole } = reader.state;
    const overload = this.#options.hold(bufferedBytes + decoder.windowBytes(), parsesWhole ? bufferedBytes : 0);
    return overload === null ? out : joinBodies(out, reader.end(overload));
  }

  /** Writes the replies that the reader has decided on: none yet, a part of the client's body, or an error in its place. */
  #deliver(cause: Cause, current: OpenBody, out: ClientBytes, end: BodyEnd): Replies {
    const { decision } = current.reader.state;
    if (decision instanceof ApiError) return this.#replace(cause, decision, end);
    // The headers wait for the decision, and nothing can be sent before them.
    if (decision === null && this.#isFullDuplex()) return [];
    const isFirst = this.#state.phase === 'holding_headers';
    // The error is in the stream.
    if (isFirst && decision === 'translated' && (this.#status ?? 0) >= 300) this.#clientStatus = 200;
    let headers: HeaderMutation | null = null;
    if (isFirst) headers = decision === 'untouched' ? {} : translatedHeaders(this.#headers, current, this.#requestId());
    const replies = writeBodyReplies(this.#mode, cutBody(out, current.stream), end, headers);
    if (replies === null) return this.#refuse(cause, ApiError.invalidUpstream('The upstream’s response is empty.'));
    if (end !== 'open') return this.#commit(cause, replies, this.#ended());
    // Half of an untouched body must not end as if it were whole: the rest passes, and Envoy's timeouts reset it.
    if (decision === 'untouched') return this.#commit(cause, replies, { phase: 'passing' });
    return this.#commit(cause, replies, isFirst ? { phase: 'sending_body', body: current } : this.#state);
  }

  #replace(cause: Cause, error: ApiError, end: BodyEnd): Replies {
    const headers = errorHeaders(this.#headers, error, this.#requestId());
    // In other body modes, and before the end, only an immediate response can take the response's place.
    const canReplace = end !== 'open' && (this.#isFullDuplex() || this.#mode === 'BUFFERED');
    const pieces = cutBytes(Buffer.from(error.toJson()));
    const replies = canReplace ? writeBodyReplies(this.#mode, pieces, end, headers) : null;
    return replies === null ? this.#refuse(cause, error) : this.#commit(cause, replies, this.#ended(), error);
  }

  #refuse(cause: Cause, error: ApiError): Replies {
    const id = this.#requestId();
    const headers = { ...(id !== null && { 'x-request-id': id }), ...keptHeaders(this.#headers) };
    return this.#commit(cause, [immediateResponse(error, headers)], this.#ended(), error);
  }

  #ended(): LegState {
    return { phase: 'ended', answer: this.answer() };
  }

  #commit(cause: Cause, replies: Replies, to: LegState, error: ApiError | null = null): Replies {
    this.#move(cause, to);
    this.#headers = noHeaders;
    if (error !== null) {
      this.#refusal = error;
      this.#clientStatus = error.status;
    }
    if (!Array.isArray(replies)) return this.#countEach(replies);
    for (const reply of replies) this.#count(reply);
    return replies;
  }

  *#countEach(replies: Iterable<ExchangeReply>): Generator<ExchangeReply, void> {
    for (const reply of replies) {
      this.#count(reply);
      yield reply;
    }
  }

  #count(reply: ExchangeReply): void {
    if (!('body' in reply) || reply.body === undefined || reply.body.length === 0) return;
    this.#clientBytes += reply.body.length;
    this.#lastClientWrite.touch();
  }

  #onPassing(event: Exclude<ResponseEvent, HeadersEvent>): ExchangeReply[] {
    const { phase } = this.#state;
    const isMore = phase === 'passing' || event.type === 'response_trailers';
    if (event.type === 'response_body') this.#clientBytes += event.body.length;
    const isLast = phase === 'passed' || event.type === 'response_trailers' || event.endOfStream;
    this.#move(event.type, isLast === (phase === 'passed') ? this.#state : { phase: 'passed' });
    return isMore ? passThrough(event, this.#isFullDuplex()) : discard(event, this.#isFullDuplex());
  }

  #onTick(at: number, current: OpenBody): Replies {
    const { stallTimeoutMs, heartbeatMs } = this.#options;
    const { reader, stream } = current;
    const { state } = reader;
    const upstreamSilence = this.#lastUpstreamActivity.elapsed(at);
    const clientSilence = this.#lastClientWrite.elapsed(at);
    if ((state.isComplete || state.isFinishing) && this.#finish.elapsed(at) >= finishGraceMs)
      return this.#deliver('tick', current, reader.end(), 'body');
    if (stallTimeoutMs > 0 && upstreamSilence >= stallTimeoutMs) {
      const message = `The upstream was silent for ${stallTimeoutMs / 1000} s.`;
      const out = reader.end(new ApiError(message, { status: 504, code: 'upstream_timeout' }));
      // An error with a status of its own does not wait for the end of the body, which may never come.
      return this.#deliver('tick', current, out, state.decision instanceof ApiError ? 'open' : 'body');
    }
    const wantsHeartbeat = stream && !state.isComplete && heartbeatMs > 0;
    if (!wantsHeartbeat || clientSilence < heartbeatMs) return [];
    return this.#deliver(
      'tick',
      current,
      this.#state.phase === 'sending_body' ? keepAliveComment : reader.start(),
      'open',
    );
  }
}

const isJsonType = /^application\/json\s*(;|$)/i;

function cutBody(bytes: ClientBytes, areEvents: boolean): Pieces {
  if (bytes instanceof LongBody) return bytes;
  if (areEvents) return cutEvents(bytes);
  return bytes.length < longBodyBytes ? cutBytes(bytes) : new LongBody(() => [bytes]);
}

/** The maker of a response: the upstream, Envoy because it could not reach the upstream (`router`), or Envoy for a reason of its own (`proxy`). */
export type Responder = 'upstream' | 'router' | 'proxy';

/** Reads who made a response. Without attributes it is the upstream, unless Envoy has sent no message of the request (`isFirst`). */
export function readResponder(attributes: Attributes | undefined, isFirst: boolean): Responder {
  const details = attributes?.get('response.code_details');
  if (details === undefined) return isFirst ? 'proxy' : 'upstream';
  if (details === 'via_upstream') return 'upstream';
  return attributes?.has('upstream.address') || details === 'no_healthy_upstream' ? 'router' : 'proxy';
}

/** Measures inactivity with the resolution of the ticks, so that the clock is not read for each chunk. */
export class Stopwatch {
  #touched = true;
  #since = 0;

  touch(): void {
    this.#touched = true;
  }

  /** Returns the milliseconds since the first tick after the last `touch`. */
  elapsed(at: number): number {
    if (this.#touched) this.#since = at;
    this.#touched = false;
    return at - this.#since;
  }
}
