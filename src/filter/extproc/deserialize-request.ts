import type { BodyMode, BodyModes, ExchangeEvent, HeaderMap } from '../exchange/types.ts';
import { type DecodedRequest, decodeRequest } from './decode-request.ts';
import { loadDefinitions } from './methods.ts';

/**
 * A `ProcessingRequest` from its bytes. Fast path: headers and bodies in the exact form in which Envoy writes them are
 * read by hand; anything else (other or repeated fields, another order, text that is not ASCII, lengths
 * that do not add up) is left to protobufjs. Throws what protobufjs throws, or `ProtocolError`. What it saves, and when to
 * delete `readByHand`: docs/decisions/0007-hand-written-decoders.md.
 */
export function deserializeRequest(bytes: Buffer): DecodedRequest {
  return readByHand(bytes) ?? decodeRequest(loadDefinitions().processMethod.requestDeserialize(bytes));
}

/** Where the next byte is read. */
let at = 0;

/** A message in Envoy's form; null for any other. */
export function readByHand(bytes: Buffer): DecodedRequest | null {
  at = 1;
  const end = readEnd(bytes, bytes.length);
  const event = end === -1 ? null : readEvent(bytes, end);
  if (event === null || at !== end) return null;
  let modes: BodyModes | null = null;
  while (at < bytes.length) {
    const tag = bytes[at++];
    const fieldEnd = readEnd(bytes, bytes.length);
    if (fieldEnd === -1) return null;
    switch (tag) {
      case 0x42: // metadata_context: in every message of Envoy's, mostly empty, and not for us
        at = fieldEnd;
        break;
      case 0x5a: // protocol_config
        modes = readModes(bytes, fieldEnd);
        if (modes === null || at !== fieldEnd) return null;
        break;
      default:
        return null;
    }
  }
  return { event, modes, observed: false };
}

function readEvent(bytes: Buffer, end: number): ExchangeEvent | null {
  switch (bytes[0]) {
    case 0x2a:
      return readBody('response_body', bytes, end);
    case 0x22:
      return readBody('request_body', bytes, end);
    case 0x12:
      return readHeaders('request_headers', bytes, end);
    case 0x1a:
      return readHeaders('response_headers', bytes, end);
    default:
      return null;
  }
}

const noBytes = Buffer.alloc(0);

function readBody(type: 'request_body' | 'response_body', bytes: Buffer, end: number): ExchangeEvent | null {
  let body: Buffer = noBytes;
  if (at < end && bytes[at] === 0x0a) {
    at += 1;
    const bodyEnd = readEnd(bytes, end);
    if (bodyEnd === -1) return null;
    body = bytes.subarray(at, bodyEnd);
    at = bodyEnd;
  }
  const endOfStream = readFlag(0x10, bytes, end);
  return endOfStream === null ? null : { type, body, endOfStream };
}

function readHeaders(type: 'request_headers' | 'response_headers', bytes: Buffer, end: number): ExchangeEvent | null {
  const headers = new Map<string, string>();
  if (at < end && bytes[at] === 0x0a) {
    at += 1;
    const mapEnd = readEnd(bytes, end);
    if (mapEnd === -1 || !readHeaderMap(headers, bytes, mapEnd)) return null;
  }
  const endOfStream = readFlag(0x18, bytes, end);
  return endOfStream === null ? null : { type, headers: headers satisfies HeaderMap, endOfStream };
}

function readHeaderMap(headers: Map<string, string>, bytes: Buffer, end: number): boolean {
  while (at < end) {
    if (bytes[at++] !== 0x0a) return false;
    const headerEnd = readEnd(bytes, end);
    if (headerEnd === -1 || bytes[at++] !== 0x0a) return false;
    const keyEnd = readEnd(bytes, headerEnd);
    if (keyEnd === -1 || !isAscii(bytes, at, keyEnd)) return false;
    const name = bytes.toString('latin1', at, keyEnd).toLowerCase();
    at = keyEnd;
    let value = '';
    if (at < headerEnd) {
      if (bytes[at++] !== 0x1a || readEnd(bytes, headerEnd) !== headerEnd) return false; // raw_value
      value = bytes.toString('utf8', at, headerEnd);
      at = headerEnd;
    }
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return true;
}

/** By number, as in `processing_mode.proto`; `GRPC` (5) is left to protobufjs. */
const modesByNumber: readonly BodyMode[] = ['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED'];

function readModes(bytes: Buffer, end: number): BodyModes | null {
  const request = readMode(0x08, bytes);
  const response = readMode(0x10, bytes);
  // send_body_without_waiting_for_header_response
  const isKnown = readFlag(0x18, bytes, end) !== null;
  return isKnown && request !== undefined && response !== undefined ? { request, response } : null;
}

function readMode(tag: number, bytes: Buffer): BodyMode | undefined {
  if (bytes[at] !== tag) return 'NONE';
  at += 2;
  return modesByNumber[bytes[at - 1] ?? -1];
}

/** Reads a boolean that may be the last field of its message; null if something else comes there. */
function readFlag(tag: number, bytes: Buffer, end: number): boolean | null {
  if (at === end) return false;
  if (at + 2 !== end || bytes[at] !== tag) return null;
  const value = bytes[at + 1];
  at = end;
  return value === 1 ? true : value === 0 ? false : null;
}

/** Reads a length and returns the offset where that field ends; -1 if it is beyond `limit` or the length exceeds 2^28. */
function readEnd(bytes: Buffer, limit: number): number {
  let length = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[at++];
    if (byte === undefined) return -1;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return at + length <= limit ? at + length : -1;
  }
  return -1;
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if ((bytes[index] ?? 0x80) >= 0x80) return false;
  return true;
}
