import { ApiError } from '../schema/api-error.ts';
import { KEEPALIVE } from '../sse/encode.ts';
import type { ResponseContext } from '../translate/context.ts';
import { translateError } from '../translate/error.ts';
import { type Answer, type AnswerLimits, type AnswerReport, nothingToReport } from './answer.ts';
import { answerHeaders, errorHeaders, keptHeaders } from './answer-headers.ts';
import { createAnswer } from './choose-answer.ts';
import { type ContentDecoder, createContentDecoder } from './content-coding.ts';
import { immediateResponse } from './immediate-response.ts';
import { headerHoldOf } from './modes.ts';
import { passOn, swallow } from './pass.ts';
import { checkEvent, checkMove, type ResponsePhase, responseMoves } from './phases.ts';
import { cutBytes, cutEvents } from './pieces.ts';
import type { BodyMode, ExchangeReply, HeaderMap, HeaderMutation, ResponseEvent } from './types.ts';
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
  readonly finishGraceMs: number;
}

export interface ResponseLeg {
  /** What Envoy is told for that event: nothing while headers wait, several replies when a body leaves in pieces. */
  handle(event: ResponseEvent, request: RequestOutcome): ExchangeReply[];
  /** Time passes; `at` in milliseconds of any clock that only grows. */
  tick(at: number): ExchangeReply[];
  readonly phase: ResponsePhase;
  readonly report: ResponseLegReport;
}

export interface ResponseLegReport extends AnswerReport {
  readonly upstreamStatus: number | null;
  /** The status the client was sent; null until then. */
  readonly clientStatus: number | null;
  /** Bytes of the upstream's body, as they came. */
  readonly upstreamBytes: number;
  readonly clientBytes: number;
}

/** Where the upstream's body stands after this event. */
type End = 'open' | 'body' | 'trailers';

/** What is known from the headers on, while the answer is ours to write. */
interface Reading {
  readonly answer: Answer;
  readonly decoder: ContentDecoder;
  readonly headers: HeaderMap;
  readonly status: number;
  readonly stream: boolean;
  readonly dropped: readonly string[];
}

const noBytes = Buffer.alloc(0);

/** The leg that carries the upstream's answer to the client, in whatever body mode is in force. */
export function createResponseLeg(options: ResponseLegOptions, requestId: () => string | null): ResponseLeg {
  const hold = headerHoldOf(options.mode);
  let phase: ResponsePhase = 'awaiting_headers';
  let reading: Reading | null = null;
  let refusal: ApiError | null = null;
  let upstreamStatus: number | null = null;
  let clientStatus: number | null = null;
  let upstreamBytes = 0;
  let clientBytes = 0;
  // Set by every event and read by the next tick: no clock is read for a chunk.
  let heard = true;
  let spoke = true;
  let heardAt = 0;
  let spokeAt = 0;
  let finishedAt: number | null = null;

  function move(event: ResponseEvent['type'] | 'tick', to: ResponsePhase): void {
    checkMove(responseMoves, phase, event, to);
    phase = to;
  }

  function onHeaders(
    event: Extract<ResponseEvent, { type: 'response_headers' }>,
    request: RequestOutcome,
  ): ExchangeReply[] {
    const { headers, endOfStream } = event;
    const status = Number(headers.get(':status') ?? 0);
    upstreamStatus = status;
    clientStatus = status;
    if (request.type === 'passed' || (endOfStream && (status === 204 || status === 304))) {
      move(event.type, endOfStream ? 'passed' : 'passing');
      return [{ type: 'response_headers' }];
    }
    const contentType = headers.get('content-type') ?? null;
    const retryAfter = headers.get('retry-after') ?? null;
    const bodyless = (): ApiError => translateError({ status, contentType, body: '', retryAfter });
    if (endOfStream)
      return refuse(event.type, status < 300 ? invalidAnswer('The upstream’s answer is empty.') : bodyless(), headers);
    const decoder = createContentDecoder(headers.get('content-encoding') ?? '');
    if (decoder === null) return refuse(event.type, status < 300 ? unknownCoding(headers) : bodyless(), headers);

    const context = request.type === 'translated' ? request.context : null;
    const committed = hold === 'gone';
    const { limits } = options;
    const stream = context?.stream ?? false;
    const answer = createAnswer({ status, contentType, retryAfter, context, committed, limits });
    reading = {
      answer,
      decoder,
      headers,
      status,
      stream,
      dropped: request.type === 'translated' ? request.dropped : [],
    };
    move(event.type, committed ? 'sending_body' : 'holding_headers');
    if (hold === 'withheld') return [];
    if (hold === 'with_body') return [{ type: 'response_headers' }];
    // The headers leave now: what the status alone tells of an error is all there is.
    if (committed && status >= 300) return [{ type: 'response_headers', headers: refusedHeaders(bodyless(), null) }];
    return [{ type: 'response_headers', headers: acceptedHeaders(reading, null) }];
  }

  function onPassing(event: Exclude<ResponseEvent, { type: 'response_headers' }>): ExchangeReply[] {
    const fullDuplex = hold === 'withheld';
    const isMore = phase === 'passing' || event.type === 'response_trailers';
    if (event.type === 'response_body') clientBytes += event.body.length;
    const over = phase === 'passed' || event.type === 'response_trailers' || event.endOfStream;
    move(event.type, over ? 'passed' : 'passing');
    return isMore ? passOn(event, fullDuplex) : swallow(event, fullDuplex);
  }

  function onBody(
    { type, body, endOfStream }: Extract<ResponseEvent, { type: 'response_body' }>,
    current: Reading,
  ): ExchangeReply[] {
    const { answer } = current;
    if (hold === 'refusable' && !endOfStream) return refuse(type, partialAnswer(), current.headers);
    const end: End = endOfStream || hold === 'with_body' ? 'body' : 'open';
    const out = decoded(current, body);
    return deliver(type, current, end === 'open' || answer.complete ? out : joined(out, answer.end()), end);
  }

  function decoded({ decoder, answer }: Reading, body: Uint8Array): Buffer {
    if (answer.complete) return noBytes;
    let plain: Buffer;
    try {
      plain = decoder.push(body);
    } catch (cause) {
      return answer.fail(invalidAnswer('The upstream’s answer cannot be decompressed.', cause));
    }
    const out = answer.push(plain);
    const overload = options.hold(answer.held);
    return overload === null ? out : joined(out, answer.fail(overload));
  }

  /** Sends what the answer gave, in the way the mode in force allows. */
  function deliver(event: ResponseEvent['type'] | 'tick', current: Reading, out: Buffer, end: End): ExchangeReply[] {
    const { verdict } = current.answer;
    if (verdict instanceof ApiError) return deliverError(event, verdict, end);
    clientBytes += out.length;
    if (out.length > 0) spoke = true;
    switch (hold) {
      case 'withheld': {
        if (verdict === null) return [];
        const held = phase === 'holding_headers';
        const replies: ExchangeReply[] = held
          ? [{ type: 'response_headers', headers: acceptedHeaders(current, null) }]
          : [];
        const pieces = current.stream ? cutEvents(out) : cutBytes(out);
        if (end === 'body' && pieces.length === 0) pieces.push(noBytes);
        for (const body of pieces)
          replies.push({ type: 'response_body', body, endOfStream: end === 'body' && body === pieces.at(-1) });
        if (end === 'trailers') replies.push({ type: 'response_trailers' });
        move(event, end === 'open' ? 'sending_body' : 'ended');
        return replies;
      }
      case 'with_body':
      case 'refusable': {
        move(event, 'ended');
        // The body's message was all there is to answer; without one there is nowhere to put a body.
        if (end === 'trailers') return [immediate(invalidAnswer('The upstream’s answer is empty.'), current.headers)];
        const headers = hold === 'with_body' ? { headers: acceptedHeaders(current, out.length) } : {};
        return [{ type: 'response_body', body: out, ...headers, endOfStream: true }];
      }
      case 'gone': {
        move(event, end === 'open' ? 'sending_body' : 'ended');
        if (end === 'trailers') return [{ type: 'response_trailers' }];
        return [{ type: 'response_body', body: out, endOfStream: end === 'body' }];
      }
    }
  }

  /** An error while the headers are held. The upstream's own headers stay where the body can be replaced as a whole. */
  function deliverError(event: ResponseEvent['type'] | 'tick', error: ApiError, end: End): ExchangeReply[] {
    if (end === 'open' || hold === 'refusable' || (hold === 'with_body' && end === 'trailers'))
      return refuse(event, error, reading?.headers ?? new Map());
    move(event, 'ended');
    refusal = error;
    clientStatus = error.status;
    const body = Buffer.from(error.toJson());
    clientBytes += body.length;
    if (hold === 'with_body')
      return [{ type: 'response_body', body, headers: refusedHeaders(error, body.length), endOfStream: true }];
    const replies: ExchangeReply[] = [{ type: 'response_headers', headers: refusedHeaders(error, null) }];
    const pieces = cutBytes(body);
    for (const [index, piece] of pieces.entries())
      replies.push({ type: 'response_body', body: piece, endOfStream: end === 'body' && index === pieces.length - 1 });
    if (end === 'trailers') replies.push({ type: 'response_trailers' });
    return replies;
  }

  function refuse(event: ResponseEvent['type'] | 'tick', error: ApiError, headers: HeaderMap): ExchangeReply[] {
    move(event, 'ended');
    return [immediate(error, headers)];
  }

  function immediate(error: ApiError, headers: HeaderMap): ExchangeReply {
    refusal = error;
    clientStatus = error.status;
    const reply = immediateResponse(error, { ...keptHeaders(headers), ...ids() });
    clientBytes += reply.body.length;
    return reply;
  }

  function ids(): Record<string, string> {
    const id = requestId();
    return id === null ? {} : { 'x-request-id': id };
  }

  function acceptedHeaders({ headers, stream, dropped }: Reading, contentLength: number | null): HeaderMutation {
    return answerHeaders(headers, { stream, dropped, contentLength, requestId: requestId() });
  }

  function refusedHeaders(error: ApiError, contentLength: number | null): HeaderMutation {
    return errorHeaders(reading?.headers ?? new Map(), { error, contentLength, requestId: requestId() });
  }

  /** Bytes that nobody asked for: only full duplex takes them. */
  function speak(out: Buffer, over: boolean): ExchangeReply[] {
    return reading === null ? [] : deliver('tick', reading, out, over ? 'body' : 'open');
  }

  return {
    handle(event, request) {
      checkEvent(responseMoves, phase, event.type);
      heard = true;
      if (event.type === 'response_body') upstreamBytes += event.body.length;
      if (event.type === 'response_headers') return onHeaders(event, request);
      if (phase === 'passing' || phase === 'passed') return onPassing(event);
      if (phase === 'ended' || reading === null) return swallow(event, hold === 'withheld');
      if (event.type === 'response_body') return onBody(event, reading);
      const { answer } = reading;
      return deliver(event.type, reading, answer.complete ? noBytes : answer.end(), 'trailers');
    },
    tick(at) {
      if (heard) heardAt = at;
      if (spoke) spokeAt = at;
      heard = false;
      spoke = false;
      if (hold !== 'withheld' || reading === null || phase === 'ended') return [];
      const { answer, stream } = reading;
      if (answer.complete || answer.finishing) finishedAt ??= at;
      if (finishedAt !== null && at - finishedAt >= options.finishGraceMs)
        return speak(answer.complete ? noBytes : answer.end(), true);
      if (options.stallTimeoutMs > 0 && at - heardAt >= options.stallTimeoutMs) {
        const out = answer.fail(stalled(options.stallTimeoutMs));
        return answer.verdict instanceof ApiError ? refuse('tick', answer.verdict, reading.headers) : speak(out, true);
      }
      const quiet = stream && phase === 'sending_body' && !answer.complete;
      if (quiet && options.heartbeatMs > 0 && at - spokeAt >= options.heartbeatMs) return speak(KEEPALIVE, false);
      return [];
    },
    get phase() {
      return phase;
    },
    get report() {
      const report = reading?.answer.report ?? nothingToReport;
      return {
        ...report,
        error: refusal ?? report.error,
        upstreamStatus,
        clientStatus,
        upstreamBytes,
        clientBytes,
      };
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
