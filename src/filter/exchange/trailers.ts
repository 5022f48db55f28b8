import type { ExchangeReply } from './types.ts';

/** Digests of a body's bytes, in headers or trailers (RFC 9530, 3230, 1864): stale once it is translated. */
export const digestFields = ['content-md5', 'digest', 'content-digest', 'repr-digest'] as const;

/** The reply that passes the trailers of a translated body, without digests of the original bytes. */
export function translatedTrailers(
  type: 'request_trailers' | 'response_trailers',
): Extract<ExchangeReply, { type: 'request_trailers' | 'response_trailers' }> {
  return { type, headers: { remove: type === 'response_trailers' ? [...digestFields, 'etag'] : digestFields } };
}
