import type { ExchangeReply } from './types.ts';

/**
 * Fields that vouch for the bytes of a body, in headers or, where the bytes are not known before they are sent, in
 * trailers (RFC 9530 §2 and §3, RFC 3230, RFC 1864). They are stale once the body is translated.
 */
export const digestFields = ['content-md5', 'digest', 'content-digest', 'repr-digest'] as const;

/** Lets the trailers of a translated body go on, without what vouched for the bytes before. */
export function translatedTrailers(
  type: 'request_trailers' | 'response_trailers',
): Extract<ExchangeReply, { type: 'request_trailers' | 'response_trailers' }> {
  return { type, headers: { remove: type === 'response_trailers' ? [...digestFields, 'etag'] : digestFields } };
}
