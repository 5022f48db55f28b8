import type { ExchangeReply } from './types.ts';

/**
 * Digests of a body's bytes, sent in headers or, where the bytes are not known in advance, in trailers (RFC 9530 §2 and
 * §3, RFC 3230, RFC 1864). They are stale once the body is translated.
 */
export const digestFields = ['content-md5', 'digest', 'content-digest', 'repr-digest'] as const;

/** The reply that passes the trailers of a translated body, without digests of the original bytes. */
export function translatedTrailers(
  type: 'request_trailers' | 'response_trailers',
): Extract<ExchangeReply, { type: 'request_trailers' | 'response_trailers' }> {
  return { type, headers: { remove: type === 'response_trailers' ? [...digestFields, 'etag'] : digestFields } };
}
