import { buildEmptyAnswer } from '../translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../translate/shared/context.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import { doneEvent, encodeSseEvents } from '../wire/sse/encode-events.ts';
import { translatedHeaders, translatedTrailers } from './response-headers.ts';
import type { ExchangeEvent, ExchangeReply } from './types.ts';

type BodyOrTrailers = Exclude<ExchangeEvent, { type: 'request_headers' | 'response_headers' }>;

/** Passes Envoy's own bytes through: full duplex repeats them, the other modes change nothing. */
export function passThrough(event: BodyOrTrailers, fullDuplex: boolean): ExchangeReply[] {
  if (!('body' in event)) return [{ type: event.type }];
  const { type, body, endOfStream } = event;
  return fullDuplex ? [{ type, body, endOfStream }] : [{ type, endOfStream }];
}

/** Discards a message that comes after the last byte was sent, with an empty reply where every message needs one. */
export function discard(event: BodyOrTrailers, fullDuplex: boolean): ExchangeReply[] {
  if (fullDuplex) return [];
  if (!('body' in event)) return [translatedTrailers(event.type)];
  return [{ type: event.type, body: noBytes, endOfStream: event.endOfStream }];
}

const noBytes = Buffer.alloc(0);

/** The most bytes of one streamed body reply: Envoy accepts messages of up to 64 KiB, and the fields around the body need a few. */
export const maxPieceBytes = 62_000;

export function cutBytes(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += maxPieceBytes) pieces.push(bytes.subarray(at, at + maxPieceBytes));
  return pieces;
}

/** Cuts bytes between events. An event beyond the limit stays whole, since some clients lose an event that is cut. */
export function cutEvents(bytes: Buffer): Buffer[] {
  if (bytes.length <= maxPieceBytes) return bytes.length === 0 ? [] : [bytes];
  const pieces: Buffer[] = [];
  let at = 0;
  while (bytes.length - at > maxPieceBytes) {
    // Data is one line of JSON, so a blank line is always the end of an event.
    let end = bytes.lastIndexOf('\n\n', at + maxPieceBytes - 2);
    if (end < at) end = bytes.indexOf('\n\n', at);
    if (end === -1) break;
    pieces.push(bytes.subarray(at, end + 2));
    at = end + 2;
  }
  if (at < bytes.length) pieces.push(bytes.subarray(at));
  return pieces;
}

type ImmediateResponse = Extract<ExchangeReply, { type: 'immediate_response' }>;

/** Writes the reply that ends the exchange with an API error. Names in `headers` are lower-case. */
export function immediateResponse(error: ApiError, headers: Readonly<Record<string, string>>): ImmediateResponse {
  return {
    type: 'immediate_response',
    status: error.status,
    headers: { ...headers, ...error.headers, 'content-type': 'application/json' },
    body: Buffer.from(error.toJson()),
    details: `responses_extproc:${error.code.slice(0, 100).replace(/\W/g, '_')}`,
  };
}

export function immediateAnswer(
  context: ResponseContext,
  { dropped, requestId }: { readonly dropped: readonly string[]; readonly requestId: string | null },
): ImmediateResponse {
  const { stream, answer } = context;
  const { response, events } = buildEmptyAnswer(context);
  return {
    type: 'immediate_response',
    status: 200,
    headers: translatedHeaders(new Map(), { stream, dropped }, requestId).set,
    body: stream
      ? Buffer.concat([encodeSseEvents(events), doneEvent])
      : Buffer.from(JSON.stringify(answer.writeBody(response))),
    details: 'responses_extproc:empty_response',
  };
}
