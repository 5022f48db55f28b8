import { ApiError } from '../../wire/schema/api-error.ts';
import { ContentCodingError, decodeContent, parseContentCodings } from '../content-coding.ts';
import type { Steps } from '../steps.ts';
import type { HeaderMap, Hold } from '../types.ts';
import { parseJson } from './json-text.ts';

/**
 * A request body as a value: content coding undone, UTF-8 and JSON read. Numbers that a JavaScript number would change
 * are kept as their text (`JSON.rawJSON`). Throws `ApiError`: 413 over the limits, 415 for other kinds of content, 400
 * for what is not JSON or nested too deep. Bytes are limited as sent, and after decompression.
 */
export function* readRequestBody(
  bytes: Uint8Array,
  headers: HeaderMap,
  limits: { readonly maxRequestBytes: number; readonly maxNesting: number; readonly maxValues: number },
  hold: Hold,
): Steps<unknown> {
  checkContentType(headers.get('content-type') ?? '');
  if (bytes.length > limits.maxRequestBytes) throw tooLarge(`exceeds ${limits.maxRequestBytes} bytes`);
  const plain = decompress(bytes, headers.get('content-encoding') ?? '', limits.maxRequestBytes);
  // Before parsing: a small body may become a large value.
  const overload = plain === bytes ? null : hold(bytes.length + plain.length, bytes.length + plain.length);
  if (overload !== null) throw overload;
  if (plain.length === 0)
    throw ApiError.invalidRequest('invalid_json', null, 'The request body is empty. Send one JSON object.');
  if (plain !== bytes) yield;
  return yield* parseJson(plain, limits.maxNesting, limits.maxValues, hold);
}

/** JSON by any of its names; a request that names no type is taken for JSON. */
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
      `The request body ${thrown.message}, but its content-encoding says so. Send it so, or leave 'content-encoding' out.`,
      { status: 400, code: 'invalid_encoding', param: 'content-encoding', cause: thrown },
    );
  }
}

function tooLarge(why: string): ApiError {
  return ApiError.requestTooLarge(`The request body is too large: it ${why}. Shorten 'input', or send fewer files.`);
}
