import { scanJson } from '../../json/scan.ts';
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
  const { tooDeepAt, mayLoseNumbers, values } = scanJson(bytes, { maxNesting, maxValues });
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

/** The parser's reason, without the piece of the body it quotes. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/, (\.\.\.)?".*$/s, '').replace(/\.$/, '');
}
