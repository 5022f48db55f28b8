import { Buffer } from 'node:buffer';
import { jsonParts, withoutLineSeparators } from '../../../formats/json/parts.ts';
import { isExtension, type ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import { doneEvent, encodeSseEvents } from '../../wire/sse/encode-events.ts';
import { maxPieceBytes } from '../replies.ts';
import { translatedTrailers, withContentLength } from '../response-headers.ts';
import type { BodyMode, ExchangeReply, HeaderMutation, Replies } from '../types.ts';

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

/** Bytes for the client: whole, or if there are many, in pieces that are generated as they are sent. */
export type ClientBytes = Buffer | LongBody;

/** From this size on a body is generated piece by piece. */
export const longBodyBytes = 256 * 1024;

/** A body that is generated while it is sent, a message to Envoy at a time, so that its parts are not copied. */
export class LongBody implements Iterable<Buffer> {
  readonly #parts: () => Iterable<string | Buffer>;

  /** `parts` gives its bytes from the start, each time it is called. A part of less than a piece is never cut. */
  constructor(parts: () => Iterable<string | Buffer>) {
    this.#parts = parts;
  }

  *[Symbol.iterator](): Generator<Buffer> {
    const piece = Buffer.allocUnsafe(maxPieceBytes);
    let used = 0;
    for (const part of this.#parts()) {
      const bytes = typeof part === 'string' ? Buffer.from(part) : part;
      if (used > 0 && used + bytes.length > maxPieceBytes) {
        yield Buffer.from(piece.subarray(0, used));
        used = 0;
      }
      if (bytes.length <= maxPieceBytes) {
        used += bytes.copy(piece, used);
        continue;
      }
      for (let at = 0; at < bytes.length; at += maxPieceBytes) yield bytes.subarray(at, at + maxPieceBytes);
    }
    if (used > 0) yield Buffer.from(piece.subarray(0, used));
  }
}

/** A value as JSON. */
export function jsonBytes(value: object | null, isLong: boolean): ClientBytes {
  return isLong ? new LongBody(() => jsonParts(value)) : Buffer.from(JSON.stringify(value));
}

/** Events, and after the last of them the end of the stream. */
export function eventBytes(events: readonly ResponseStreamEvent[], isEnd: boolean, isLong: boolean): ClientBytes {
  if (isLong) return longEvents(events, isEnd);
  const bytes = encodeSseEvents(events);
  return isEnd ? Buffer.concat([bytes, doneEvent]) : bytes;
}

/**
 * Events as `encodeSseEvents` writes them. A piece may end within the JSON of an event, since an event that is larger than any
 * read of a client is cut on the way in any case, but never between the two line feeds after it, which some parsers expect in
 * one piece.
 */
export function longEvents(events: readonly ResponseStreamEvent[], isEnd: boolean): LongBody {
  return new LongBody(function* () {
    for (const event of events) {
      if (isExtension(event)) {
        yield encodeSseEvents([event]);
        continue;
      }
      yield `event: ${event.type}\ndata: `;
      for (const part of jsonParts(event)) yield typeof part === 'string' ? withoutLineSeparators(part) : part;
      yield '\n\n';
    }
    if (isEnd) yield doneEvent;
  });
}

/** All of them, in order. */
export function joined(...bodies: readonly ClientBytes[]): ClientBytes {
  const given = bodies.filter((body) => body instanceof LongBody || body.length > 0);
  const [only = Buffer.alloc(0)] = given;
  if (given.length <= 1) return only;
  const whole = given.filter((body): body is Buffer => !(body instanceof LongBody));
  if (whole.length === given.length) return Buffer.concat(whole);
  return new LongBody(function* () {
    for (const body of given) {
      if (body instanceof LongBody) yield* body;
      else yield body;
    }
  });
}
