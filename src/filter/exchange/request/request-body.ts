import { ContentCodingError, decodeContent, parseContentCodings } from '../../../formats/bytes/content-coding.ts';
import { parseExactly } from '../../../formats/json/exact.ts';
import { scanJson } from '../../../formats/json/scan.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { HeaderMap, Hold, Steps } from '../types.ts';

/** Reads a request body: its content coding, UTF-8 and JSON. Throws `ApiError` (400, 413 over a limit, 415 for other kinds of content). */
export function* readRequestBody(
  bytes: Uint8Array,
  headers: HeaderMap,
  limits: { readonly maxRequestBytes: number; readonly maxNesting: number; readonly maxValues: number },
  hold: Hold,
): Steps<unknown> {
  checkContentType(headers.get('content-type') ?? '');
  if (bytes.length > limits.maxRequestBytes) throw tooLarge(`exceeds ${limits.maxRequestBytes} bytes`);
  const plain = decompress(bytes, headers.get('content-encoding') ?? '', limits.maxRequestBytes);
  // Asked before parsing, since a small body may become a large value.
  const overload = plain === bytes ? null : hold(bytes.length + plain.length, bytes.length + plain.length);
  if (overload !== null) throw overload;
  if (plain.length === 0)
    throw ApiError.invalidRequest('invalid_json', null, 'The request body is empty. Send one JSON object.');
  if (plain !== bytes) yield;
  const parse = checkJson(plain, limits, hold);
  yield;
  return parse();
}

/** Accepts JSON by any of its names; a request that names no type is taken for JSON. */
function checkContentType(contentType: string): void {
  if (contentType === 'application/json' || contentType.trim() === '') return;
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  const isJson = /^(application|text)\/json$|^application\/[^/]+\+json$/.test(type.trim());
  if (isJson && (charset === undefined || /^charset="?utf-?8"?$/.test(charset))) return;
  const message = `Content type '${contentType.slice(0, 100)}' is not supported. Send application/json in UTF-8.`;
  throw new ApiError(message, { status: 415, code: 'unsupported_media_type', param: 'content-type' });
}

function decompress(body: Uint8Array, contentEncoding: string, maxBytes: number): Uint8Array {
  const codings = parseContentCodings(contentEncoding);
  if (codings === null) {
    const message = `Content encoding '${contentEncoding.slice(0, 100)}' is not supported. Send gzip, deflate, br, zstd, or none.`;
    throw new ApiError(message, { status: 415, code: 'unsupported_content_encoding', param: 'content-encoding' });
  }
  try {
    return decodeContent(body, codings, maxBytes);
  } catch (thrown) {
    if (!(thrown instanceof ContentCodingError)) throw thrown;
    if (thrown.reason === 'too_large') throw tooLarge(thrown.message);
    throw new ApiError(
      `The request body ${thrown.message}, although its content-encoding says so. Correct 'content-encoding', or leave it out.`,
      { status: 400, code: 'invalid_encoding', param: 'content-encoding', cause: thrown },
    );
  }
}

function tooLarge(why: string): ApiError {
  return ApiError.requestTooLarge(`The request body is too large: it ${why}. Shorten 'input', or send fewer files.`);
}

/** One decoder for all requests: creating one costs more than decoding a small body. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads UTF-8 and checks the limits of its JSON. The returned function parses it exactly, in another step. Both throw `ApiError` (400, 413). */
export function checkJson(
  bytes: Uint8Array,
  { maxNesting, maxValues }: { readonly maxNesting: number; readonly maxValues: number },
  hold: Hold = () => null,
): () => unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    const message = 'The request body is not valid JSON: it is not UTF-8. Send it in UTF-8.';
    throw ApiError.invalidRequest('invalid_json', null, message);
  }
  const { tooDeepAt, mayLoseNumbers, values } = scanJson(text, { maxNesting, maxValues });
  if (values > maxValues)
    throw ApiError.requestTooLarge(
      `The request body holds too many values: more than ${maxValues}. Send fewer items or smaller tools.`,
    );
  if (tooDeepAt !== null) {
    const message = `The request body is nested too deeply: more than ${maxNesting} levels of objects and arrays at character ${tooDeepAt}. Flatten it, or send the nested part as text.`;
    throw ApiError.invalidRequest('nesting_too_deep', null, message);
  }
  // An upper bound of what a body takes while it is translated, with garbage: itself, its text, its strings, the text of the upstream's body
  // and of what the response repeats, 200 bytes for each value and its key; outside the heap, the upstream's body in pieces, whole, and in
  // the message that carries it. `npm test -- sizing` has the costliest shapes.
  const overload = bytes.length < unheldBodyBytes ? null : hold(13 * bytes.length + 200 * values, bytes.length);
  if (overload !== null) throw overload;
  return () => {
    try {
      return mayLoseNumbers ? parseExactly(text) : JSON.parse(text);
    } catch (cause) {
      const message = `The request body is not valid JSON: ${readReason(cause)}. Send one JSON object.`;
      throw new ApiError(message, { status: 400, code: 'invalid_json', cause });
    }
  };
}

/** A smaller body is translated before anything could be done for want of memory. */
const unheldBodyBytes = 64 * 1024;

function readReason(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/, (\.\.\.)?".*$/s, '').replace(/\.$/, '');
}
