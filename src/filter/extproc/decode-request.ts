import { ProtocolError } from '../exchange/protocol-error.ts';
import type { BodyMode, BodyModes, ExchangeEvent, HeaderMap } from '../exchange/types.ts';
import type { HeaderMap__Output as WireHeaderMap } from './generated/envoy/config/core/v3/HeaderMap.ts';
import type { ProcessingRequest__Output as ProcessingRequest } from './generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';

/** One decoded message from Envoy. */
export interface DecodedRequest {
  readonly event: ExchangeEvent;
  /** The body modes in force; only the first message of a call may carry them. */
  readonly modes: BodyModes | null;
  /** Envoy sends the message for observation only and expects no reply. */
  readonly observed: boolean;
}

const noBytes = Buffer.alloc(0);

/** A `ProcessingRequest` as an event of the exchange. Throws `ProtocolError` for an unknown kind of message. */
export function decodeRequest(message: ProcessingRequest): DecodedRequest {
  return {
    event: decodeEvent(message),
    modes: decodeModes(message.protocol_config),
    observed: message.observability_mode === true,
  };
}

function decodeEvent(message: ProcessingRequest): ExchangeEvent {
  // Bodies first: they are nearly all of the messages.
  for (const type of ['response_body', 'request_body'] as const) {
    const body = message[type];
    if (body) return { type, body: body.body ?? noBytes, endOfStream: body.end_of_stream === true };
  }
  for (const type of ['request_headers', 'response_headers'] as const) {
    const headers = message[type];
    if (headers) return { type, headers: decodeHeaders(headers.headers), endOfStream: headers.end_of_stream === true };
  }
  if (message.request_trailers) return { type: 'request_trailers' };
  if (message.response_trailers) return { type: 'response_trailers' };
  throw new ProtocolError('A message of an unknown kind.');
}

function decodeHeaders(map: WireHeaderMap | null | undefined): HeaderMap {
  const headers = new Map<string, string>();
  for (const { key = '', value, raw_value: raw } of map?.headers ?? []) {
    const name = key.toLowerCase();
    // Envoy fills raw_value; other data planes may still use value.
    const text = raw !== undefined && raw.length > 0 ? Buffer.from(raw).toString('utf8') : (value ?? '');
    const before = headers.get(name);
    headers.set(name, before === undefined ? text : `${before}, ${text}`);
  }
  return headers;
}

function decodeModes(config: ProcessingRequest['protocol_config']): BodyModes | null {
  if (!config) return null;
  // An enum of value 0 is not on the wire: absent means NONE.
  return { request: modeOf(config.request_body_mode), response: modeOf(config.response_body_mode) };
}

function modeOf(mode: BodyMode | 'GRPC' | undefined): BodyMode {
  return mode === undefined || mode === 'GRPC' ? 'NONE' : mode;
}
