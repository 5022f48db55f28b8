import { translatedTrailers, withContentLength } from '../response-headers.ts';
import type { BodyMode, ExchangeReply, HeaderMutation, Replies } from '../types.ts';
import { LongBody } from './long-body.ts';

/** The state of the upstream's body: more may come, it has ended, or it has ended with trailers. */
export type BodyEnd = 'open' | 'body' | 'trailers';

/** Whole events, or JSON cut anywhere; a long body is generated as it is sent. */
export type Pieces = readonly Buffer[] | LongBody;

/** The replies with a part of the response, null if no message is left to reply to; `headers` until committed. */
export function bodyReplies(
  mode: BodyMode,
  pieces: Pieces,
  end: BodyEnd,
  headers: HeaderMutation | null,
): Replies | null {
  switch (mode) {
    case 'FULL_DUPLEX_STREAMED':
      return fullDuplexReplies(pieces, end, headers);
    case 'BUFFERED':
    case 'BUFFERED_PARTIAL': {
      if (end === 'trailers') return null;
      const body = Buffer.concat([...pieces]);
      const changes =
        mode === 'BUFFERED' && headers !== null ? { headers: withContentLength(headers, body.length) } : {};
      return [{ type: 'response_body', body, ...changes, endOfStream: true }];
    }
    case 'STREAMED':
    case 'NONE':
      // A reply to trailers carries no body: bytes delivered only now are lost, so the readers emit all they can before.
      if (end === 'trailers') return [translatedTrailers('response_trailers')];
      return [{ type: 'response_body', body: Buffer.concat([...pieces]), endOfStream: end === 'body' }];
  }
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
