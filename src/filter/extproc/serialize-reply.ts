import { Buffer } from 'node:buffer';
import type { BodyModes, ExchangeReply, HeaderMutation, UsageMetadata } from '../exchange/types.ts';

/** Of the dynamic metadata; the filter's `metadata_options` must list it. */
const metadataNamespace = 'responses_extproc';

/** Field and wire type of each kind of reply in a `ProcessingResponse`. */
const tags = {
  request_headers: 0x0a,
  response_headers: 0x12,
  request_body: 0x1a,
  response_body: 0x22,
  request_trailers: 0x2a,
  response_trailers: 0x32,
  immediate_response: 0x3a,
} as const satisfies Record<ExchangeReply['type'], number>;

/** Written from the last byte to the first, as a nested message follows its length. `at`: the first so far. */
let bytes: Buffer = Buffer.alloc(0);
let at = 0;

/**
 * A reply as the bytes of its `ProcessingResponse`, in the body modes in force; `roomInFront` bytes are left free in front.
 *
 * Fast path, written by hand: docs/decisions/0007-hand-written-decoders.md.
 */
export function serializeReply(reply: ExchangeReply, modes: BodyModes, roomInFront = 0): Buffer {
  bytes = Buffer.allocUnsafe(roomFor(reply, modes) + roomInFront);
  at = bytes.length;
  if (reply.metadata !== undefined) putMetadata(reply.metadata);
  const end = at;
  switch (reply.type) {
    case 'request_headers':
    case 'response_headers':
      if (reply.headers !== undefined) putHeaders(0x12, reply.headers);
      putTag(0x0a, end); // response
      break;
    case 'request_body':
    case 'response_body':
      putBody(reply, isStreamed(reply, modes));
      if (reply.headers !== undefined) putHeaders(0x12, reply.headers);
      putTag(0x0a, end); // response
      break;
    case 'request_trailers':
    case 'response_trailers':
      if (reply.headers !== undefined) putHeaders(0x0a, reply.headers);
      break;
    case 'immediate_response': {
      putText(0x2a, reply.details);
      putBytes(0x1a, reply.body);
      putHeaders(0x12, { set: reply.headers });
      const endOfStatus = at;
      putVarint(reply.status);
      putByte(0x08); // code
      putTag(0x0a, endOfStatus);
      break;
    }
  }
  putTag(tags[reply.type], end);
  const written = at === roomInFront ? bytes : bytes.subarray(at - roomInFront);
  bytes = noBytes; // the body may be large, and this variable would keep it alive until the next reply
  return written;
}

type BodyReply = Extract<ExchangeReply, { type: 'request_body' | 'response_body' }>;

const noBytes = Buffer.alloc(0);

/** In full duplex a body is sent in pieces. */
function isStreamed({ type }: BodyReply, { request, response }: BodyModes): boolean {
  return (type === 'request_body' ? request : response) === 'FULL_DUPLEX_STREAMED';
}

/** Bytes that are enough for the reply; as many as it has where it is a body alone, which is then not copied. */
function roomFor(reply: ExchangeReply, modes: BodyModes): number {
  const { metadata } = reply;
  const ofMetadata = metadata ? 5 * roomForTag + metadataNamespace.length + roomForEntries(metadata) : 0;
  if (reply.type === 'immediate_response')
    return (
      ofMetadata + roomForHeaders({ set: reply.headers }) + reply.body.length + reply.details.length + 5 * roomForTag
    );
  const ofBody = 'endOfStream' in reply ? sizeOfBody(reply, isStreamed(reply, modes)) : 0;
  if (reply.headers === undefined) return ofMetadata + sizeOfField(sizeOfField(ofBody));
  return ofMetadata + ofBody + roomForHeaders(reply.headers) + 2 * roomForTag;
}

function putBody({ body, endOfStream }: BodyReply, streamed: boolean): void {
  if (body === undefined) return;
  const end = at;
  if (streamed) {
    putFlag(0x10, endOfStream);
    putBytes(0x0a, body);
    putTag(0x1a, end); // streamed_response
  } else if (body.length > 0) putBytes(0x0a, body);
  else putFlag(0x10, true); // clear_body: absent bytes would pass Envoy's own
  putTag(0x1a, end); // body_mutation
}

/** A `HeaderMutation`, unless it changes nothing. */
function putHeaders(tag: number, { set = {}, remove = [] }: HeaderMutation): void {
  const end = at;
  for (const name of remove.toReversed()) putText(0x12, name);
  for (const name of Object.keys(set).reverse()) {
    if (!headerName.test(name)) continue;
    const endOfOption = at;
    putByte(2); // OVERWRITE_IF_EXISTS_OR_ADD
    putByte(0x18); // append_action: its default differs between Envoy versions
    const endOfHeader = at;
    putText(0x1a, headerText(set[name] ?? '')); // raw_value
    putText(0x0a, name); // key
    putTag(0x0a, endOfHeader); // header
    putTag(0x0a, endOfOption); // set_headers
  }
  if (at < end) putTag(tag, end);
}

/** What Envoy accepts as the name of a header; a mutation of any other name is omitted. */
const headerName = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** Printable ASCII only: no line break and no invalid byte of an upstream or a client gets into a header. */
function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, '?').trim();
}

/** A `google.protobuf.Struct`. Texts may get into headers and lines of logs, and are reduced as a header's. */
function putMetadata(metadata: UsageMetadata): void {
  const end = at;
  for (const name of Object.keys(metadata).reverse()) {
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

/** Tag and length: five bytes of length are the most. */
const roomForTag = 6;

function roomForHeaders({ set = {}, remove = [] }: HeaderMutation): number {
  return remove.reduce((room, name) => room + roomForTag + 3 * name.length, roomForTag + roomForEntries(set));
}

/** A UTF-16 unit of a name becomes at most three bytes; values are reduced to ASCII, and a number has eight bytes. */
function roomForEntries(entries: UsageMetadata): number {
  let room = 0;
  for (const name in entries) {
    const value = entries[name];
    room += 4 * roomForTag + 3 * name.length + (typeof value === 'string' ? value.length + 2 : 9);
  }
  return room;
}

function sizeOfBody({ body }: BodyReply, streamed: boolean): number {
  if (body === undefined) return 0;
  if (streamed) return sizeOfField(sizeOfField(sizeOfField(body.length) + 2));
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
