import { ApiError } from '../../schema/api-error.ts';
import type { Steps } from '../steps.ts';

/** Kept: making one costs more than reading a small body with it. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * UTF-8 JSON as a value; a byte order mark is skipped. A number that a JavaScript number would change becomes a
 * `JSON.rawJSON` object, which is written as it was read: schemas hold 64-bit bounds. Of more than `maxValues` it takes
 * none. Throws `ApiError` (400, or 413 for too many values). The step between is reading the bytes as text.
 */
export function* parseJson(bytes: Uint8Array, maxNesting: number, maxValues: number): Steps<unknown> {
  const { tooDeepAt, mayLoseNumbers, values } = scanJson(bytes, maxNesting, maxValues);
  if (values > maxValues) {
    throw new ApiError(`The request body holds too many values: more than ${maxValues}.`, {
      status: 413,
      type: 'invalid_request',
      code: 'request_too_large',
    });
  }
  if (tooDeepAt !== null) {
    throw ApiError.invalidRequest(
      'nesting_too_deep',
      null,
      `The request body is nested too deep: more than ${maxNesting} levels of objects and arrays at byte ${tooDeepAt}.`,
    );
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw ApiError.invalidRequest('invalid_json', null, 'The request body is not valid JSON: it is not UTF-8.');
  }
  yield;
  try {
    return mayLoseNumbers && values <= maxExactValues ? parseExactly(text, keepExact) : JSON.parse(text);
  } catch (cause) {
    throw new ApiError(`The request body is not valid JSON: ${reasonOf(cause)}.`, {
      status: 400,
      type: 'invalid_request',
      code: 'invalid_json',
      cause,
    });
  }
}

/**
 * The exact parse takes some 200 bytes of heap and three times the CPU for every value. A body of more values than this is
 * parsed as any other program would parse it: it is twice what an agent with 300 tools and a long history sends.
 */
const maxExactValues = 50_000;

// TypeScript's es2023 library does not know the source text of a reviver yet; engines have it since V8 11.4.
const parseExactly = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** A double holds 15 significant digits whatever they are. */
function keepExact(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined) return value;
  if (Number.isFinite(value)) {
    const digits = source.replace(/[eE].*$/, '').replace(/[^0-9]/g, '');
    if (digits.length <= 15 || String(value) === source) return value;
  }
  return rawJson(source);
}

/**
 * One look at the bytes before they are parsed: where they go deeper than `maxNesting` (the parser itself would follow
 * for as long as there is memory), whether there is a number long enough to be worth the slower, exact parse, and how
 * many values there are at most. It stops where either limit is crossed.
 */
function scanJson(
  bytes: Uint8Array,
  maxNesting: number,
  maxValues: number,
): { tooDeepAt: number | null; mayLoseNumbers: boolean; values: number } {
  let depth = 0;
  let values = 1;
  let mayLoseNumbers = false;
  for (let at = 0; at < bytes.length && values <= maxValues; at++) {
    switch (bytes[at]) {
      case 0x22: // a string, up to its closing quote
        at = endOfString(bytes, at);
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        values++;
        if (depth > maxNesting) return { tooDeepAt: at, mayLoseNumbers, values };
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      case 0x2c:
        values++;
        break;
      default: {
        const start = at;
        while (isDigitOrPoint(bytes[at])) at++;
        if (at === start) break;
        if (at - start > 15 || bytes[at] === 0x65 || bytes[at] === 0x45) mayLoseNumbers = true; // long, or 1e400
        at--; // the loop steps over the number's last byte
      }
    }
  }
  return { tooDeepAt: null, mayLoseNumbers, values };
}

/**
 * The closing quote of the string that opens at `start`, or the end of the bytes. Most strings are short; what is long is
 * text or an image, where the native search is fifty times faster.
 */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length) {
    for (const near = at + 64; at < near && at < bytes.length; at++) {
      if (bytes[at] === 0x22) return at;
      if (bytes[at] === 0x5c) at++;
    }
    const quote = bytes.indexOf(0x22, at);
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (quote - 1 - backslashes >= at && bytes[quote - 1 - backslashes] === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    at = quote + 1;
  }
  return bytes.length;
}

function isDigitOrPoint(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e);
}

/** The parser's reason, without the piece of the body it quotes. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/, (\.\.\.)?".*$/s, '').replace(/\.$/, '');
}
