import type { ApiError } from '../wire/schema/api-error.ts';
import type { ExchangeReply, HeaderMap, HeaderMutation } from './types.ts';

/** Digests of a body's bytes, in headers or trailers (RFC 9530, 3230, 1864), which are wrong for the translated body. */
export const digestFields = ['content-md5', 'digest', 'content-digest', 'repr-digest'] as const;

/** Headers that describe the upstream's bytes or their location, and are wrong for the translated body. */
const staleHeaders = [
  'content-encoding',
  'transfer-encoding',
  'etag',
  'accept-ranges',
  'content-range',
  'content-location',
  // A redirect becomes a 502; its target may be internal.
  'location',
  // Signatures are of fields that have changed (RFC 9421).
  'signature',
  'signature-input',
  ...digestFields,
];

/** The headers of an upstream's error that clients act on: an immediate response repeats only these. */
const forwardedErrorHeaders =
  /^(retry-after|retry-after-ms|x-should-retry|(x-|anthropic-)?ratelimit-.+|(x-)?request-id|openai-processing-ms|openai-version|cf-ray|www-authenticate|x-codex-.+)$/;

/** The most characters of `x-responses-dropped`, since clients limit the size of headers. */
const maxDroppedLength = 2048;

export interface AnswerFacts {
  readonly stream: boolean;
  /** Names of what was dropped from the request, for `x-responses-dropped`. */
  readonly dropped: readonly string[];
}

export function translatedHeaders(
  headers: HeaderMap,
  { stream, dropped }: AnswerFacts,
  requestId: string | null,
): Required<HeaderMutation> {
  const type: Record<string, string> = stream
    ? { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
    : { 'content-type': 'application/json' };
  const list = dropped.join(', ');
  const short = list.length <= maxDroppedLength ? list : `${list.slice(0, maxDroppedLength)}, ...`;
  const left = list === '' ? {} : { 'x-responses-dropped': short };
  const status = Number(headers.get(':status')) >= 300 ? { ':status': '200' } : {};
  return mutation(headers, { ...status, ...type, ...left, ...requestIdHeader(headers, requestId) });
}

/** Changes the upstream's headers for an error: its status, and its own headers. */
export function errorHeaders(headers: HeaderMap, error: ApiError, requestId: string | null): HeaderMutation {
  const set = { ...requestIdHeader(headers, requestId), ...error.headers, 'content-type': 'application/json' };
  return mutation(headers, { ':status': String(error.status), ...set });
}

/** Adds the length of a body that Envoy does not count itself; no changes stay none. */
export function withContentLength({ set, remove }: HeaderMutation, length: number): HeaderMutation {
  if (remove === undefined) return {};
  const others = remove.filter((name) => name !== 'content-length');
  return { set: { ...set, 'content-length': String(length) }, remove: others };
}

export function keptHeaders(headers: HeaderMap): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => forwardedErrorHeaders.test(name)));
}

function mutation(headers: HeaderMap, set: Record<string, string>): Required<HeaderMutation> {
  return { set, remove: ['content-length', ...staleHeaders.filter((name) => headers.has(name))] };
}

/** Sets the request id, unless the upstream has set its own: its operator searches for that one. */
function requestIdHeader(headers: HeaderMap, requestId: string | null): Record<string, string> {
  return requestId === null || headers.has('x-request-id') ? {} : { 'x-request-id': requestId };
}

/** Passes the trailers of a translated body, without digests of the original bytes. */
export function translatedTrailers(
  type: 'request_trailers' | 'response_trailers',
): Extract<ExchangeReply, { type: 'request_trailers' | 'response_trailers' }> {
  return { type, headers: { remove: type === 'response_trailers' ? [...digestFields, 'etag'] : digestFields } };
}
