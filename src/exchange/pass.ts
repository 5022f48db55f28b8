import { translatedTrailers } from './trailers.ts';
import type { ExchangeEvent, ExchangeReply } from './types.ts';

type BodyOrTrailers = Exclude<ExchangeEvent, { type: 'request_headers' | 'response_headers' }>;

/** Envoy's own bytes go on: said in full duplex by repeating them, elsewhere by changing nothing. */
export function passThrough(event: BodyOrTrailers, fullDuplex: boolean): ExchangeReply[] {
  if (event.type === 'request_trailers' || event.type === 'response_trailers') return [{ type: event.type }];
  const { type, body, endOfStream } = event;
  return fullDuplex ? [{ type, body, endOfStream }] : [{ type, endOfStream }];
}

/** The last byte was sent: what still comes is answered with nothing where every message must be answered. */
export function discard(event: BodyOrTrailers, fullDuplex: boolean): ExchangeReply[] {
  if (fullDuplex) return [];
  if (event.type === 'request_trailers' || event.type === 'response_trailers') return [translatedTrailers(event.type)];
  return [{ type: event.type, body: noBytes, endOfStream: event.endOfStream }];
}

const noBytes = Buffer.alloc(0);
