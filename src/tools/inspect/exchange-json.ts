import { isUtf8 } from 'node:buffer';
import { bodyOf, type ExchangeFile, exchangeFileHead, pieceOf } from '../../filter/wire/schema/exchange-file.ts';
import { endpointOf } from './endpoint.ts';
import type { Head, StoredExchange } from './exchange-store.ts';
import type { BodyName } from './recording.ts';

/** One line of the list, as JSON. */
export interface ExchangeRow {
  readonly id: number;
  /** Unix milliseconds. */
  readonly started_at: number;
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
  /** What was repaired in the answer. */
  readonly repairs: readonly string[];
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

/** Characters shown of the name of the program that sent a request. */
const maxClientLength = 120;

/** The exchange as a line of the list. */
export function rowOf(exchange: StoredExchange): ExchangeRow {
  const { facts, pieces, omitted } = exchange;
  const { tokens } = facts;
  const head = exchange.headOf('client_request');
  const [method, path] = [head?.get(':method') ?? null, head?.get(':path') ?? null];
  return {
    id: exchange.id,
    started_at: exchange.startedAt,
    client: head?.get('user-agent')?.slice(0, maxClientLength) ?? null,
    request_id: facts.requestId,
    method,
    path,
    endpoint: head === undefined ? null : endpointOf(method ?? '', path ?? ''),
    profile: facts.profile,
    model: facts.model,
    stream: facts.stream,
    outcome: facts.outcome ?? 'running',
    status: facts.status ?? statusOf(exchange.headOf('client_response')),
    error_code: facts.errorCode,
    input_tokens: tokens?.input_tokens ?? null,
    cached_tokens: tokens?.cached_tokens ?? null,
    output_tokens: tokens?.output_tokens ?? null,
    reasoning_tokens: tokens?.reasoning_tokens ?? null,
    finish_reason: facts.finishReason,
    dropped: facts.dropped.length,
    repairs: facts.repairs,
    pieces: [pieces.chat_response.length, pieces.client_response.length],
    first_event_ms: rounded(pieces.client_response[0]?.atMs ?? null),
    duration_ms: rounded(facts.durationMs),
    tokens_per_second: tokensPerSecond(exchange),
    omitted_bytes: Object.values(omitted).reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** The exchange file with the client's request alone, from which everything else can be derived. */
export function requestFileOf(exchange: StoredExchange): ExchangeFile {
  const body = bodyOf(exchange.bytesOf('client_request'));
  const client_request = { ...requestHead(exchange.headOf('client_request') ?? new Map()), ...body };
  return { ...fileHead(exchange), client_request, chat_request: null, chat_response: null, client_response: null };
}

/** `ExchangeDetail` as JSON, in texts as short as the pieces that are kept. */
export function* detailJson(exchange: StoredExchange): Generator<string> {
  const row = rowOf(exchange);
  const ends = { chat_response: row.pieces[0], client_response: row.pieces[1] };
  yield `{"row":${JSON.stringify(row)},"omitted":${JSON.stringify(exchange.omitted)},"file":{`;
  for (const body of ['client_request', 'chat_request'] as const) {
    const head = exchange.headOf(body) ?? (body === 'client_request' ? new Map() : undefined);
    yield `"${body}":`;
    if (head === undefined) yield 'null,';
    else {
      yield beginning(requestHead(head));
      yield* bodyJson(exchange, body);
      yield '},';
    }
  }
  for (const body of ['chat_response', 'client_response'] as const) {
    const head = exchange.headOf(body);
    yield `"${body}":`;
    if (head === undefined) yield 'null,';
    else {
      yield `${beginning({ status: statusOf(head) ?? 200, headers: headersOf(head) })}"pieces":`;
      yield* piecesJson(exchange, body, 0, ends[body]);
      yield '},';
    }
  }
  yield `${JSON.stringify(fileHead(exchange)).slice(1)}}`;
}

/** The pieces of that body from `first` to before `end` as JSON, a text for each. */
export function* piecesJson(exchange: StoredExchange, body: BodyName, first: number, end: number): Generator<string> {
  yield '[';
  for (let index = first; index < end; index += 1) {
    const { atMs, latin1 } = exchange.pieces[body][index] ?? { atMs: 0, latin1: '' };
    yield `${index === first ? '' : ','}${JSON.stringify(pieceOf(rounded(atMs), Buffer.from(latin1, 'latin1')))}`;
  }
  yield ']';
}

/** A multiple of three, so that Base64 of the parts is that of the whole. */
const base64Bytes = 48 * 1024;

/** The field of a request that has its body. */
function* bodyJson(exchange: StoredExchange, body: BodyName): Generator<string> {
  const bytes = exchange.bytesOf(body);
  if (!isUtf8(bytes)) {
    yield '"base64":"';
    for (let at = 0; at < bytes.length; at += base64Bytes) yield bytes.toString('base64', at, at + base64Bytes);
    return yield '"';
  }
  yield '"body":"';
  // No piece of a request cuts a character.
  for (const { latin1 } of exchange.pieces[body])
    yield JSON.stringify(Buffer.from(latin1, 'latin1').toString()).slice(1, -1);
  yield '"';
}

/** An object as JSON up to where another field can follow. */
function beginning(object: object): string {
  return `${JSON.stringify(object).slice(0, -1)},`;
}

function fileHead({ facts, startedAt }: StoredExchange) {
  const { profile, dropped, outcome, errorCode, cause } = facts;
  return {
    ...exchangeFileHead,
    profile,
    started_at: new Date(startedAt).toISOString(),
    dropped: [...dropped],
    outcome: outcome ?? 'running',
    error: errorCode === null && cause === null ? null : { code: errorCode, cause },
  };
}

function requestHead(head: Head) {
  return { method: head.get(':method') ?? '', path: head.get(':path') ?? '', headers: headersOf(head) };
}

/** For a stream: the time from its first delta to the upstream's last piece. */
function tokensPerSecond({ facts, pieces }: StoredExchange): number | null {
  const { tokens, firstTokenMs, stream } = facts;
  const count = tokens?.output_tokens ?? 0;
  const last = pieces.chat_response.at(-1)?.atMs ?? null;
  if (stream !== true || count < 2 || firstTokenMs === null || last === null) return null;
  return last <= firstTokenMs ? null : Math.round(((count - 1) / (last - firstTokenMs)) * 10_000) / 10;
}

function statusOf(head: Head | undefined): number | null {
  const status = head?.get(':status');
  return status === undefined ? null : Number(status);
}

/** All headers except the pseudo headers. */
function headersOf(head: Head): { name: string; value: string }[] {
  return [...head].filter(([name]) => !name.startsWith(':')).map(([name, value]) => ({ name, value }));
}

/** The clock is no more precise than microseconds. */
function rounded<Time extends number | null>(ms: Time): Time {
  return (ms === null ? null : Math.round(ms * 1000) / 1000) as Time;
}
