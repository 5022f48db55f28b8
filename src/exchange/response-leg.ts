import { ApiError } from '../schema/api-error.ts';
import { KEEPALIVE } from '../sse/encode.ts';
import type { ResponseContext } from '../translate/context.ts';
import { translateError } from '../translate/error.ts';
import { type Answer, type AnswerLimits, type AnswerReport, nothingToReport } from './answer.ts';
import { answerHeaders, errorHeaders, keptHeaders } from './answer-headers.ts';
import { createAnswer } from './choose-answer.ts';
import { type ContentDecoder, createContentDecoder } from './content-coding.ts';
import { answerReplies, type BodyEnd, errorReplies, type HeadersFor } from './delivery.ts';
import { immediateResponse } from './immediate-response.ts';
import { type HeaderHold, headerHoldOf } from './modes.ts';
import { passOn, swallow } from './pass.ts';
import { checkEvent, checkMove, type ResponsePhase, responseMoves } from './phases.ts';
import { cutBytes, cutEvents } from './pieces.ts';
import { createStopwatch } from './stopwatch.ts';
import type { BodyMode, ExchangeReply, HeaderMap, ResponseEvent } from './types.ts';
import { invalidAnswer, partialAnswer, stalled } from './upstream-errors.ts';

/** What the response leg needs to know of its request. */
export type RequestOutcome =
  | { readonly type: 'open' }
  | { readonly type: 'passed' }
  | { readonly type: 'translated'; readonly context: ResponseContext; readonly dropped: readonly string[] };

export interface ResponseLegOptions {
  readonly mode: BodyMode;
  readonly limits: AnswerLimits;
  /** Told how many bytes are kept; an error turns the exchange away. */
  readonly hold: (bytes: number) => ApiError | null;
  /** Milliseconds; 0 turns the timer off. */
  readonly stallTimeoutMs: number;
  readonly heartbeatMs: number;
  /** Milliseconds an upstream may go on after the finish reason; with 0 the next tick ends it. */
  readonly finishGraceMs: number;
}

export interface ResponseLeg {
  /** What Envoy is told for that event: nothing while headers wait, several replies when a body leaves in pieces. */
  handle(event: ResponseEvent, request: RequestOutcome): ExchangeReply[];
  /** Time passes, as in `Exchange`. */
  tick(at: number, blocked: boolean): ExchangeReply[];
  phase(): ResponsePhase;
  report(): ResponseLegReport;
}

export interface ResponseLegReport extends AnswerReport {
  readonly upstreamStatus: number | null;
  /** The status the client was sent; null until then. */
  readonly clientStatus: number | null;
  /** Bytes of the upstream's body, as they came. */
  readonly upstreamBytes: number;
  readonly clientBytes: number;
}

type HeadersEvent = Extract<ResponseEvent, { type: 'response_headers' }>;
type BodyEvent = Extract<ResponseEvent, { type: 'response_body' }>;
type Cause = ResponseEvent['type'] | 'tick';

/** An answer that is ours to write. */
interface Reading {
  readonly answer: Answer;
  readonly decoder: ContentDecoder;
  readonly headers: HeaderMap;
  readonly stream: boolean;
  readonly dropped: readonly string[];
}

const noBytes = Buffer.alloc(0);

const noHeaders: HeaderMap = new Map();

/** The leg that carries the upstream's answer to the client, in whatever body mode is in force. */
export function createResponseLeg(options: ResponseLegOptions, requestId: () => string | null): ResponseLeg {
  return new AnswerLeg(options, requestId);
}

class AnswerLeg implements ResponseLeg {
  readonly #options: ResponseLegOptions;
  readonly #requestId: () => string | null;
  readonly #headerHold: HeaderHold;
  readonly #heard = createStopwatch();
  readonly #spoke = createStopwatch();
  readonly #finished = createStopwatch();
  #phase: ResponsePhase = 'awaiting_headers';
  /** What led from this phase to itself: it may again, and a body's pieces need no further look at the table. */
  #again: Cause | null = null;
  #reading: Reading | null = null;
  #refusal: ApiError | null = null;
  #upstreamStatus: number | null = null;
  #clientStatus: number | null = null;
  #upstreamBytes = 0;
  #clientBytes = 0;

  constructor(options: ResponseLegOptions, requestId: () => string | null) {
    this.#options = options;
    this.#requestId = requestId;
    this.#headerHold = headerHoldOf(options.mode);
  }

  handle(event: ResponseEvent, request: RequestOutcome): ExchangeReply[] {
    if (event.type !== this.#again) checkEvent(responseMoves, this.#phase, event.type);
    this.#heard.touch();
    if (event.type === 'response_body') this.#upstreamBytes += event.body.length;
    if (event.type === 'response_headers') return this.#onHeaders(event, request);
    if (this.#phase === 'passing' || this.#phase === 'passed') return this.#onPassing(event);
    if (this.#phase === 'ended' || this.#reading === null) return swallow(event, this.#isFullDuplex());
    if (event.type === 'response_body') return this.#onBody(event, this.#reading);
    return this.#deliver(event.type, this.#reading, finish(this.#reading), 'trailers');
  }

  tick(at: number, blocked: boolean): ExchangeReply[] {
    if (!this.#isFullDuplex() || this.#reading === null || this.#phase === 'ended') return [];
    if (!blocked) return this.#onTick(at, this.#reading);
    for (const watch of [this.#heard, this.#spoke, this.#finished]) watch.touch();
    return [];
  }

  phase(): ResponsePhase {
    return this.#phase;
  }

  report(): ResponseLegReport {
    const report = this.#reading?.answer.report() ?? nothingToReport;
    return {
      ...report,
      error: this.#refusal ?? report.error,
      upstreamStatus: this.#upstreamStatus,
      clientStatus: this.#clientStatus,
      upstreamBytes: this.#upstreamBytes,
      clientBytes: this.#clientBytes,
    };
  }

  #isFullDuplex(): boolean {
    return this.#headerHold === 'withheld';
  }

  #move(cause: Cause, to: ResponsePhase): void {
    if (to === this.#phase && cause === this.#again) return;
    checkMove(responseMoves, this.#phase, cause, to);
    this.#again = to === this.#phase ? cause : null;
    this.#phase = to;
  }

  #onHeaders({ type, headers, endOfStream }: HeadersEvent, request: RequestOutcome): ExchangeReply[] {
    const status = Number(headers.get(':status') ?? 0);
    this.#upstreamStatus = status;
    this.#clientStatus = status;
    if (request.type === 'passed' || (endOfStream && (status === 204 || status === 304))) {
      this.#move(type, endOfStream ? 'passed' : 'passing');
      return [{ type }];
    }
    const contentType = headers.get('content-type') ?? null;
    const retryAfter = headers.get('retry-after') ?? null;
    const byStatus = (): ApiError => translateError({ status, contentType, body: '', retryAfter });
    const refuseUnread = (otherwise: ApiError) => this.#refuse(type, status < 300 ? otherwise : byStatus(), headers);
    if (endOfStream) return refuseUnread(invalidAnswer('The upstream’s answer is empty.'));
    const decoder = createContentDecoder(headers.get('content-encoding') ?? '');
    if (decoder === null) return refuseUnread(unknownCoding(headers));

    const { context, dropped } = request.type === 'translated' ? request : { context: null, dropped: [] };
    const committed = this.#headerHold === 'gone';
    const { limits } = this.#options;
    const answer = createAnswer({ status, contentType, retryAfter, context, committed, limits });
    const reading = { answer, decoder, headers, stream: context?.stream ?? false, dropped };
    this.#reading = reading;
    this.#move(type, committed ? 'sending_body' : 'holding_headers');
    if (this.#isFullDuplex()) return [];
    if (this.#headerHold === 'with_body') return [{ type }];
    // The headers are settled now: what the status alone tells of an error is all there is.
    const isError = committed && status >= 300;
    const settled = isError ? this.#headersOfError(byStatus(), headers) : this.#headersOfAnswer(reading);
    return [{ type, headers: settled(null) }];
  }

  #onBody({ type, body, endOfStream }: BodyEvent, current: Reading): ExchangeReply[] {
    if (this.#headerHold === 'refusable' && !endOfStream) return this.#refuse(type, partialAnswer(), current.headers);
    const out = this.#read(current, body);
    // In BUFFERED the one message holds all there is, trailers or not.
    const over = endOfStream || this.#headerHold === 'with_body';
    return over
      ? this.#deliver(type, current, joined(out, finish(current)), 'body')
      : this.#deliver(type, current, out, 'open');
  }

  #read({ decoder, answer }: Reading, body: Uint8Array): Buffer {
    if (answer.complete()) return noBytes;
    let plain: Buffer;
    try {
      plain = decoder.push(body);
    } catch (cause) {
      return answer.fail(invalidAnswer('The upstream’s answer cannot be decompressed.', cause));
    }
    const out = answer.push(plain);
    const overload = this.#options.hold(answer.held());
    return overload === null ? out : joined(out, answer.fail(overload));
  }

  /** Sends what the answer gave: nothing yet, a part of it, or an error in its place. */
  #deliver(cause: Cause, current: Reading, out: Buffer, end: BodyEnd): ExchangeReply[] {
    const hold = this.#headerHold;
    const verdict = current.answer.verdict();
    if (verdict instanceof ApiError) {
      const replies = errorReplies(hold, verdict, end, this.#headersOfError(verdict, current.headers));
      if (replies === null) return this.#refuse(cause, verdict, current.headers);
      return this.#leave(cause, replies, 'ended', verdict);
    }
    // Until there is a verdict the headers stay, and with them everything.
    if (verdict === null && this.#isFullDuplex()) return [];
    const headers = this.#phase === 'holding_headers' ? this.#headersOfAnswer(current) : null;
    const pieces = current.stream ? cutEvents(out) : cutBytes(out);
    const replies = answerReplies(hold, { pieces, end, headers });
    if (replies === null) return this.#refuse(cause, invalidAnswer('The upstream’s answer is empty.'), current.headers);
    // Once they have left nobody asks for the upstream's headers; a stream may go on for long.
    if (headers !== null && this.#isFullDuplex()) this.#reading = { ...current, headers: noHeaders };
    return this.#leave(cause, replies, end === 'open' ? 'sending_body' : 'ended', null);
  }

  #refuse(cause: Cause, error: ApiError, headers: HeaderMap): ExchangeReply[] {
    const id = this.#requestId();
    const ids = id === null ? {} : { 'x-request-id': id };
    return this.#leave(cause, [immediateResponse(error, { ...ids, ...keptHeaders(headers) })], 'ended', error);
  }

  #leave(cause: Cause, replies: ExchangeReply[], to: ResponsePhase, error: ApiError | null): ExchangeReply[] {
    this.#move(cause, to);
    if (error !== null) {
      this.#refusal = error;
      this.#clientStatus = error.status;
    }
    for (const reply of replies) {
      if (!('body' in reply) || reply.body === undefined || reply.body.length === 0) continue;
      this.#clientBytes += reply.body.length;
      this.#spoke.touch();
    }
    return replies;
  }

  #onPassing(event: Exclude<ResponseEvent, HeadersEvent>): ExchangeReply[] {
    const isMore = this.#phase === 'passing' || event.type === 'response_trailers';
    if (event.type === 'response_body') this.#clientBytes += event.body.length;
    const over = this.#phase === 'passed' || event.type === 'response_trailers' || event.endOfStream;
    this.#move(event.type, over ? 'passed' : 'passing');
    return isMore ? passOn(event, this.#isFullDuplex()) : swallow(event, this.#isFullDuplex());
  }

  #headersOfAnswer({ headers, stream, dropped }: Reading): HeadersFor {
    const requestId = this.#requestId();
    return (contentLength) => answerHeaders(headers, { stream, dropped, contentLength, requestId });
  }

  #headersOfError(error: ApiError, headers: HeaderMap): HeadersFor {
    const requestId = this.#requestId();
    return (contentLength) => errorHeaders(headers, { error, contentLength, requestId });
  }

  /** What is due because of the silence alone; only full duplex takes replies that nobody asked for. */
  #onTick(at: number, current: Reading): ExchangeReply[] {
    const { stallTimeoutMs, heartbeatMs, finishGraceMs } = this.#options;
    const { answer, stream } = current;
    const upstreamSilence = this.#heard.elapsed(at);
    const clientSilence = this.#spoke.elapsed(at);
    const finishing = answer.complete() || answer.finishing();
    if (!finishing) this.#finished.touch();
    if (this.#finished.elapsed(at) >= finishGraceMs && finishing)
      return this.#deliver('tick', current, finish(current), 'body');
    if (stallTimeoutMs > 0 && upstreamSilence >= stallTimeoutMs) {
      const out = answer.fail(stalled(stallTimeoutMs));
      // An error with a status cannot wait for an end that does not come.
      return this.#deliver('tick', current, out, answer.verdict() instanceof ApiError ? 'open' : 'body');
    }
    const wantsHeartbeat = stream && !answer.complete() && heartbeatMs > 0;
    if (!wantsHeartbeat || clientSilence < heartbeatMs) return [];
    return this.#deliver('tick', current, this.#phase === 'sending_body' ? KEEPALIVE : answer.start(), 'open');
  }
}

function finish({ answer }: Reading): Buffer {
  return answer.complete() ? noBytes : answer.end();
}

function joined(first: Buffer, second: Buffer): Buffer {
  if (first.length === 0) return second;
  return second.length === 0 ? first : Buffer.concat([first, second]);
}

function unknownCoding(headers: HeaderMap): ApiError {
  return invalidAnswer(`The upstream’s answer has the unknown encoding ${headers.get('content-encoding')}.`);
}
