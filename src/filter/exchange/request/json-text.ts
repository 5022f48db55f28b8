import { parseExactly } from '../../wire/json/exact.ts';
import { scanJson } from '../../wire/json/scan.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { Steps } from '../steps.ts';
import type { Hold } from '../types.ts';

/** Reused: creating one costs more than decoding a small body. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * UTF-8 JSON as a value; a byte order mark is skipped. A number that a JavaScript number would change becomes a
 * `JSON.rawJSON` object, which is written as it was read: schemas hold 64-bit bounds. A body of more than `maxValues` is
 * refused. Throws `ApiError` (400, or 413 for too many values). The step between is reading the bytes as text.
 */
export function* parseJson(
  bytes: Uint8Array,
  maxNesting: number,
  maxValues: number,
  hold: Hold = () => null,
): Steps<unknown> {
  const { tooDeepAt, mayLoseNumbers, values } = scanJson(bytes, { maxNesting, maxValues });
  if (values > maxValues)
    throw ApiError.requestTooLarge(
      `The request body holds too many values: more than ${maxValues}. Send fewer items, or smaller tools.`,
    );
  if (tooDeepAt !== null) {
    const message = `The request body is nested too deep: more than ${maxNesting} levels of objects and arrays at byte ${tooDeepAt}. Send it flatter, or the deep part as text.`;
    throw ApiError.invalidRequest('nesting_too_deep', null, message);
  }
  // Upper bound of what a body takes while it is translated, with garbage made on the way: itself, its text, its strings, the
  // text of the upstream's body and of what the response repeats, 200 bytes for each value and its key; outside the heap the
  // upstream's body in pieces, whole, and in the message that carries it. `npm run test:sizing` has the costliest shapes.
  const overload = bytes.length < smallBodyBytes ? null : hold(13 * bytes.length + 200 * values, bytes.length);
  if (overload !== null) throw overload;
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    const message = 'The request body is not valid JSON: it is not UTF-8. Send it in UTF-8.';
    throw ApiError.invalidRequest('invalid_json', null, message);
  }
  yield;
  try {
    return mayLoseNumbers && values <= maxExactValues ? parseExactly(text) : JSON.parse(text);
  } catch (cause) {
    const message = `The request body is not valid JSON: ${reasonOf(cause)}. Send one JSON object.`;
    throw new ApiError(message, { status: 400, code: 'invalid_json', cause });
  }
}

/** Fewer bytes are translated before anything could be counted. */
const smallBodyBytes = 64 * 1024;

/** Of more, the exact parse takes too long, and 200 bytes for each: it is twice what a large agent sends. */
const maxExactValues = 50_000;

/** The parser's reason, without the piece of the body it quotes. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/, (\.\.\.)?".*$/s, '').replace(/\.$/, '');
}
