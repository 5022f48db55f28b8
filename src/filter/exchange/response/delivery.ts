import type { ApiError } from '../../wire/schema/api-error.ts';
import type { HeaderTiming } from '../header-timing.ts';
import { cutBytes } from '../pieces.ts';
import { translatedTrailers } from '../trailers.ts';
import type { ExchangeReply, HeaderMutation, Replies } from '../types.ts';
import { LongBody } from './long-body.ts';
import { withContentLength } from './response-headers.ts';

/** The state of the upstream's body: more may come, it has ended, or it has ended with trailers. */
export type BodyEnd = 'open' | 'body' | 'trailers';

/** Whole events, or JSON cut anywhere; a long body is generated as it is sent. */
export type Pieces = readonly Buffer[] | LongBody;

/** The replies with a part of the response, null if no message is left to reply to; `headers` until committed. */
export function bodyReplies(
  timing: HeaderTiming,
  pieces: Pieces,
  end: BodyEnd,
  headers: HeaderMutation | null,
): Replies | null {
  switch (timing) {
    case 'deferred':
      return fullDuplexReplies(pieces, end, headers);
    case 'with_body':
    case 'replaceable': {
      if (end === 'trailers') return null;
      const body = Buffer.concat([...pieces]);
      const changes =
        timing === 'with_body' && headers !== null ? { headers: withContentLength(headers, body.length) } : {};
      return [{ type: 'response_body', body, ...changes, endOfStream: true }];
    }
    case 'sent':
      // A reply to trailers carries no body: bytes delivered only now are lost, so the readers emit all they can before.
      if (end === 'trailers') return [translatedTrailers('response_trailers')];
      return [{ type: 'response_body', body: Buffer.concat([...pieces]), endOfStream: end === 'body' }];
  }
}

/** The replies that put an error in the response's place; null if only an immediate response can do that. */
export function errorReplies(
  timing: HeaderTiming,
  error: ApiError,
  end: BodyEnd,
  headers: HeaderMutation,
): Replies | null {
  if (end === 'open' || timing === 'replaceable' || timing === 'sent') return null;
  return bodyReplies(timing, cutBytes(Buffer.from(error.toJson())), end, headers);
}

function fullDuplexReplies(pieces: Pieces, end: BodyEnd, headers: HeaderMutation | null): Replies {
  if (pieces instanceof LongBody) return longReplies(pieces, end, headers);
  const replies: ExchangeReply[] = headers === null ? [] : [{ type: 'response_headers', headers }];
  const last = end === 'body' ? pieces.length - 1 : -1;
  pieces.forEach((body, at) => {
    replies.push({ type: 'response_body', body, endOfStream: at === last });
  });
  if (end === 'body' && pieces.length === 0) replies.push({ type: 'response_body', body: noBytes, endOfStream: true });
  if (end === 'trailers') replies.push(translatedTrailers('response_trailers'));
  return replies;
}

function* longReplies(pieces: LongBody, end: BodyEnd, headers: HeaderMutation | null): Generator<ExchangeReply, void> {
  if (headers !== null) yield { type: 'response_headers', headers };
  for (const body of pieces) yield { type: 'response_body', body, endOfStream: false };
  if (end === 'body') yield { type: 'response_body', body: noBytes, endOfStream: true };
  if (end === 'trailers') yield translatedTrailers('response_trailers');
}

const noBytes = Buffer.alloc(0);
