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
import { headerHoldOf } from './modes.ts';
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

/** The leg that carries the upstream's answer to the client, in whatever body mode is in force. */
export function createResponseLeg(options: ResponseLegOptions, requestId: () => string | null): ResponseLeg {
  const hold = headerHoldOf(options.mode);
  const fullDuplex = hold === 'withheld';
  const heard = createStopwatch();
  const spoke = createStopwatch();
  const finished = createStopwatch();
  let phase: ResponsePhase = 'awaiting_headers';
  let reading: Reading | null = null;
  let refusal: ApiError | null = null;
  let upstreamStatus: number | null = null;
  let clientStatus: number | null = null;
  let upstreamBytes = 0;
  let clientBytes = 0;

  function move(cause: Cause, to: ResponsePhase): void {
    checkMove(responseMoves, phase, cause, to);
    phase = to;
  }

  function onHeaders({ type, headers, endOfStream }: HeadersEvent, request: RequestOutcome): ExchangeReply[] {
    const status = Number(headers.get(':status') ?? 0);
    upstreamStatus = status;
    clientStatus = status;
    if (request.type === 'passed' || (endOfStream && (status === 204 || status === 304))) {
      move(type, endOfStream ? 'passed' : 'passing');
      return [{ type }];
    }
    const contentType = headers.get('content-type') ?? null;
    const retryAfter = headers.get('retry-after') ?? null;
    const byStatus = (): ApiError => translateError({ status, contentType, body: '', retryAfter });
    const refuseUnread = (otherwise: ApiError) => refuse(type, status < 300 ? otherwise : byStatus(), headers);
    if (endOfStream) return refuseUnread(invalidAnswer('The upstream’s answer is empty.'));
    const decoder = createContentDecoder(headers.get('content-encoding') ?? '');
    if (decoder === null) return refuseUnread(unknownCoding(headers));

    const { context, dropped } = request.type === 'translated' ? request : { context: null, dropped: [] };
    const committed = hold === 'gone';
    const answer = createAnswer({ status, contentType, retryAfter, context, committed, limits: options.limits });
    reading = { answer, decoder, headers, stream: context?.stream ?? false, dropped };
    move(type, committed ? 'sending_body' : 'holding_headers');
    if (fullDuplex) return [];
    if (hold === 'with_body') return [{ type }];
    // The headers are settled now: what the status alone tells of an error is all there is.
    const settled = committed && status >= 300 ? headersOfError(byStatus(), headers) : headersOfAnswer(reading);
    return [{ type, headers: settled(null) }];
  }

  function onBody({ type, body, endOfStream }: BodyEvent, current: Reading): ExchangeReply[] {
    if (hold === 'refusable' && !endOfStream) return refuse(type, partialAnswer(), current.headers);
    const out = read(current, body);
    // In BUFFERED the one message holds all there is, trailers or not.
    const over = endOfStream || hold === 'with_body';
    return over ? deliver(type, current, joined(out, finish(current)), 'body') : deliver(type, current, out, 'open');
  }

  function read({ decoder, answer }: Reading, body: Uint8Array): Buffer {
    if (answer.complete()) return noBytes;
    let plain: Buffer;
    try {
      plain = decoder.push(body);
    } catch (cause) {
      return answer.fail(invalidAnswer('The upstream’s answer cannot be decompressed.', cause));
    }
    const out = answer.push(plain);
    const overload = options.hold(answer.held());
    return overload === null ? out : joined(out, answer.fail(overload));
  }

  function finish({ answer }: Reading): Buffer {
    return answer.complete() ? noBytes : answer.end();
  }

  /** Sends what the answer gave: nothing yet, a part of it, or an error in its place. */
  function deliver(cause: Cause, current: Reading, out: Buffer, end: BodyEnd): ExchangeReply[] {
    const verdict = current.answer.verdict();
    if (verdict instanceof ApiError) {
      const replies = errorReplies(hold, verdict, end, headersOfError(verdict, current.headers));
      return replies === null ? refuse(cause, verdict, current.headers) : leave(cause, replies, 'ended', verdict);
    }
    // Until there is a verdict the headers stay, and with them everything.
    if (verdict === null && fullDuplex) return [];
    const headers = phase === 'holding_headers' ? headersOfAnswer(current) : null;
    const pieces = current.stream ? cutEvents(out) : cutBytes(out);
    const replies = answerReplies(hold, { pieces, end, headers });
    if (replies === null) return refuse(cause, invalidAnswer('The upstream’s answer is empty.'), current.headers);
    return leave(cause, replies, end === 'open' ? 'sending_body' : 'ended', null);
  }

  function refuse(cause: Cause, error: ApiError, headers: HeaderMap): ExchangeReply[] {
    const id = requestId();
    const ids = id === null ? {} : { 'x-request-id': id };
    return leave(cause, [immediateResponse(error, { ...ids, ...keptHeaders(headers) })], 'ended', error);
  }

  function leave(cause: Cause, replies: ExchangeReply[], to: ResponsePhase, error: ApiError | null): ExchangeReply[] {
    move(cause, to);
    if (error !== null) {
      refusal = error;
      clientStatus = error.status;
    }
    for (const reply of replies) {
      if (!('body' in reply) || reply.body === undefined || reply.body.length === 0) continue;
      clientBytes += reply.body.length;
      spoke.touch();
    }
    return replies;
  }

  function onPassing(event: Exclude<ResponseEvent, HeadersEvent>): ExchangeReply[] {
    const isMore = phase === 'passing' || event.type === 'response_trailers';
    if (event.type === 'response_body') clientBytes += event.body.length;
    const over = phase === 'passed' || event.type === 'response_trailers' || event.endOfStream;
    move(event.type, over ? 'passed' : 'passing');
    return isMore ? passOn(event, fullDuplex) : swallow(event, fullDuplex);
  }

  function headersOfAnswer({ headers, stream, dropped }: Reading): HeadersFor {
    return (contentLength) => answerHeaders(headers, { stream, dropped, contentLength, requestId: requestId() });
  }

  function headersOfError(error: ApiError, headers: HeaderMap): HeadersFor {
    return (contentLength) => errorHeaders(headers, { error, contentLength, requestId: requestId() });
  }

  /** What is due because of the silence alone; only full duplex takes replies that nobody asked for. */
  function onTick(at: number, current: Reading): ExchangeReply[] {
    const { answer, stream } = current;
    const upstreamSilence = heard.elapsed(at);
    const clientSilence = spoke.elapsed(at);
    const finishing = answer.complete() || answer.finishing();
    if (!finishing) finished.touch();
    if (finished.elapsed(at) >= options.finishGraceMs && finishing)
      return deliver('tick', current, finish(current), 'body');
    if (options.stallTimeoutMs > 0 && upstreamSilence >= options.stallTimeoutMs) {
      const out = answer.fail(stalled(options.stallTimeoutMs));
      // An error with a status cannot wait for an end that does not come.
      return deliver('tick', current, out, answer.verdict() instanceof ApiError ? 'open' : 'body');
    }
    const wantsHeartbeat = stream && !answer.complete() && options.heartbeatMs > 0;
    if (!wantsHeartbeat || clientSilence < options.heartbeatMs) return [];
    return deliver('tick', current, phase === 'sending_body' ? KEEPALIVE : answer.start(), 'open');
  }

  return {
    handle(event, request) {
      checkEvent(responseMoves, phase, event.type);
      heard.touch();
      if (event.type === 'response_body') upstreamBytes += event.body.length;
      if (event.type === 'response_headers') return onHeaders(event, request);
      if (phase === 'passing' || phase === 'passed') return onPassing(event);
      if (phase === 'ended' || reading === null) return swallow(event, fullDuplex);
      if (event.type === 'response_body') return onBody(event, reading);
      return deliver(event.type, reading, finish(reading), 'trailers');
    },
    tick(at, blocked) {
      if (!fullDuplex || reading === null || phase === 'ended') return [];
      if (!blocked) return onTick(at, reading);
      for (const watch of [heard, spoke, finished]) watch.touch();
      return [];
    },
    phase: () => phase,
    report() {
      const report = reading?.answer.report() ?? nothingToReport;
      const error = refusal ?? report.error;
      return { ...report, error, upstreamStatus, clientStatus, upstreamBytes, clientBytes };
    },
  };
}

function joined(first: Buffer, second: Buffer): Buffer {
  if (first.length === 0) return second;
  return second.length === 0 ? first : Buffer.concat([first, second]);
}

function unknownCoding(headers: HeaderMap): ApiError {
  return invalidAnswer(`The upstream’s answer has the unknown encoding ${headers.get('content-encoding')}.`);
}
