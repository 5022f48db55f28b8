import { Buffer } from 'node:buffer';
import type { BodyModes, ExchangeReply, HeaderMutation, UsageMetadata } from '../exchange/types.ts';
import { encodeReply, headerText, isHeaderName, metadataNamespace } from './encode-reply.ts';
import { loadDefinitions } from './methods.ts';

/**
 * A reply as the bytes of its `ProcessingResponse`, exactly as protobufjs writes `encodeReply(reply)`. Fast path: headers
 * and bodies are written by hand, without intermediate objects; the rare kinds go through protobufjs. `roomInFront` bytes
 * are left free in front. What it saves, and when to delete it: docs/decisions/0007-hand-written-decoders.md.
 */
export function serializeReply(reply: ExchangeReply, modes: BodyModes, roomInFront = 0): Buffer {
  switch (reply.type) {
    case 'response_body':
      return serialize(0x22, reply, reply, modes.response === 'FULL_DUPLEX_STREAMED', roomInFront);
    case 'request_body':
      return serialize(0x1a, reply, reply, modes.request === 'FULL_DUPLEX_STREAMED', roomInFront);
    case 'response_headers':
      return serialize(0x12, reply, null, false, roomInFront);
    case 'request_headers':
      return serialize(0x0a, reply, null, false, roomInFront);
    case 'request_trailers':
    case 'response_trailers':
    case 'immediate_response':
      return serializeGeneral(reply, modes, roomInFront);
  }
}

function serializeGeneral(reply: ExchangeReply, modes: BodyModes, roomInFront: number): Buffer {
  const written = loadDefinitions().processMethod.responseSerialize(encodeReply(reply, modes));
  return roomInFront === 0 ? written : Buffer.concat([Buffer.alloc(roomInFront), written]);
}

type BodyReply = Extract<ExchangeReply, { type: 'request_body' | 'response_body' }>;

const noBytes = Buffer.alloc(0);

/**
 * Written from the last byte to the first: a nested message is preceded by its length, which is known once it is written.
 * `at` is the first byte written so far.
 */
let bytes: Buffer = noBytes;
let at = 0;

function serialize(
  tag: number,
  { headers, metadata }: { readonly headers?: HeaderMutation; readonly metadata?: UsageMetadata },
  body: BodyReply | null,
  streamed: boolean,
  roomInFront: number,
): Buffer {
  const ofBody = body === null ? 0 : sizeOfBody(body, streamed);
  // Without headers and metadata the size is exact, and the buffer is the message.
  const size =
    (headers === undefined ? sizeOfField(sizeOfField(ofBody)) : ofBody + roomForHeaders(headers) + 2 * roomForTag) +
    (metadata === undefined ? 0 : roomForMetadata(metadata));
  bytes = Buffer.allocUnsafe(size + roomInFront);
  at = bytes.length;
  if (metadata !== undefined) putMetadata(metadata);
  const end = at;
  if (body !== null) putBody(body, streamed);
  if (headers !== undefined) putHeaders(headers);
  putTag(0x0a, end); // response
  putTag(tag, end);
  const written = at === roomInFront ? bytes : bytes.subarray(at - roomInFront);
  bytes = noBytes; // the body may be large, and this variable would keep it alive until the next reply
  return written;
}

function putBody({ body, endOfStream }: BodyReply, streamed: boolean): void {
  const end = at;
  if (streamed) {
    putFlag(0x10, endOfStream);
    putBytes(0x0a, body ?? noBytes);
    putTag(0x1a, end); // streamed_response
  } else if (body === undefined) return;
  else if (body.length > 0) putBytes(0x0a, body);
  else putFlag(0x10, true); // clear_body: absent bytes would pass Envoy's own
  putTag(0x1a, end); // body_mutation
}

function putHeaders({ set = {}, remove = [] }: HeaderMutation): void {
  const end = at;
  for (let index = remove.length - 1; index >= 0; index--) putText(0x12, remove[index] ?? '');
  const names = Object.keys(set);
  for (let index = names.length - 1; index >= 0; index--) {
    const name = names[index] ?? '';
    if (!isHeaderName(name)) continue;
    const endOfOption = at;
    putByte(2); // OVERWRITE_IF_EXISTS_OR_ADD
    putByte(0x18); // append_action
    const endOfHeader = at;
    putText(0x1a, headerText(set[name] ?? '')); // raw_value
    putText(0x0a, name); // key
    putTag(0x0a, endOfHeader); // header
    putTag(0x0a, endOfOption); // set_headers
  }
  if (at < end) putTag(0x12, end); // header_mutation
}

/** A `google.protobuf.Struct` of numbers and texts, under the one name of the namespace. */
function putMetadata(metadata: UsageMetadata): void {
  const end = at;
  const names = Object.keys(metadata);
  for (let index = names.length - 1; index >= 0; index--) {
    const name = names[index] ?? '';
    const value = metadata[name] ?? '';
    const endOfEntry = at;
    if (typeof value === 'number') {
      at -= 8;
      bytes.writeDoubleLE(value, at);
      putByte(0x11); // number_value
    } else putText(0x1a, headerText(value)); // string_value
    putTag(0x12, endOfEntry); // value
    putText(0x0a, name); // key
    putTag(0x0a, endOfEntry); // fields
  }
  putTag(0x2a, end); // struct_value
  putTag(0x12, end); // value
  putText(0x0a, metadataNamespace); // key
  putTag(0x0a, end); // fields
  putTag(0x42, end); // dynamic_metadata
}

function roomForMetadata(metadata: UsageMetadata): number {
  let room = 5 * roomForTag + metadataNamespace.length;
  for (const name in metadata) {
    const value = metadata[name] ?? '';
    room += 4 * roomForTag + 3 * name.length + (typeof value === 'number' ? 9 : value.length);
  }
  return room;
}

/** Tag and length: five bytes of length are the most. */
const roomForTag = 6;

function roomForHeaders({ set = {}, remove = [] }: HeaderMutation): number {
  let room = roomForTag;
  // A UTF-16 unit becomes at most three bytes; values are reduced to ASCII.
  for (const name in set) room += 4 * roomForTag + 2 + 3 * name.length + (set[name] ?? '').length;
  for (const name of remove) room += roomForTag + 3 * name.length;
  return room;
}

function sizeOfBody({ body }: BodyReply, streamed: boolean): number {
  if (streamed) return sizeOfField(sizeOfField(sizeOfField(body?.length ?? 0) + 2));
  if (body === undefined) return 0;
  return sizeOfField(body.length === 0 ? 2 : sizeOfField(body.length));
}

/** Of a field with so many bytes. */
function sizeOfField(length: number): number {
  return 1 + sizeOfVarint(length) + length;
}

/** In front of a nested message that ends at `end`. */
function putTag(tag: number, end: number): void {
  putVarint(end - at);
  putByte(tag);
}

function putBytes(tag: number, value: Uint8Array): void {
  const end = at;
  at -= value.length;
  bytes.set(value, at);
  putTag(tag, end);
}

function putText(tag: number, text: string): void {
  const end = at;
  at -= Buffer.byteLength(text);
  bytes.write(text, at);
  putTag(tag, end);
}

function putFlag(tag: number, value: boolean): void {
  putByte(value ? 1 : 0);
  putByte(tag);
}

function putByte(value: number): void {
  at -= 1;
  bytes[at] = value;
}

function putVarint(value: number): void {
  at -= sizeOfVarint(value);
  let to = at;
  let rest = value;
  while (rest >= 0x80) {
    bytes[to++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[to] = rest;
}

function sizeOfVarint(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
}
