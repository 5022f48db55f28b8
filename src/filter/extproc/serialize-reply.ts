import { Buffer } from 'node:buffer';
import type { BodyModes, ExchangeReply, HeaderMutation, UsageMetadata } from '../exchange/types.ts';
import * as wire from './wire-numbers.ts';

/** Namespace of the dynamic metadata; the filter's `metadata_options` must list it. */
const metadataNamespace = 'responses_extproc';

/** The tag of each kind of reply in a `ProcessingResponse`. */
const tags = {
  request_headers: wire.processingResponseRequestHeadersTag,
  response_headers: wire.processingResponseResponseHeadersTag,
  request_body: wire.processingResponseRequestBodyTag,
  response_body: wire.processingResponseResponseBodyTag,
  request_trailers: wire.processingResponseRequestTrailersTag,
  response_trailers: wire.processingResponseResponseTrailersTag,
  immediate_response: wire.processingResponseImmediateResponseTag,
} as const satisfies Record<ExchangeReply['type'], number>;

/** Each entry of a map is a message of these two fields, here a text and a message. */
const mapKeyTag = 0x0a;
const mapValueTag = 0x12;

/** The reply is written from its last byte to its first, since a nested message follows its length; `at` is the first byte so far. */
let bytes: Buffer = Buffer.alloc(0);
let at = 0;

/**
 * Writes the `ProcessingResponse` of a reply, in the body modes in force; `roomInFront` bytes are left free in front.
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
      if (reply.headers !== undefined) putHeaders(wire.commonResponseHeaderMutationTag, reply.headers);
      putTag(wire.headersResponseResponseTag, end);
      break;
    case 'request_body':
    case 'response_body':
      putBody(reply, isStreamed(reply, modes));
      if (reply.headers !== undefined) putHeaders(wire.commonResponseHeaderMutationTag, reply.headers);
      putTag(wire.bodyResponseResponseTag, end);
      break;
    case 'request_trailers':
    case 'response_trailers':
      if (reply.headers !== undefined) putHeaders(wire.trailersResponseHeaderMutationTag, reply.headers);
      break;
    case 'immediate_response': {
      putText(wire.immediateResponseDetailsTag, reply.details);
      putBytes(wire.immediateResponseBodyTag, reply.body);
      putHeaders(wire.immediateResponseHeadersTag, { set: reply.headers });
      const endOfStatus = at;
      putVarint(reply.status);
      putByte(wire.httpStatusCodeTag);
      putTag(wire.immediateResponseStatusTag, endOfStatus);
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

/** Returns bytes that are enough for the reply; the exact number for a body alone, which is then not copied. */
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
    putFlag(wire.streamedBodyResponseEndOfStreamTag, endOfStream);
    putBytes(wire.streamedBodyResponseBodyTag, body);
    putTag(wire.bodyMutationStreamedResponseTag, end);
  } else if (body.length > 0) putBytes(wire.bodyMutationBodyTag, body);
  else putFlag(wire.bodyMutationClearBodyTag, true); // absent bytes would pass Envoy's own
  putTag(wire.commonResponseBodyMutationTag, end);
}

/** Writes a `HeaderMutation`, unless it changes nothing. */
function putHeaders(tag: number, { set = {}, remove = [] }: HeaderMutation): void {
  const end = at;
  for (const name of remove.toReversed()) putText(wire.headerMutationRemoveHeadersTag, name);
  for (const name of Object.keys(set).reverse()) {
    if (!headerName.test(name)) continue;
    const endOfOption = at;
    putByte(wire.headerAppendAction.OVERWRITE_IF_EXISTS_OR_ADD);
    putByte(wire.headerValueOptionAppendActionTag); // its default differs between Envoy versions
    const endOfHeader = at;
    putText(wire.headerValueRawValueTag, headerText(set[name] ?? ''));
    putText(wire.headerValueKeyTag, name);
    putTag(wire.headerValueOptionHeaderTag, endOfHeader);
    putTag(wire.headerMutationSetHeadersTag, endOfOption);
  }
  if (at < end) putTag(tag, end);
}

/** The names of headers that Envoy accepts; a mutation of any other name is omitted. */
const headerName = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** Reduces a text to printable ASCII: no line break or invalid byte of an upstream or a client gets into a header. */
function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e]/g, '?').trim();
}

/** Writes a `google.protobuf.Struct`. Its texts may get into headers and logs, and are reduced as a header's. */
function putMetadata(metadata: UsageMetadata): void {
  const end = at;
  for (const name of Object.keys(metadata).reverse()) {
    const value = metadata[name] ?? '';
    const endOfEntry = at;
    if (typeof value === 'number') {
      at -= 8;
      bytes.writeDoubleLE(value, at);
      putByte(wire.valueNumberValueTag);
    } else putText(wire.valueStringValueTag, headerText(value));
    putTag(mapValueTag, endOfEntry);
    putText(mapKeyTag, name);
    putTag(wire.structFieldsTag, endOfEntry);
  }
  putTag(wire.valueStructValueTag, end);
  putTag(mapValueTag, end);
  putText(mapKeyTag, metadataNamespace);
  putTag(wire.structFieldsTag, end);
  putTag(wire.processingResponseDynamicMetadataTag, end);
}

/** The most bytes of a tag and a length. */
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

function sizeOfField(length: number): number {
  return 1 + sizeOfVarint(length) + length;
}

/** Writes tag and length in front of a nested message that ends at `end`. */
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
