import { Buffer } from 'node:buffer';
import { ProtocolError } from '../exchange/phases.ts';
import type { BodyMode, BodyModes, ExchangeEvent, HeaderMap } from '../exchange/types.ts';
import * as wire from './wire-numbers.ts';

export interface DecodedRequest {
  readonly event: ExchangeEvent;
  /** The body modes in force; only the first message of a call may carry them. */
  readonly modes: BodyModes | null;
  /** Envoy sends the message for observation only and expects no reply. */
  readonly observed: boolean;
}

/**
 * Reads a `ProcessingRequest`, of which a body is a view; unknown fields are skipped. Throws `ProtocolError`.
 * Fast path, written by hand: docs/decisions/0007-hand-written-decoders.md.
 */
export function deserializeRequest(bytes: Buffer): DecodedRequest {
  at = 0;
  const end = bytes.length;
  let event: ExchangeEvent | null = null;
  let attributes: Map<string, string> | null = null;
  let modes: BodyModes | null = null;
  let observed = false;
  while (at < end) {
    const tag = readVarint(bytes, end);
    const field = tag >>> 3;
    switch (field) {
      case wire.processingRequestRequestHeaders:
        event = readHeaders('request_headers', bytes, readEnd(bytes, end));
        break;
      case wire.processingRequestResponseHeaders:
        event = readHeaders('response_headers', bytes, readEnd(bytes, end));
        break;
      case wire.processingRequestRequestBody:
        event = readBody('request_body', bytes, readEnd(bytes, end));
        break;
      case wire.processingRequestResponseBody:
        event = readBody('response_body', bytes, readEnd(bytes, end));
        break;
      case wire.processingRequestRequestTrailers:
      case wire.processingRequestResponseTrailers:
        event = { type: field === wire.processingRequestRequestTrailers ? 'request_trailers' : 'response_trailers' };
        at = readEnd(bytes, end);
        break;
      case wire.processingRequestAttributes:
        attributes ??= new Map();
        // Each entry of the map is a filter's name, and a `Struct` with its attributes.
        readRepeated(attributes, bytes, readEnd(bytes, end), mapValue, readStruct);
        break;
      case wire.processingRequestObservabilityMode:
        observed = readVarint(bytes, end) !== 0;
        break;
      case wire.processingRequestProtocolConfig:
        modes = readModes(bytes, readEnd(bytes, end));
        break;
      default:
        skip(tag, bytes, end);
    }
  }
  if (event === null) throw new ProtocolError('A message of an unknown kind.');
  if (attributes !== null && event.type === 'response_headers') event = { ...event, attributes };
  return { event, modes, observed };
}

/** Reads a `HealthCheckRequest`. Throws `ProtocolError`. */
export function deserializeHealthCheck(bytes: Buffer): { readonly service: string } {
  at = 0;
  let service = '';
  while (at < bytes.length) {
    const tag = readVarint(bytes, bytes.length);
    if (tag >>> 3 === wire.healthCheckRequestService) service = readText(bytes, bytes.length);
    else skip(tag, bytes, bytes.length);
  }
  return { service };
}

/** Each entry of a map is a message of these two fields. */
const mapKey = 1;
const mapValue = 2;

let at = 0;

function readBody(type: 'request_body' | 'response_body', bytes: Buffer, end: number): ExchangeEvent {
  let body: Buffer = noBytes;
  let endOfStream = false;
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === wire.httpBodyBody) {
      const bodyEnd = readEnd(bytes, end);
      body = bytes.subarray(at, bodyEnd);
      at = bodyEnd;
    } else if (tag >>> 3 === wire.httpBodyEndOfStream) endOfStream = readVarint(bytes, end) !== 0;
    else skip(tag, bytes, end);
  }
  return { type, body, endOfStream };
}

const noBytes = Buffer.alloc(0);

function readHeaders(type: 'request_headers' | 'response_headers', bytes: Buffer, end: number): ExchangeEvent {
  let headers: HeaderMap = new Map();
  let endOfStream = false;
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === wire.httpHeadersHeaders)
      headers = readRepeated(new Map(), bytes, readEnd(bytes, end), wire.headerMapHeaders, readHeader);
    else if (tag >>> 3 === wire.httpHeadersEndOfStream) endOfStream = readVarint(bytes, end) !== 0;
    else skip(tag, bytes, end);
  }
  return { type, headers, endOfStream };
}

/** Reads each message in a repeated field into the map, and skips other fields. */
function readRepeated(into: Map<string, string>, bytes: Buffer, end: number, field: number, read: ReadInto) {
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === field) read(into, bytes, readEnd(bytes, end));
    else skip(tag, bytes, end);
  }
  return into;
}

type ReadInto = (into: Map<string, string>, bytes: Buffer, end: number) => void;

function readHeader(headers: Map<string, string>, bytes: Buffer, end: number): void {
  let name = '';
  let value = '';
  let raw = '';
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === wire.headerValueKey) name = readText(bytes, end).toLowerCase();
    else if (tag >>> 3 === wire.headerValueValue) value = readText(bytes, end);
    else if (tag >>> 3 === wire.headerValueRawValue) raw = readText(bytes, end);
    else skip(tag, bytes, end);
  }
  // Envoy fills raw_value; other data planes may still use value.
  const text = raw === '' ? value : raw;
  const before = headers.get(name);
  headers.set(name, before === undefined ? text : `${before}, ${text}`);
}

function readStruct(attributes: Map<string, string>, bytes: Buffer, end: number): void {
  readRepeated(attributes, bytes, end, wire.structFields, readField);
}

function readField(attributes: Map<string, string>, bytes: Buffer, end: number): void {
  let name = '';
  let text: string | null = null;
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === mapKey) name = readText(bytes, end);
    else if (tag >>> 3 === mapValue) text = readTextValue(bytes, readEnd(bytes, end));
    else skip(tag, bytes, end);
  }
  if (text !== null) attributes.set(name, text);
}

/** Reads the text of a `Value`; null for a value of another kind. */
function readTextValue(bytes: Buffer, end: number): string | null {
  let text: string | null = null;
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === wire.valueStringValue) text = readText(bytes, end);
    else skip(tag, bytes, end);
  }
  return text;
}

function readModes(bytes: Buffer, end: number): BodyModes {
  // A mode of the number 0 is not on the wire.
  let request = 0;
  let response = 0;
  while (at < end) {
    const tag = readVarint(bytes, end);
    if (tag >>> 3 === wire.protocolConfigurationRequestBodyMode) request = readVarint(bytes, end);
    else if (tag >>> 3 === wire.protocolConfigurationResponseBodyMode) response = readVarint(bytes, end);
    else skip(tag, bytes, end);
  }
  return { request: modesByNumber.get(request) ?? 'NONE', response: modesByNumber.get(response) ?? 'NONE' };
}

/** The body modes. In any other, such as `GRPC`, nothing is translated. */
const modes: readonly BodyMode[] = ['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED'];
const modesByNumber = new Map<number, BodyMode>(modes.map((mode) => [wire.bodySendMode[mode], mode]));

function readText(bytes: Buffer, end: number): string {
  const textEnd = readEnd(bytes, end);
  const text = bytes.toString('utf8', at, textEnd);
  at = textEnd;
  return text;
}

/** Reads a length, and returns the offset at which what has that length ends. */
function readEnd(bytes: Buffer, end: number): number {
  return ending(readVarint(bytes, end), end);
}

/** Reads the low 32 bits of at most five bytes, or ten of a negative enum. Libraries do not agree where six to nine end: they are refused. */
function readVarint(bytes: Buffer, end: number): number {
  let value = 0;
  for (let shift = 0; shift < 70 && at < end; shift += 7) {
    const byte = bytes[at++] ?? 0;
    if (shift < 35) value |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (shift >= 35 && shift < 63) break;
    return value >>> 0;
  }
  throw malformed();
}

function skip(tag: number, bytes: Buffer, end: number): void {
  switch (tag & 7) {
    case 0:
      while ((bytes[at] ?? 0) >= 0x80) at += 1;
      at = ending(1, end);
      break;
    case 1:
      at = ending(8, end);
      break;
    case 2:
      at = readEnd(bytes, end);
      break;
    case 5:
      at = ending(4, end);
      break;
    default:
      throw malformed();
  }
}

function ending(length: number, end: number): number {
  if (length > end - at) throw malformed();
  return at + length;
}

function malformed(): ProtocolError {
  return new ProtocolError('The message is not a ProcessingRequest.');
}
