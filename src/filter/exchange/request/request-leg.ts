import { GrowingBytes } from '../../../formats/bytes/growing-bytes.ts';
import { objectOf } from '../../../formats/json/loose.ts';
import { responses } from '../../translate/operations/responses.ts';
import type { TranslatedOperation } from '../../translate/request-to-chat/translated-operation.ts';
import { bytesOfKept, bytesOfValue, readWord } from '../../translate/shared/held-bytes.ts';
import { checkMove } from '../../translate/shared/moves.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';
import { keepLarge } from '../kept-echo.ts';
import type { ExchangeOptions } from '../options.ts';
import { checkEvent, type RequestOutcome, type RequestPhase, requestMoves } from '../phases.ts';
import { cutBytes, discard, immediateAnswer, immediateResponse, passThrough } from '../replies.ts';
import { translatedTrailers } from '../response-headers.ts';
import type {
  Attributes,
  BodyMode,
  BodyModes,
  ExchangeReply,
  HeaderMap,
  RequestEvent,
  Schedule,
  Steps,
} from '../types.ts';
import { largeBodyBytes, type PreparedRequest, prepareRequest, queuedBodyBytes } from './prepare-request.ts';
import {
  type HeaderFacts,
  readHeaderFacts,
  readLength,
  readRequestAttributes,
  sessionHeaders,
  upstreamHeaders,
  wholeAndPlain,
} from './request-headers.ts';
import { chooseRoute, pathNeedsModel, type RequestPath, upstreamPath } from './route.ts';

export interface RequestLegReport {
  readonly facts: HeaderFacts;
  /** Fields of the body, also of a refused request; null if absent or invalid. */
  readonly asked: { readonly model: string | null; readonly stream: boolean | null };
  readonly error: ApiError | null;
  readonly clientBytes: number;
  readonly upstreamBytes: number;
}

type BodyEvent = Extract<RequestEvent, { type: 'request_body' }>;

const noBytes = Buffer.alloc(0);
/** What an exchange keeps of a smaller request is not counted, since it is no more than any exchange has. */
const uncountedBodyBytes = 4 * 1024;

export class RequestLeg {
  readonly #options: ExchangeOptions;
  readonly #mode: BodyMode;
  #template = '';
  #phase: RequestPhase = 'awaiting_headers';
  outcome: RequestOutcome = { type: 'unseen' };
  /** The client's headers until the request is translated, since a response may take long; `#facts` keeps some for the log. */
  #headers: HeaderMap = noHeaders;
  #facts: HeaderFacts | null = null;
  #path: RequestPath = noPath;
  #operation: TranslatedOperation = responses;
  #body: GrowingBytes | null = null;
  #announcedBytes = 0;
  #clientBytes = 0;
  #upstreamBytes = 0;
  #error: ApiError | null = null;
  #asked: RequestLegReport['asked'] = { model: null, stream: null };

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#mode = options.modes.request;
  }

  /** Returns the replies to one message, or the steps to them if it completes a body. `refusal` is asked first. Throws `ProtocolError`. */
  handle(event: RequestEvent, refusal?: () => ApiError | null): ExchangeReply[] | Steps<ExchangeReply[]> {
    checkEvent(requestMoves, this.#phase, event.type);
    try {
      throwIfAny(refusal?.() ?? null);
      return this.#handle(event);
    } catch (thrown) {
      return this.#refuse(event.type, ApiError.from(thrown));
    }
  }

  /** Chooses by the size of the body that this message completes: all of it is translated then. */
  chooseSchedule(event: RequestEvent): Schedule {
    if (this.#phase !== 'collecting_body' || event.type === 'request_headers') return 'at_once';
    if (event.type === 'request_body' && !event.endOfStream && this.#mode !== 'BUFFERED') return 'at_once';
    const bytes = this.#clientBytes + (event.type === 'request_body' ? event.body.length : 0);
    if (bytes > largeBodyBytes || this.#headers.has('content-encoding')) return 'in_steps';
    return bytes > queuedBodyBytes ? 'queued_once' : 'at_once';
  }

  /** Notes the facts of a request that another filter has answered: its headers never come. */
  onAnswered(attributes: Attributes): void {
    if (this.#phase === 'awaiting_headers') this.#facts = readHeaderFacts(readRequestAttributes(attributes));
  }

  report(): RequestLegReport {
    return {
      facts: this.#facts ?? readHeaderFacts(this.#headers),
      asked: this.#asked,
      error: this.#error,
      clientBytes: this.#clientBytes,
      upstreamBytes: this.#upstreamBytes,
    };
  }

  #handle(event: RequestEvent): ExchangeReply[] | Steps<ExchangeReply[]> {
    switch (this.#phase) {
      case 'awaiting_headers':
        return event.type === 'request_headers' ? this.#onHeaders(event) : [];
      case 'collecting_body':
        return event.type === 'request_body' ? this.#onBody(event) : this.#onTrailers();
      case 'translated':
        if (event.type === 'request_trailers') return [translatedTrailers(event.type)];
        return event.type === 'request_body' ? discard(event, this.#mode === 'FULL_DUPLEX_STREAMED') : [];
      case 'passing':
      case 'passed':
        return event.type === 'request_headers' ? [] : this.#onPassing(event);
      case 'answered':
      case 'refused':
        return [];
    }
  }

  #move(event: RequestEvent['type'], to: RequestPhase): void {
    checkMove(requestMoves, this.#phase, event, to);
    this.#phase = to;
  }

  #onHeaders({ type, headers, endOfStream }: Extract<RequestEvent, { type: 'request_headers' }>): ExchangeReply[] {
    this.#headers = headers;
    this.outcome = open;
    const route = chooseRoute(headers);
    if (route.type === 'refuse') throw route.error;
    if (route.type === 'pass') {
      if (route.withoutBody && !endOfStream) {
        const message = 'An OPTIONS request cannot have a body here. Leave the body out.';
        throw ApiError.invalidRequest('unexpected_body', null, message);
      }
      this.outcome = { type: 'passed', operation: route.operation };
      this.#move(type, endOfStream ? 'passed' : 'passing');
      return [{ type, ...(route.operation !== null && { headers: wholeAndPlain(headers) }) }];
    }
    const { settings, modes, refusal, upstreamPath: chatPath } = this.#options;
    this.#template = route.operation.upstreamPath(settings.profile, chatPath ?? settings.profile.path);
    throwIfAny(refusal);
    checkModes(modes, this.#template);
    this.#announcedBytes = readLength(headers);
    this.#checkSize(this.#announcedBytes);
    if (endOfStream)
      throw ApiError.invalidRequest('missing_body', null, 'The request has no body. Send one JSON object.');
    throwIfAny(this.#options.hold(this.#announcedBytes, this.#announcedBytes));
    this.#path = route.path;
    this.#operation = route.operation;
    this.#move(type, 'collecting_body');
    switch (this.#mode) {
      case 'FULL_DUPLEX_STREAMED':
        return [];
      case 'BUFFERED':
        return [{ type }];
      case 'BUFFERED_PARTIAL':
      case 'STREAMED':
      case 'NONE': {
        const path = upstreamPath(this.#template, this.#path, '');
        const accept = 'application/json, text/event-stream';
        return [{ type, headers: upstreamHeaders(headers, { path, accept, contentLength: null }) }];
      }
    }
  }

  #onBody({ type, body, endOfStream }: BodyEvent): ExchangeReply[] | Steps<ExchangeReply[]> {
    this.#clientBytes += body.length;
    this.#checkSize(this.#clientBytes);
    if (this.#mode === 'BUFFERED_PARTIAL' && !endOfStream)
      throw ApiError.requestTooLarge(
        "The request body is larger than the proxy’s buffer (request body mode BUFFERED_PARTIAL). Shorten 'input', or send fewer files.",
      );
    const bytes = Math.max(this.#announcedBytes, this.#clientBytes);
    throwIfAny(this.#options.hold(bytes, bytes));
    const isLast = endOfStream || this.#mode === 'BUFFERED';
    if (isLast && this.#body === null) return this.#translate(type, body);
    this.#body ??= new GrowingBytes();
    this.#body.append(body);
    if (isLast) return this.#translate(type, this.#body.whole());
    this.#move(type, 'collecting_body');
    // The bytes are buffered until the body is complete.
    return this.#mode === 'STREAMED' ? [{ type, body: noBytes, endOfStream: false }] : [];
  }

  *#translate(event: 'request_body' | 'request_trailers', bytes: Uint8Array): Steps<ExchangeReply[]> {
    try {
      const prepared = yield* prepareRequest(this.#operation, this.#headers, bytes, this.#options, (body) => {
        this.#asked = readAsked(body);
      });
      return this.#send(event, prepared);
    } catch (thrown) {
      return this.#refuse(event, ApiError.from(thrown));
    }
  }

  #send(event: 'request_body' | 'request_trailers', prepared: PreparedRequest): ExchangeReply[] {
    const path = upstreamPath(this.#template, this.#path, prepared.model);
    const { body, context, dropped, unknownTypes, sessionHash, inputTokens } = prepared;
    if (!context.answer.asksUpstream) return this.#answer(event, prepared);
    this.#release();
    const { hold, sessionHeader } = this.#options;
    const found = context.foundTools.size === 0 ? 0 : bytesOfValue([...context.foundTools.values()]);
    // What a small body leaves on the heap is not worth the 3 µs of counting its values.
    const isSmall = this.#clientBytes < uncountedBodyBytes && !this.#headers.has('content-encoding');
    const kept = isSmall ? null : keepLarge(context.echo);
    // Texts that the response repeats, and names that it is read by, stay in memory until it has ended.
    const { toolNames, restoredTools, earlierCallIds, allowedTools } = context;
    const names = [toolNames, restoredTools, earlierCallIds, allowedTools];
    hold((kept === null ? 0 : kept.bytes + bytesOfKept(...names, [dropped, unknownTypes])) + found);
    const answered = kept === null ? context : { ...context, echo: kept.echo, requestBytes: body.length };
    this.outcome = { type: 'translated', context: answered, dropped, unknownTypes, inputTokens };
    this.#upstreamBytes = body.length;
    this.#move(event, 'translated');
    const accept = context.stream ? 'text/event-stream' : 'application/json';
    const session = sessionHeaders(sessionHeader, sessionHash ?? context.echo.prompt_cache_key);
    const contentLength = this.#mode === 'BUFFERED' ? body.length : null;
    const headers = upstreamHeaders(this.#headers, { path, accept, contentLength, session });
    this.#facts = readHeaderFacts(this.#headers);
    this.#headers = noHeaders;
    switch (this.#mode) {
      case 'FULL_DUPLEX_STREAMED': {
        const pieces = cutBytes(body);
        const last = event === 'request_body' ? pieces.length - 1 : -1;
        const replies = pieces.map(
          (piece, at): ExchangeReply => ({ type: 'request_body', body: piece, endOfStream: at === last }),
        );
        const trailers = event === 'request_trailers' ? [translatedTrailers(event)] : [];
        return [{ type: 'request_headers', headers }, ...replies, ...trailers];
      }
      case 'BUFFERED':
        return [{ type: 'request_body', body, headers, endOfStream: true }];
      case 'BUFFERED_PARTIAL':
      case 'STREAMED':
      case 'NONE':
        return [{ type: 'request_body', body, endOfStream: true }];
    }
  }

  #onTrailers(): Steps<ExchangeReply[]> {
    if (this.#mode === 'FULL_DUPLEX_STREAMED')
      return this.#translate('request_trailers', this.#body?.whole() ?? noBytes);
    // Each message of the body has its reply already, so no message is left to carry the translated body.
    const { request } = this.#options.modes;
    const message = `A request with trailers cannot be translated in the request body mode ${request}. Send the request without trailers.`;
    throw ApiError.invalidRequest('unsupported_trailers', null, message);
  }

  #onPassing(event: Exclude<RequestEvent, { type: 'request_headers' }>): ExchangeReply[] {
    const fullDuplex = this.#mode === 'FULL_DUPLEX_STREAMED';
    const isMore = this.#phase === 'passing' || event.type === 'request_trailers';
    if (event.type === 'request_body') this.#clientBytes += event.body.length;
    this.#upstreamBytes = this.#clientBytes;
    const over = this.#phase === 'passed' || event.type === 'request_trailers' || event.endOfStream;
    this.#move(event.type, over ? 'passed' : 'passing');
    return isMore ? passThrough(event, fullDuplex) : discard(event, fullDuplex);
  }

  #answer(event: RequestEvent['type'], { context, dropped, unknownTypes }: PreparedRequest): ExchangeReply[] {
    const answer = immediateAnswer(context, { dropped, requestId: this.#headers.get('x-request-id') ?? null });
    this.#release();
    this.outcome = { type: 'answered', context, dropped, unknownTypes, inputTokens: null };
    this.#move(event, 'answered');
    return [answer];
  }

  #release(): void {
    this.#body = null;
    this.#options.hold(0);
  }

  #refuse(event: RequestEvent['type'], refusal: ApiError): ExchangeReply[] {
    this.#move(event, 'refused');
    this.#release();
    this.#error = refusal;
    const id = this.#headers.get('x-request-id');
    return [immediateResponse(refusal, id === undefined ? {} : { 'x-request-id': id })];
  }

  #checkSize(bytes: number): void {
    const { maxRequestBytes } = this.#options.bodyLimits;
    if (bytes <= maxRequestBytes) return;
    throw ApiError.requestTooLarge(
      `The request body is larger than ${maxRequestBytes} bytes. Shorten 'input', or send fewer files.`,
    );
  }
}

const open: RequestOutcome = { type: 'open' };
const noHeaders: HeaderMap = new Map();
const noPath: RequestPath = { prefix: '', apiVersion: '' };

function readAsked(body: unknown): RequestLegReport['asked'] {
  const { model, stream } = objectOf<Loose<'model' | 'stream'>>(body) ?? {};
  return {
    model: typeof model === 'string' ? readWord(model) : null,
    stream: typeof stream === 'boolean' ? stream : null,
  };
}

function throwIfAny(error: ApiError | null): void {
  if (error !== null) throw error;
}

function checkModes({ request, response }: BodyModes, template: string): void {
  const unfit = (why: string) => ApiError.misconfigured(`The proxy is not configured for translation: ${why}.`);
  if (request === 'NONE') throw unfit('the request body mode is NONE');
  if (response === 'NONE') throw unfit('the response body mode is NONE');
  const headersFirst = request === 'STREAMED' || request === 'BUFFERED_PARTIAL';
  if (headersFirst && pathNeedsModel(template))
    throw unfit(`the upstream's path contains the model, which is known too late in request body mode ${request}`);
}
