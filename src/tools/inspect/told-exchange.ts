import {
  bodyOf,
  type ExchangeFile,
  type ExchangeFileRequest,
  exchangeFileHead,
} from '../../filter/wire/schema/exchange-file.ts';
import { endpointOf } from './endpoint.ts';
import { contentJson, jsonFields, jsonObject, piecesJson } from './exchange-json.ts';
import { roundMs } from './piece-log.ts';
import { type BodyName, maxClientLength } from './recording.ts';
import type { StoredExchange } from './store.ts';

/** One line of the list, as JSON. */
export interface ExchangeRow {
  readonly id: number;
  /** Unix milliseconds. */
  readonly started_at: number;
  readonly worker: number | null;
  readonly client: string | null;
  readonly request_id: string | null;
  readonly method: string | null;
  readonly path: string | null;
  /** As `endpointOf` has it. */
  readonly endpoint: string | null;
  readonly profile: string;
  readonly model: string | null;
  readonly stream: boolean | null;
  /** `running` until it has ended. */
  readonly outcome: string;
  readonly status: number | null;
  readonly error_code: string | null;
  readonly input_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly output_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly finish_reason: string | null;
  readonly dropped: number;
  /** Pieces received from the upstream, and sent to the client. */
  readonly pieces: readonly [number, number];
  readonly first_event_ms: number | null;
  readonly duration_ms: number | null;
  readonly tokens_per_second: number | null;
  /** How many bytes were not kept. */
  readonly omitted_bytes: number;
}

/** One exchange whole, as JSON. */
export interface ExchangeDetail {
  readonly row: ExchangeRow;
  readonly file: ExchangeFile;
  /** Bytes of each body that were not kept, because the exchange is too long. */
  readonly omitted: Readonly<Record<BodyName, number>>;
}

/** The exchange as a line of the list. */
export function rowOf(exchange: StoredExchange): ExchangeRow {
  const { known: facts, log } = exchange;
  const request = exchange.headOf('client_request');
  const first = log.firstMs('client_response');
  return {
    id: exchange.id,
    started_at: exchange.startedAt,
    worker: exchange.worker,
    client: facts.client ?? clientOf(request),
    request_id: facts.requestId,
    method: request?.get(':method') ?? null,
    path: request?.get(':path') ?? null,
    endpoint: request === undefined ? null : endpointOf(request.get(':method') ?? '', request.get(':path') ?? ''),
    profile: facts.profile,
    model: facts.model,
    stream: facts.stream,
    outcome: facts.outcome ?? 'running',
    status: facts.status ?? statusOf(exchange.headOf('client_response')),
    error_code: facts.errorCode,
    input_tokens: facts.tokens?.input_tokens ?? null,
    cached_tokens: facts.tokens?.cached_tokens ?? null,
    output_tokens: facts.tokens?.output_tokens ?? null,
    reasoning_tokens: facts.tokens?.reasoning_tokens ?? null,
    finish_reason: facts.finishReason,
    dropped: facts.dropped.length,
    pieces: [log.count('chat_response'), log.count('client_response')],
    first_event_ms: first === null ? null : roundMs(first),
    duration_ms: facts.durationMs === null ? null : roundMs(facts.durationMs),
    tokens_per_second: tokensPerSecond(exchange),
    omitted_bytes: Object.values(exchange.notKept()).reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** The exchange with the client's request alone, from which everything else can be derived. */
export function requestFileOf(exchange: StoredExchange): ExchangeFile {
  const client_request = requestOf(exchange, 'client_request', true) ?? noRequest;
  return { ...fileOf(exchange, false), client_request, chat_request: null, chat_response: null, client_response: null };
}

/** The exchange whole. */
export function detailOf(exchange: StoredExchange): ExchangeDetail {
  return { row: rowOf(exchange), file: fileOf(exchange), omitted: exchange.notKept() };
}

/**
 * The same as JSON with `more` fields, made while it is read, so that a slow reader holds none of it. Stops in the middle
 * and returns false if the exchange is evicted meanwhile.
 */
export function* detailJson(exchange: StoredExchange, more: object = {}): Generator<string, boolean> {
  const { client_request, chat_request, chat_response, client_response, ...file } = fileOf(exchange, false);
  const texts = jsonObject({
    row: [JSON.stringify(rowOf(exchange))],
    omitted: [JSON.stringify(exchange.notKept())],
    ...jsonFields(more),
    file: jsonObject({
      ...jsonFields(file),
      client_request: requestJson(exchange, 'client_request', client_request),
      chat_request: requestJson(exchange, 'chat_request', chat_request),
      chat_response: responseJson(exchange, 'chat_response', chat_response),
      client_response: responseJson(exchange, 'client_response', client_response),
    }),
  });
  return yield* whileKept(exchange, texts);
}

/** The pieces of both answers from these on, as JSON, made while it is read, as `detailJson` is. */
export function* newPiecesJson(
  exchange: StoredExchange,
  upstream: number,
  client: number,
  more: object,
): Generator<string, boolean> {
  const { log } = exchange;
  const texts = jsonObject({
    row: [JSON.stringify(rowOf(exchange))],
    chat_response: piecesJson(log, 'chat_response', upstream, log.count('chat_response')),
    client_response: piecesJson(log, 'client_response', client, log.count('client_response')),
    ...jsonFields(more),
  });
  return yield* whileKept(exchange, texts);
}

function* whileKept(exchange: StoredExchange, texts: Generator<string>): Generator<string, boolean> {
  while (!exchange.isDiscarded) {
    const next = texts.next();
    if (next.done === true) return true;
    yield next.value;
  }
  return false;
}

function requestJson({ log }: StoredExchange, body: BodyName, request: ExchangeFileRequest | null): Iterable<string> {
  if (request === null || request === noRequest) return [JSON.stringify(request)];
  const { method, path, headers } = request;
  const places = [...log.places(body, 0)];
  return jsonObject({ ...jsonFields({ method, path, headers }), ...contentJson(log, places, 'body') });
}

function responseJson(
  { log }: StoredExchange,
  body: BodyName,
  response: ExchangeFile['chat_response'],
): Iterable<string> {
  if (response === null) return ['null'];
  const { pieces: _pieces, ...head } = response;
  return jsonObject({ ...jsonFields(head), pieces: piecesJson(log, body, 0, log.count(body)) });
}

function fileOf(exchange: StoredExchange, withBodies = true): ExchangeFile {
  const { profile, dropped, outcome, errorCode, cause } = exchange.known;
  return {
    ...exchangeFileHead,
    profile,
    started_at: new Date(exchange.startedAt).toISOString(),
    client_request: requestOf(exchange, 'client_request', withBodies) ?? noRequest,
    chat_request: requestOf(exchange, 'chat_request', withBodies),
    chat_response: responseOf(exchange, 'chat_response', withBodies),
    client_response: responseOf(exchange, 'client_response', withBodies),
    dropped: [...dropped],
    outcome: outcome ?? 'running',
    error: errorCode === null && cause === null ? null : { code: errorCode, cause },
  };
}

function requestOf(exchange: StoredExchange, body: BodyName, withBody: boolean): ExchangeFileRequest | null {
  const head = exchange.headOf(body);
  if (head === undefined) return null;
  return {
    method: head.get(':method') ?? '',
    path: head.get(':path') ?? '',
    headers: headersOf(head),
    ...(withBody ? bodyOf(exchange.log.whole(body)) : { body: '' }),
  };
}

function responseOf(exchange: StoredExchange, body: BodyName, withPieces: boolean): ExchangeFile['chat_response'] {
  const head = exchange.headOf(body);
  if (head === undefined) return null;
  return {
    status: statusOf(head) ?? 200,
    headers: headersOf(head),
    pieces: withPieces ? exchange.log.piecesFrom(body, 0) : [],
  };
}

/** For a stream: the time from its first delta to the upstream's last piece. */
function tokensPerSecond({ known, log }: StoredExchange): number | null {
  const { tokens, firstTokenMs, stream } = known;
  const count = tokens?.output_tokens ?? 0;
  const last = log.lastMs('chat_response');
  if (stream !== true || count < 2 || firstTokenMs === null || last === null) return null;
  return last <= firstTokenMs ? null : Math.round(((count - 1) / (last - firstTokenMs)) * 10_000) / 10;
}

function statusOf(head: ReadonlyMap<string, string> | undefined): number | null {
  const status = head?.get(':status');
  return status === undefined ? null : Number(status);
}

/** Known before the facts, which are complete at the end of the request. */
function clientOf(head: ReadonlyMap<string, string> | undefined): string | null {
  return head?.get('user-agent')?.slice(0, maxClientLength) ?? null;
}

/** All headers except the pseudo headers. */
function headersOf(head: ReadonlyMap<string, string>): { name: string; value: string }[] {
  return [...head].filter(([name]) => !name.startsWith(':')).map(([name, value]) => ({ name, value }));
}

const noRequest: ExchangeFileRequest = { method: '', path: '', headers: [], body: '' };
