import { translatedTrailers } from './trailers.ts';
import type { ExchangeEvent, ExchangeReply } from './types.ts';

type BodyOrTrailers = Exclude<ExchangeEvent, { type: 'request_headers' | 'response_headers' }>;

/** Replies that pass Envoy's own bytes through: full duplex repeats them, the other modes change nothing. */
export function passThrough(event: BodyOrTrailers, fullDuplex: boolean): ExchangeReply[] {
  if (!('body' in event)) return [{ type: event.type }];
  const { type, body, endOfStream } = event;
  return fullDuplex ? [{ type, body, endOfStream }] : [{ type, endOfStream }];
}

/** Replies after the last byte was sent: the message is discarded, with an empty reply if every message needs one. */
export function discard(event: BodyOrTrailers, fullDuplex: boolean): ExchangeReply[] {
  if (fullDuplex) return [];
  if (!('body' in event)) return [translatedTrailers(event.type)];
  return [{ type: event.type, body: noBytes, endOfStream: event.endOfStream }];
}

const noBytes = Buffer.alloc(0);
