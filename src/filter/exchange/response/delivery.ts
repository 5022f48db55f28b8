import { Buffer } from 'node:buffer';
import { jsonParts, withoutLineSeparators } from '../../../formats/json/parts.ts';
import { isExtension, type ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import { doneEvent, encodeSseEvents } from '../../wire/sse/encode-events.ts';
import { maxPieceBytes } from '../replies.ts';
import { translatedTrailers, withContentLength } from '../response-headers.ts';
import type { BodyMode, ExchangeReply, HeaderMutation, Replies } from '../types.ts';

/** The state of the upstream's body: more may come, it has ended, or it has ended with trailers. */
export type BodyEnd = 'open' | 'body' | 'trailers';

/** Pieces of whole events, or of JSON cut anywhere; a long body is generated as it is sent. */
export type Pieces = readonly Buffer[] | LongBody;

/** Writes the replies with a part of the response; null if no message is left to reply to. `headers` are null once committed. */
export function writeBodyReplies(
  mode: BodyMode,
  pieces: Pieces,
  end: BodyEnd,
  headers: HeaderMutation | null,
): Replies | null {
  switch (mode) {
    case 'FULL_DUPLEX_STREAMED':
      return writeFullDuplex(pieces, end, headers);
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
      // A reply to trailers carries no body, so the readers return all they can before.
      if (end === 'trailers') return [translatedTrailers('response_trailers')];
      return [{ type: 'response_body', body: Buffer.concat([...pieces]), endOfStream: end === 'body' }];
  }
}

function writeFullDuplex(pieces: Pieces, end: BodyEnd, headers: HeaderMutation | null): Replies {
  if (pieces instanceof LongBody) return writeLongBody(pieces, end, headers);
  const replies: ExchangeReply[] = headers === null ? [] : [{ type: 'response_headers', headers }];
  const last = end === 'body' ? pieces.length - 1 : -1;
  pieces.forEach((body, at) => {
    replies.push({ type: 'response_body', body, endOfStream: at === last });
  });
  if (end === 'body' && pieces.length === 0) replies.push({ type: 'response_body', body: noBytes, endOfStream: true });
  if (end === 'trailers') replies.push(translatedTrailers('response_trailers'));
  return replies;
}

function* writeLongBody(
  pieces: LongBody,
  end: BodyEnd,
  headers: HeaderMutation | null,
): Generator<ExchangeReply, void> {
  if (headers !== null) yield { type: 'response_headers', headers };
  for (const body of pieces) yield { type: 'response_body', body, endOfStream: false };
  if (end === 'body') yield { type: 'response_body', body: noBytes, endOfStream: true };
  if (end === 'trailers') yield translatedTrailers('response_trailers');
}

const noBytes = Buffer.alloc(0);

/** Bytes for the client; many of them are generated as they are sent. */
export type ClientBytes = Buffer | LongBody;

export const longBodyBytes = 256 * 1024;

/** A body that is generated as it is sent, one message to Envoy at a time, so that its parts are not joined. */
export class LongBody implements Iterable<Buffer> {
  readonly #parts: () => Iterable<string | Buffer>;

  /** Each call of `parts` starts at the beginning of the body. A part is cut only if it is longer than a piece. */
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

export function encodeJson(value: object | null, isLong: boolean): ClientBytes {
  return isLong ? new LongBody(() => jsonParts(value)) : Buffer.from(JSON.stringify(value));
}

/** Encodes events, and with the last of them the end of the stream. */
export function encodeEvents(events: readonly ResponseStreamEvent[], isEnd: boolean, isLong: boolean): ClientBytes {
  if (isLong) return encodeLongEvents(events, isEnd);
  const bytes = encodeSseEvents(events);
  return isEnd ? Buffer.concat([bytes, doneEvent]) : bytes;
}

/** Encodes events as `encodeSseEvents` does. No piece ends between the two line feeds behind an event: some parsers expect both in one piece. */
export function encodeLongEvents(events: readonly ResponseStreamEvent[], isEnd: boolean): LongBody {
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

export function joinBodies(...bodies: readonly ClientBytes[]): ClientBytes {
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
