import {
  type ProcessingResponse,
  processMethod,
  type WireBodyMutation,
  type WireCommonResponse,
  type WireHeaderMutation,
} from './messages.ts';

/**
 * A `ProcessingResponse` as bytes: the very bytes that protobufjs gives, which for headers and bodies are written by hand
 * here, at a quarter of the cost. What is rare goes through protobufjs.
 */
export function serializeResponse(message: ProcessingResponse): Buffer {
  if (message.response_body !== undefined) return serialize(0x22, message.response_body);
  if (message.request_body !== undefined) return serialize(0x1a, message.request_body);
  if (message.response_headers !== undefined) return serialize(0x12, message.response_headers);
  if (message.request_headers !== undefined) return serialize(0x0a, message.request_headers);
  return processMethod.responseSerialize(message);
}

/**
 * Written from the last byte to the first: what stands in front of a nested message is its length, which is known once it
 * is written. `at` is the first byte written so far.
 */
let bytes: Buffer = Buffer.alloc(0);
let at = 0;

function serialize(tag: number, { response }: WireCommonResponse): Buffer {
  const { header_mutation: headers, body_mutation: body } = response;
  bytes = Buffer.allocUnsafe(roomForHeaders(headers) + roomForBody(body) + 2 * roomForTag);
  at = bytes.length;
  const end = at;
  if (body !== undefined) putBody(body);
  if (headers !== undefined) putHeaders(headers);
  putTag(0x0a, end); // response
  putTag(tag, end);
  return bytes.subarray(at);
}

function putBody(mutation: WireBodyMutation): void {
  const end = at;
  if ('streamed_response' in mutation) {
    const { body, end_of_stream } = mutation.streamed_response;
    putFlag(0x10, end_of_stream);
    putBytes(0x0a, body);
    putTag(0x1a, end); // streamed_response
  } else if ('body' in mutation) putBytes(0x0a, mutation.body);
  else putFlag(0x10, mutation.clear_body);
  putTag(0x1a, end); // body_mutation
}

function putHeaders({ set_headers: set = [], remove_headers: remove = [] }: WireHeaderMutation): void {
  const end = at;
  for (let index = remove.length - 1; index >= 0; index--) putText(0x12, remove[index] ?? '');
  for (let index = set.length - 1; index >= 0; index--) {
    const header = set[index]?.header;
    if (header === undefined) continue;
    const endOfOption = at;
    putVarint(2); // OVERWRITE_IF_EXISTS_OR_ADD
    putByte(0x18); // append_action
    const endOfHeader = at;
    putBytes(0x1a, header.raw_value);
    putText(0x0a, header.key);
    putTag(0x0a, endOfHeader); // header
    putTag(0x0a, endOfOption); // set_headers
  }
  putTag(0x12, end); // header_mutation
}

/** Tag and length: five bytes of length are the most. */
const roomForTag = 6;

function roomForHeaders(headers: WireHeaderMutation | undefined): number {
  if (headers === undefined) return 0;
  let room = roomForTag;
  // A UTF-16 unit becomes three bytes at most.
  for (const { header } of headers.set_headers ?? [])
    room += 4 * roomForTag + 2 + 3 * header.key.length + header.raw_value.length;
  for (const name of headers.remove_headers ?? []) room += roomForTag + 3 * name.length;
  return room;
}

function roomForBody(mutation: WireBodyMutation | undefined): number {
  if (mutation === undefined) return 0;
  if ('streamed_response' in mutation) return 3 * roomForTag + 2 + mutation.streamed_response.body.length;
  return 2 * roomForTag + ('body' in mutation ? mutation.body.length : 2);
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
  at -= value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
  let to = at;
  let rest = value;
  while (rest >= 0x80) {
    bytes[to++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[to] = rest;
}
