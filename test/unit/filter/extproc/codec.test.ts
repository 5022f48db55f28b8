import { describe, expect, test } from 'vitest';
import { ProtocolError } from '../../../../src/filter/exchange/phases.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { deserializeRequest } from '../../../../src/filter/extproc/deserialize-request.ts';
import { serializeReply } from '../../../../src/filter/extproc/serialize-reply.ts';
import { messageOf } from '../../../support/extproc-client.ts';
import type { ProcessingRequest } from '../../../support/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import { processMethod } from '../../../support/proto-definitions.ts';

const duplex: BodyModes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' };
const buffered: BodyModes = { request: 'BUFFERED', response: 'STREAMED' };

/** The reply as protobufjs reads it. */
function read(reply: ExchangeReply, modes: BodyModes): unknown {
  return processMethod.responseDeserialize(serializeReply(reply, modes));
}

/** What is read of the message as protobufjs writes it. */
function receive(message: ProcessingRequest) {
  return deserializeRequest(processMethod.requestSerialize(message));
}

const option = (key: string, value: string) => ({
  header: { key, raw_value: Buffer.from(value) },
  append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
});

describe('a reply on the wire', () => {
  test.each(['request', 'response'] as const)('to %s headers', (side) => {
    const headers = { set: { ':path': '/x', accept: 'text/plain' }, remove: ['content-length', 'etag'] };
    expect(read({ type: `${side}_headers`, headers }, buffered)).toEqual({
      [`${side}_headers`]: {
        response: {
          header_mutation: {
            set_headers: [option(':path', '/x'), option('accept', 'text/plain')],
            remove_headers: ['content-length', 'etag'],
          },
        },
      },
    });
    expect(read({ type: `${side}_headers` }, buffered)).toEqual({ [`${side}_headers`]: { response: {} } });
  });

  test.each(['request', 'response'] as const)('to a %s body in full duplex is a streamed piece', (side) => {
    const body = Buffer.from('piece');
    const modes = { ...buffered, [side]: 'FULL_DUPLEX_STREAMED' };
    expect(read({ type: `${side}_body`, body, endOfStream: false }, modes)).toEqual({
      [`${side}_body`]: { response: { body_mutation: { streamed_response: { body, end_of_stream: false } } } },
    });
    expect(read({ type: `${side}_body`, body: Buffer.alloc(0), endOfStream: true }, modes)).toEqual({
      [`${side}_body`]: {
        response: { body_mutation: { streamed_response: { body: Buffer.alloc(0), end_of_stream: true } } },
      },
    });
  });

  test.each(['request', 'response'] as const)('to a %s body elsewhere replaces, clears or leaves it', (side) => {
    const body = Buffer.from('whole');
    const headers = { set: { 'content-length': '5' } };
    expect(read({ type: `${side}_body`, body, headers, endOfStream: true }, buffered)).toEqual({
      [`${side}_body`]: {
        response: {
          header_mutation: { set_headers: [option('content-length', '5')] },
          body_mutation: { body },
        },
      },
    });
    expect(read({ type: `${side}_body`, body: Buffer.alloc(0), endOfStream: false }, buffered)).toEqual({
      [`${side}_body`]: { response: { body_mutation: { clear_body: true } } },
    });
    expect(read({ type: `${side}_body`, endOfStream: true }, buffered)).toEqual({ [`${side}_body`]: { response: {} } });
  });

  test.each(['request', 'response'] as const)('to %s trailers', (side) => {
    expect(read({ type: `${side}_trailers` }, duplex)).toEqual({ [`${side}_trailers`]: {} });
    expect(read({ type: `${side}_trailers`, headers: { remove: ['digest'] } }, duplex)).toEqual({
      [`${side}_trailers`]: { header_mutation: { remove_headers: ['digest'] } },
    });
  });

  test('of its own: an immediate response', () => {
    const body = Buffer.from('{"error":{}}');
    const headers = { 'content-type': 'application/json', 'retry-after': '2' };
    expect(read({ type: 'immediate_response', status: 503, headers, body, details: 'a:b' }, duplex)).toEqual({
      immediate_response: {
        status: { code: 503 },
        headers: {
          set_headers: [option('content-type', 'application/json'), option('retry-after', '2')],
        },
        body,
        details: 'a:b',
      },
    });
  });

  test('lets no line break and no byte beyond ASCII into a header', () => {
    const set = {
      'x-a': 'one\r\nset-cookie: two',
      'x-b': 'a\u0000b\u007f ü 世',
      'x-c': ' padded\t',
      'bad name': 'x',
      'x:y': 'x',
    };
    expect(read({ type: 'response_headers', headers: { set } }, buffered)).toEqual({
      response_headers: {
        response: {
          header_mutation: {
            set_headers: [option('x-a', 'one??set-cookie: two'), option('x-b', 'a?b? ? ?'), option('x-c', 'padded')],
          },
        },
      },
    });
  });

  test('with metadata has it under the service’s namespace, whatever kind it is', () => {
    const metadata = { total_tokens: 42, model: 'm\r\nx-forged: 1 \ud800', outcome: 'completed' };
    const fields = {
      total_tokens: { numberValue: 42 },
      // Safe as a header: Envoy does not check what it formats, and refuses text that is not UTF-8.
      model: { stringValue: 'm??x-forged: 1 ?' },
      outcome: { stringValue: 'completed' },
    };
    const replies: ExchangeReply[] = [
      { type: 'response_headers', metadata },
      { type: 'response_body', body: Buffer.from('x'), endOfStream: true, metadata },
      { type: 'response_trailers', metadata },
    ];
    for (const reply of replies)
      expect(read(reply, duplex)).toMatchObject({
        [reply.type]: {},
        dynamic_metadata: { fields: { responses_extproc: { structValue: { fields } } } },
      });
  });
});

describe('a message of Envoy', () => {
  const events: ExchangeEvent[] = [
    {
      type: 'request_headers',
      headers: new Map([
        [':path', '/v1'],
        ['x', 'ü'],
      ]),
      endOfStream: true,
    },
    { type: 'response_headers', headers: new Map([[':status', '200']]), endOfStream: false },
    { type: 'request_body', body: Buffer.from('bytes'), endOfStream: true },
    { type: 'response_body', body: Buffer.alloc(0), endOfStream: false },
    { type: 'request_trailers' },
    { type: 'response_trailers' },
  ];
  test.each(events)('$type is read', (event) => {
    expect(receive(messageOf(event))).toEqual({ event, modes: null, observed: false });
  });

  test('may name the modes in force; NONE is not on the wire', () => {
    const message = messageOf({ type: 'request_trailers' });
    const config = { request_body_mode: 'BUFFERED', response_body_mode: 'FULL_DUPLEX_STREAMED' } as const;
    expect(receive({ ...message, protocol_config: config }).modes).toEqual({
      request: 'BUFFERED',
      response: 'FULL_DUPLEX_STREAMED',
    });
    expect(receive({ ...message, protocol_config: {} }).modes).toEqual({ request: 'NONE', response: 'NONE' });
    expect(receive({ ...message, protocol_config: { request_body_mode: 'GRPC' } }).modes?.request).toBe('NONE');
  });

  test('may be for watching only', () => {
    expect(receive({ ...messageOf({ type: 'request_trailers' }), observability_mode: true }).observed).toBe(true);
  });

  test('joins a repeated header, in lower case, and reads a value that is not raw', () => {
    const headers = [
      { key: 'X-A', raw_value: Buffer.from('1') },
      { key: 'x-a', value: '2' },
      { key: 'x-a', value: '3', raw_value: Buffer.alloc(0) },
      { key: 'x-a', value: '4', raw_value: Buffer.from('5') },
      { key: 'x-a' },
    ];
    const { event } = receive({ request_headers: { headers: { headers }, end_of_stream: false } });
    expect(event).toMatchObject({ headers: new Map([['x-a', '1, 2, 3, 5, ']]) });
  });

  test('of an unknown kind is a protocol error', () => {
    expect(() => receive({})).toThrow(ProtocolError);
    // Field 99: what a later Envoy may add to the oneof.
    const later = Buffer.from([0x9a, 0x06, 0x00]);
    expect(() => deserializeRequest(later)).toThrow(ProtocolError);
  });
});
