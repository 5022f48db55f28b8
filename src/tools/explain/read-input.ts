import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { scanJson } from '../../formats/json/scan.ts';
import { messageOf } from '../../service/settings/error-texts.ts';
import { decodeRecorded, type ExchangeFile, hasExchangeFormat, parseExchangeFile } from '../files/exchange-file.ts';
import { findValue, readRecord } from './fields.ts';
import type { RecordedAnswer } from './run-answer.ts';
import { type ClientRequest, isForCatalog } from './run-request.ts';

/** Is thrown for a file or standard input that cannot be used, with a message for the caller. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** 256 MiB: larger than any body that the service accepts in its default configuration. */
const maxInputBytes = 2 ** 28;

/** Reads a file, or standard input if `file` is null. Throws `InputError`, also for more than `maxBytes`. */
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
    for await (const piece of file === null ? stdin : createReadStream(file, { highWaterMark: 2 ** 20 })) {
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

/** A request to explain. `profile` is null unless a recorded exchange names it. */
export interface RequestInput {
  readonly request: ClientRequest;
  readonly profile: string | null;
}

/**
 * A request in any of its forms: the body alone, which goes to `path`; `{"method", "path", "headers", "body"}`; or a
 * saved exchange, with the profile it ran under, its time (Unix seconds), and its answer. Throws `InputError` for an incomplete
 * exchange.
 */
export function readRequest(bytes: Buffer, path: string) {
  const value = parseInput(bytes);
  if (hasExchangeFormat(value)) {
    const file = readExchange(value);
    return { ...extractRequest(file), answer: file.chat_response === null ? null : extractAnswer(file.chat_response) };
  }
  return {
    request: readRecordedRequest(value) ?? buildPlainRequest(bytes, path),
    profile: null,
    startedAt: null,
    answer: null,
  };
}

/** The client's request in a recorded exchange, with the profile that it ran under and its time (Unix seconds). */
export function extractRequest({ client_request: client, profile, started_at }: ExchangeFile) {
  const startedAt = Math.floor(Date.parse(started_at) / 1000);
  const headers = joinHeaders(client.headers.map(({ name, value: text }) => [name, text]));
  return {
    request: { method: client.method, path: client.path, headers, body: decodeRecorded(client) },
    profile,
    startedAt,
  };
}

/** A recorded answer: JSON, an event stream, lines of JSON, or the answer of a saved exchange. Throws `InputError`. */
export function readRecordedAnswer(bytes: Buffer, status: number): RecordedAnswer {
  const value = parseInput(bytes);
  if (hasExchangeFormat(value)) {
    const { chat_response } = readExchange(value);
    if (chat_response === null) throw new InputError('the exchange has no answer from the upstream');
    return extractAnswer(chat_response);
  }
  const type =
    value !== undefined ? 'application/json' : isLinesOfJson(bytes) ? 'application/x-ndjson' : 'text/event-stream';
  return { status, headers: new Map([['content-type', type]]), chunks: splitAtEvents([{ atMs: null, bytes }], type) };
}

function readExchange(value: unknown): ExchangeFile {
  try {
    return parseExchangeFile(value);
  } catch (error) {
    throw new InputError(`not a whole exchange:\n${messageOf(error)}`);
  }
}

function extractAnswer({ status, headers: given, pieces }: NonNullable<ExchangeFile['chat_response']>): RecordedAnswer {
  const headers = joinHeaders(given.map(({ name, value }) => [name, value]));
  const recorded = pieces.map((piece) => ({ atMs: piece.at_ms, bytes: decodeRecorded(piece) }));
  // Compressed pieces cannot be cut at the end of an event.
  const isPlain = (headers.get('content-encoding') ?? 'identity') === 'identity';
  return { status, headers, chunks: isPlain ? splitAtEvents(recorded, headers.get('content-type') ?? '') : recorded };
}

/** The bytes of an answer cut where an event ends, each piece with the time at which its last byte arrived. JSON is one chunk. */
function splitAtEvents(pieces: RecordedAnswer['chunks'], type: string): RecordedAnswer['chunks'] {
  const whole = Buffer.concat(pieces.map(({ bytes }) => bytes));
  const isJson = /json/.test(type) && !/ndjson|jsonl|stream/.test(type);
  let [start, piece, arrived] = [0, 0, pieces[0]?.bytes.length ?? 0];
  const after = isJson ? nothing : /event-stream/.test(type) ? emptyLine : /\n/g;
  return findEnds(whole, after).map((end) => {
    while (arrived < end) arrived += pieces[++piece]?.bytes.length ?? whole.length;
    const bytes = whole.subarray(start, end);
    start = end;
    return { atMs: pieces[piece]?.atMs ?? null, bytes };
  });
}

const emptyLine = /\r\n\r\n|\n\n|\r\r/g;
const nothing = /(?!)/g;

/** Finds the offset behind each separator; the last offset is the length of the bytes. */
function findEnds(bytes: Buffer, after: RegExp): number[] {
  const ends = [...bytes.toString('latin1').matchAll(after)].map((match) => match.index + match[0].length);
  return ends.at(-1) === bytes.length || bytes.length === 0 ? ends : [...ends, bytes.length];
}

function readRecordedRequest(value: unknown): ClientRequest | null {
  const [path, body] = [findValue(value, ['path']), findValue(value, ['body'])];
  if (typeof path !== 'string' || body === undefined) return null;
  const method = findValue(value, ['method']);
  const headers = joinHeaders(
    Object.entries(readRecord(findValue(value, ['headers'])) ?? {}).map(([name, text]) => [name, String(text)]),
  );
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { method: typeof method === 'string' ? method : 'POST', path, headers, body: Buffer.from(text) };
}

function buildPlainRequest(body: Buffer, path: string): ClientRequest {
  if (isForCatalog('GET', path)) return { method: 'GET', path, headers: new Map(), body: Buffer.alloc(0) };
  return { method: 'POST', path, headers: new Map([['content-type', 'application/json']]), body };
}

/** Joins headers into a map with lower-case names. A repeated header gets one value with commas, as Envoy does it. */
function joinHeaders(given: readonly (readonly [name: string, value: string])[]): Map<string, string> {
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
  return first.startsWith('{') && parseInput(Buffer.from(first)) !== undefined;
}

/** A limit above the values of any saved exchange; brackets alone take 35 times their bytes once they are parsed. */
const maxValues = 5_000_000;

/** Parses JSON; undefined for other text, and for JSON with more values than any exchange has. */
function parseInput(bytes: Buffer): unknown {
  // The first characters decide, so that an event stream of 100 MB is not decoded.
  if (!/^\ufeff?\s*(?:[[{"\-\d]|true|false|null|$)/.test(bytes.toString('utf8', 0, 1024))) return undefined;
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  if (scanJson(text, { maxValues }).values > maxValues) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
