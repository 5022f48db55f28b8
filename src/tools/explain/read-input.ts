import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { completes, routeOf } from '../../filter/exchange/request/route.ts';
import {
  bytesOf,
  type ExchangeFile,
  readExchangeFile,
  saysItIsAnExchange,
} from '../../filter/wire/schema/exchange-file.ts';
import { messageOf } from '../../service/program/error-texts.ts';
import { valueAt } from './fields.ts';
import { recordOf } from './json-values.ts';
import type { RecordedAnswer } from './run-answer.ts';
import type { ClientRequest } from './run-request.ts';

/** A file, or standard input, that cannot be used. The message is for the caller. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** What a request file contains besides the request. */
export interface RequestInput {
  readonly request: ClientRequest;
  /** From a saved exchange: the profile it ran under, its time (Unix seconds), and its answer. */
  readonly profile: string | null;
  readonly startedAt: number | null;
  readonly answer: RecordedAnswer | null;
}

/** Larger than any body that the service accepts in its default configuration. */
const maxInputBytes = 256 * 1024 * 1024;

/** The whole of a file, or of standard input for null. Throws `InputError`, also for more than `maxBytes`. */
export async function readInput(
  file: string | null,
  stdin: NodeJS.ReadableStream,
  maxBytes = maxInputBytes,
): Promise<Buffer> {
  const name = file ?? 'standard input';
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    // The size of a file is known before it is read, that of a pipe is not.
    if (file !== null && (await stat(file)).size > maxBytes)
      throw new InputError(`it is larger than ${maxBytes} bytes`);
    for await (const piece of file === null ? stdin : createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      const bytes = piece as Buffer; // neither has an encoding
      size += bytes.length;
      if (size > maxBytes) throw new InputError(`it is larger than ${maxBytes} bytes`);
      pieces.push(bytes);
    }
  } catch (error) {
    throw new InputError(`${name} cannot be read: ${messageOf(error)}`);
  }
  return Buffer.concat(pieces);
}

/**
 * A request in any of its forms: the body alone, which goes to `path`; `{"method", "path", "headers", "body"}`; or a
 * saved exchange. Throws `InputError` for an incomplete exchange.
 */
export function requestIn(bytes: Buffer, path: string): RequestInput {
  const value = parsed(bytes);
  if (saysItIsAnExchange(value)) {
    const { client_request: client, profile, started_at, chat_response } = exchangeIn(value);
    const startedAt = Math.floor(Date.parse(started_at) / 1000);
    const headers = headersOf(client.headers.map(({ name, value: text }) => [name, text]));
    const request = { method: client.method, path: client.path, headers, body: bytesOf(client) };
    return { request, profile, startedAt, answer: chat_response === null ? null : answerOf(chat_response) };
  }
  return { request: recordedRequest(value) ?? plainRequest(bytes, path), profile: null, startedAt: null, answer: null };
}

/** A recorded answer: JSON, an event stream, lines of JSON, or the answer of a saved exchange. Throws `InputError`. */
export function answerIn(bytes: Buffer, status: number): RecordedAnswer {
  const value = parsed(bytes);
  if (saysItIsAnExchange(value)) {
    const { chat_response } = exchangeIn(value);
    if (chat_response === null) throw new InputError('the exchange has no answer from the upstream');
    return answerOf(chat_response);
  }
  const type =
    value !== undefined ? 'application/json' : isLinesOfJson(bytes) ? 'application/x-ndjson' : 'text/event-stream';
  return { status, headers: new Map([['content-type', type]]), chunks: chunksOf([{ atMs: null, bytes }], type) };
}

function exchangeIn(value: unknown): ExchangeFile {
  try {
    return readExchangeFile(value);
  } catch (error) {
    throw new InputError(`not a whole exchange:\n${messageOf(error)}`);
  }
}

function answerOf({ status, headers: given, pieces }: NonNullable<ExchangeFile['chat_response']>): RecordedAnswer {
  const headers = headersOf(given.map(({ name, value }) => [name, value]));
  const recorded = pieces.map((piece) => ({ atMs: piece.at_ms, bytes: bytesOf(piece) }));
  // Compressed pieces cannot be cut at the end of an event.
  const isPlain = (headers.get('content-encoding') ?? 'identity') === 'identity';
  return { status, headers, chunks: isPlain ? chunksOf(recorded, headers.get('content-type') ?? '') : recorded };
}

type Chunks = RecordedAnswer['chunks'];
type Chunk = Chunks extends Iterable<infer One> ? One : never;

/** The bytes of an answer cut where an event ends, each piece with the time at which its last byte arrived. JSON is one chunk. */
function chunksOf(pieces: readonly Chunk[], type: string): Chunks {
  const whole = pieces.length === 1 && pieces[0] !== undefined ? pieces[0].bytes : Buffer.concat(bytesIn(pieces));
  const times = pieces.map(({ atMs, bytes }) => ({ atMs, length: bytes.length }));
  const isJson = /json/.test(type) && !/ndjson|jsonl|stream/.test(type);
  const endAfter = isJson ? () => whole.length : /event-stream/.test(type) ? eventEnd : lineEnd;
  function* chunks(): Iterator<Chunk> {
    let piece = 0;
    let arrived = times[0]?.length ?? 0;
    for (let start = 0; start < whole.length; ) {
      const end = endAfter(whole, start);
      while (arrived < end) arrived += times[++piece]?.length ?? whole.length;
      yield { atMs: times[piece]?.atMs ?? null, bytes: whole.subarray(start, end) };
      start = end;
    }
  }
  return { [Symbol.iterator]: chunks };
}

function bytesIn(pieces: readonly Chunk[]): Buffer[] {
  return pieces.map(({ bytes }) => bytes);
}

/** After the empty line that ends the event: two line ends, of any kind that the format allows. */
function eventEnd(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const [one, next] = [bytes[at], bytes[at + 1]];
    if ((one === lineFeed || one === carriageReturn) && next === one) return at + 2;
    if (one === carriageReturn && next === lineFeed && bytes[at + 2] === one && bytes[at + 3] === next) return at + 4;
  }
  return bytes.length;
}

function lineEnd(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(lineFeed, start);
  return end === -1 ? bytes.length : end + 1;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** A request as recordings of clients have it; null for anything else. */
function recordedRequest(value: unknown): ClientRequest | null {
  const [path, body] = [valueAt(value, ['path']), valueAt(value, ['body'])];
  if (typeof path !== 'string' || body === undefined) return null;
  const method = valueAt(value, ['method']);
  const headers = headersOf(
    Object.entries(recordOf(valueAt(value, ['headers'])) ?? {}).map(([name, text]) => [name, String(text)]),
  );
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { method: typeof method === 'string' ? method : 'POST', path, headers, body: Buffer.from(text) };
}

/** Whether a GET of that path is for the catalog: it has no body. */
export function isCatalogPath(path: string): boolean {
  const headers = new Map([
    [':method', 'GET'],
    [':path', path],
  ]);
  return completes(routeOf(headers));
}

function plainRequest(body: Buffer, path: string): ClientRequest {
  if (isCatalogPath(path)) return { method: 'GET', path, headers: new Map(), body: Buffer.alloc(0) };
  return { method: 'POST', path, headers: new Map([['content-type', 'application/json']]), body };
}

/** Lower-case names; a repeated header is joined, as Envoy does. */
function headersOf(given: readonly (readonly [name: string, value: string])[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of given) {
    const key = name.toLowerCase();
    const before = headers.get(key);
    if (!key.startsWith(':')) headers.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

function isLinesOfJson(bytes: Buffer): boolean {
  const [first = ''] = bytes.toString('utf8').trimStart().split('\n', 1);
  return first.startsWith('{') && parsed(Buffer.from(first)) !== undefined;
}

/** Undefined for what is not JSON. */
function parsed(bytes: Buffer): unknown {
  // Does not decode an event stream of a hundred megabytes first.
  if (!/^\ufeff?\s*(?:[[{"\-\d]|true|false|null|$)/.test(bytes.toString('utf8', 0, 1024))) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}
