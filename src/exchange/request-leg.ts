import { ApiError } from '../schema/api-error.ts';
import type { NewId } from '../translate/context.ts';
import type { TranslationSettings } from '../translate/settings.ts';
import { immediateResponse } from './immediate-response.ts';
import { headerHoldOf } from './modes.ts';
import { passOn, swallow } from './pass.ts';
import { checkEvent, checkMove, type RequestPhase, requestMoves } from './phases.ts';
import { cutBytes, keepable } from './pieces.ts';
import { type PreparedRequest, prepareRequest } from './prepare-request.ts';
import type { RequestOutcome } from './response-leg.ts';
import { pathNeedsModel, type RequestPath, routeOf, upstreamPath } from './route.ts';
import { digestFields, translatedTrailers } from './trailers.ts';
import type { BodyModes, ExchangeReply, HeaderMap, HeaderMutation, RequestEvent } from './types.ts';

export interface RequestLegOptions {
  readonly modes: BodyModes;
  readonly settings: TranslationSettings;
  readonly maxRequestBytes: number;
  /** Template of the upstream's path; null takes the profile's. */
  readonly upstreamPath: string | null;
  /** Refuses what would be translated. */
  readonly refusal: ApiError | null;
  /** Told how many bytes are kept; an error turns the exchange away. */
  readonly hold: (bytes: number) => ApiError | null;
  readonly clock: { now(): number; readonly newId: NewId };
}

export interface RequestLeg {
  handle(event: RequestEvent): ExchangeReply[];
  phase(): RequestPhase;
  /** What the response leg goes by. */
  outcome(): RequestOutcome;
  report(): RequestLegReport;
}

export interface RequestLegReport {
  readonly requestId: string | null;
  readonly method: string;
  /** Without the query, which is the client's. */
  readonly path: string;
  /** The refusal, if it was refused. */
  readonly error: ApiError | null;
  readonly clientBytes: number;
  readonly upstreamBytes: number;
}

const noBytes = Buffer.alloc(0);

/** Headers that tell of the client's bytes, which are not the ones sent on. */
const untrue = ['content-encoding', 'expect', ...digestFields];

/** The leg that carries the client's request to the upstream, in whatever body mode is in force. */
export function createRequestLeg(options: RequestLegOptions): RequestLeg {
  const { modes, settings, clock } = options;
  const hold = headerHoldOf(modes.request);
  const template = options.upstreamPath ?? settings.profile.path;
  let phase: RequestPhase = 'awaiting_headers';
  let outcome: RequestOutcome = { type: 'open' };
  let headers: HeaderMap = new Map();
  let path: RequestPath = { prefix: '', apiVersion: '' };
  let pieces: Uint8Array[] = [];
  let announced = 0;
  let clientBytes = 0;
  let upstreamBytes = 0;
  let error: ApiError | null = null;

  function move(event: RequestEvent['type'], to: RequestPhase): void {
    checkMove(requestMoves, phase, event, to);
    phase = to;
  }

  function onHeaders(event: Extract<RequestEvent, { type: 'request_headers' }>): ExchangeReply[] {
    headers = event.headers;
    const route = routeOf(headers);
    if (route.type === 'pass') {
      outcome = { type: 'passed' };
      move(event.type, event.endOfStream ? 'passed' : 'passing');
      return [{ type: 'request_headers' }];
    }
    if (route.type === 'refuse') return refuse(event.type, route.error);
    if (options.refusal !== null) return refuse(event.type, options.refusal);
    const unfit = modeProblem(modes, template);
    if (unfit !== null) return refuse(event.type, misconfigured(unfit));
    announced = lengthOf(headers);
    if (announced > options.maxRequestBytes) return refuse(event.type, tooLarge());
    if (event.endOfStream)
      return refuse(event.type, ApiError.invalidRequest('missing_body', null, 'The request has no body.'));
    const overload = options.hold(announced);
    if (overload !== null) return refuse(event.type, overload);
    path = route.path;
    move(event.type, 'collecting_body');
    switch (hold) {
      case 'withheld':
        return [];
      case 'with_body':
        return [{ type: 'request_headers' }];
      case 'refusable':
      case 'gone':
        return [{ type: 'request_headers', headers: upstreamHeaders('', 'application/json, text/event-stream', null) }];
    }
  }

  function onBody({ type, body, endOfStream }: Extract<RequestEvent, { type: 'request_body' }>): ExchangeReply[] {
    clientBytes += body.length;
    if (clientBytes > options.maxRequestBytes) return refuse(type, tooLarge());
    if (hold === 'refusable' && !endOfStream) return refuse(type, partialBody());
    const overload = options.hold(Math.max(announced, clientBytes));
    if (overload !== null) return refuse(type, overload);
    const isLast = endOfStream || hold === 'with_body';
    pieces.push(isLast ? body : keepable(body));
    if (isLast) return translate(type);
    move(type, 'collecting_body');
    // The bytes stay here until all have come.
    return hold === 'gone' ? [{ type, body: noBytes, endOfStream: false }] : [];
  }

  function translate(event: 'request_body' | 'request_trailers'): ExchangeReply[] {
    let prepared: PreparedRequest;
    try {
      prepared = prepareRequest(pieces, headers, settings, options.maxRequestBytes, clock);
    } catch (thrown) {
      return refuse(event, ApiError.from(thrown));
    }
    pieces = [];
    options.hold(0);
    const { body, context, dropped } = prepared;
    outcome = { type: 'translated', context, dropped };
    upstreamBytes = body.length;
    move(event, 'translated');
    const accept = context.stream ? 'text/event-stream' : 'application/json';
    const model = prepared.model;
    switch (hold) {
      case 'withheld': {
        const inPieces = cutBytes(body);
        const last = event === 'request_body' ? inPieces.length - 1 : -1;
        return [
          { type: 'request_headers', headers: upstreamHeaders(model, accept, null) },
          ...inPieces.map(
            (piece, index): ExchangeReply => ({ type: 'request_body', body: piece, endOfStream: index === last }),
          ),
          ...(event === 'request_trailers' ? [translatedTrailers(event)] : []),
        ];
      }
      case 'with_body':
        return [
          { type: 'request_body', body, headers: upstreamHeaders(model, accept, body.length), endOfStream: true },
        ];
      case 'refusable':
      case 'gone':
        return [{ type: 'request_body', body, endOfStream: true }];
    }
  }

  function onTrailers(): ExchangeReply[] {
    if (hold === 'withheld') return translate('request_trailers');
    // The body's messages are answered; there is none left to carry the translated one.
    return refuse('request_trailers', ApiError.invalidRequest('unsupported_trailers', null, trailersWhere(modes)));
  }

  function onPassing(event: Exclude<RequestEvent, { type: 'request_headers' }>): ExchangeReply[] {
    const fullDuplex = hold === 'withheld';
    const isMore = phase === 'passing' || event.type === 'request_trailers';
    if (event.type === 'request_body') clientBytes += event.body.length;
    upstreamBytes = clientBytes;
    const over = phase === 'passed' || event.type === 'request_trailers' || event.endOfStream;
    move(event.type, over ? 'passed' : 'passing');
    return isMore ? passOn(event, fullDuplex) : swallow(event, fullDuplex);
  }

  function upstreamHeaders(model: string, accept: string, contentLength: number | null): HeaderMutation {
    return {
      set: {
        ':path': upstreamPath(template, path, model),
        'content-type': 'application/json',
        accept,
        // A compressed answer would have to be undone; servers that send one all the same are understood.
        'accept-encoding': 'identity',
        ...(contentLength === null ? {} : { 'content-length': String(contentLength) }),
      },
      remove: [...untrue.filter((name) => headers.has(name)), ...(contentLength === null ? ['content-length'] : [])],
    };
  }

  function refuse(event: RequestEvent['type'], refusal: ApiError): ExchangeReply[] {
    move(event, 'refused');
    pieces = [];
    options.hold(0);
    error = refusal;
    const id = headers.get('x-request-id');
    return [immediateResponse(refusal, id === undefined ? {} : { 'x-request-id': id })];
  }

  function tooLarge(): ApiError {
    return new ApiError(`The request body is larger than ${options.maxRequestBytes} bytes.`, {
      status: 413,
      type: 'invalid_request',
      code: 'request_too_large',
    });
  }

  return {
    handle(event) {
      checkEvent(requestMoves, phase, event.type);
      switch (phase) {
        case 'awaiting_headers':
          return event.type === 'request_headers' ? onHeaders(event) : [];
        case 'collecting_body':
          return event.type === 'request_body' ? onBody(event) : onTrailers();
        case 'translated':
          if (event.type === 'request_trailers') return [translatedTrailers(event.type)];
          return event.type === 'request_body' ? swallow(event, hold === 'withheld') : [];
        case 'passing':
        case 'passed':
          return event.type === 'request_headers' ? [] : onPassing(event);
        case 'refused':
          return [];
      }
    },
    phase() {
      return phase;
    },
    outcome() {
      return outcome;
    },
    report() {
      return {
        requestId: headers.get('x-request-id') ?? null,
        method: headers.get(':method') ?? '',
        path: (headers.get(':path') ?? '').split('?', 1)[0] ?? '',
        error,
        clientBytes,
        upstreamBytes,
      };
    },
  };
}

/** Bytes by `content-length`; 0 where it is missing or no length. */
function lengthOf(headers: HeaderMap): number {
  const text = headers.get('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : 0;
}

/** Why the modes in force cannot carry a translation, or null. */
function modeProblem({ request, response }: BodyModes, template: string): string | null {
  if (request === 'NONE') return 'the request body mode is NONE';
  if (response === 'NONE') return 'the response body mode is NONE';
  const headersFirst = request === 'STREAMED' || request === 'BUFFERED_PARTIAL';
  if (headersFirst && pathNeedsModel(template))
    return `the upstream's path holds the model, which the request body mode ${request} tells too late`;
  return null;
}

function misconfigured(why: string): ApiError {
  return new ApiError(`The proxy is not configured for translation: ${why}.`, {
    status: 500,
    type: 'server_error',
    code: 'proxy_misconfigured',
  });
}

function partialBody(): ApiError {
  return new ApiError('The request body is larger than the proxy’s buffer (request body mode BUFFERED_PARTIAL).', {
    status: 413,
    type: 'invalid_request',
    code: 'request_too_large',
  });
}

function trailersWhere({ request }: BodyModes): string {
  return `A request with trailers cannot be translated in the request body mode ${request}.`;
}
