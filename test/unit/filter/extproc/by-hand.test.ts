import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../../../../src/filter/exchange/phases.ts';
import type { BodyMode, ExchangeEvent, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { type DecodedRequest, deserializeRequest } from '../../../../src/filter/extproc/deserialize-request.ts';
import { serializeReply } from '../../../../src/filter/extproc/serialize-reply.ts';
import { codePoint } from '../../../support/code-point.ts';
import type { ProcessingRequest } from '../../../support/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import { runs } from '../../../support/property-runs.ts';
import { processMethod } from '../../../support/proto-definitions.ts';

const mode = fc.constantFrom<BodyMode>('NONE', 'BUFFERED', 'STREAMED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED');
const body = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  // Around the sizes at which a length takes a byte more.
  fc.constantFrom(127, 128, 16_383, 16_384, 62_000).map((size) => new Uint8Array(size).fill(97)),
);
const bytesOf = (value: Uint8Array) => Buffer.from(value);
const name = fc.oneof(
  fc.constantFrom('accept', ':path', 'X-Ünusual', ''),
  fc.string({ maxLength: 12, unit: codePoint }),
);

const partial = { requiredKeys: [] };

describe('a response written by hand', () => {
  const mutation = fc.record(
    { set: fc.dictionary(name, fc.string({ maxLength: 200 })), remove: fc.array(name, { maxLength: 4 }) },
    { requiredKeys: [] },
  );
  const metadata = fc.dictionary(fc.string(), fc.oneof(fc.string({ unit: codePoint }), fc.double()));
  const reply: fc.Arbitrary<ExchangeReply> = fc.oneof(
    fc.record(
      { type: fc.constantFrom('request_headers' as const, 'response_headers' as const), headers: mutation, metadata },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constantFrom('request_body' as const, 'response_body' as const),
        body: fc.oneof({ weight: 20, arbitrary: body }, fc.constant(new Uint8Array(2_097_152))).map(bytesOf),
        headers: mutation,
        endOfStream: fc.boolean(),
        metadata,
      },
      { requiredKeys: ['type', 'endOfStream'] },
    ),
    fc.record({ type: fc.constantFrom('request_trailers' as const, 'response_trailers' as const) }),
    fc.record({
      type: fc.constant('immediate_response' as const),
      status: fc.constantFrom(400, 503),
      headers: fc.dictionary(name, fc.string()),
      body: body.map(bytesOf),
      details: fc.string(),
    }),
  );

  it('is what protobufjs reads, and writes in the same bytes', () => {
    fc.assert(
      fc.property(reply, mode, mode, (value, request, response) => {
        const written = serializeReply(value, { request, response });
        expect(rewritten(written).equals(written)).toBe(true);
        // With room for what a transport puts in front.
        expect(serializeReply(value, { request, response }, 5).subarray(5).equals(written)).toBe(true);
      }),
      { numRuns: runs(1000) },
    );
  });
});

function rewritten(bytes: Buffer): Buffer {
  return processMethod.responseSerialize(processMethod.responseDeserialize(bytes));
}

it('metadata written by hand has room for long values and for many', () => {
  const modes = { request: 'BUFFERED', response: 'BUFFERED' } as const;
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`a${index}`, index]));
  for (const metadata of [{ model: 'm'.repeat(5000) }, many, { ...many, model: 'm'.repeat(5000) }]) {
    const written = serializeReply({ type: 'response_headers', headers: {}, metadata }, modes);
    expect(rewritten(written)).toEqual(written);
    const fields = Object.entries(metadata).map(([name, value]) => [
      name,
      typeof value === 'number' ? { numberValue: value } : { stringValue: value },
    ]);
    expect(processMethod.responseDeserialize(written).dynamic_metadata?.fields).toEqual({
      responses_extproc: { structValue: { fields: Object.fromEntries(fields) } },
    });
  }
});

it('a long body written by hand has room beside headers that change nothing', () => {
  const body = Buffer.alloc(16_384, 'x');
  const reply = { type: 'response_body', body, headers: {}, endOfStream: true } as const;
  const written = serializeReply(reply, { request: 'BUFFERED', response: 'BUFFERED' });
  expect(processMethod.responseDeserialize(written)).toEqual({
    response_body: { response: { body_mutation: { body } } },
  });
});

it('a body written by hand is in a buffer of its size: none of it is left over', () => {
  const modes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' } as const;
  for (const size of [40_000, 62_000, 100_000])
    for (const room of [0, 5]) {
      const body = Buffer.alloc(size, 'x');
      const written = serializeReply({ type: 'response_body', body, endOfStream: true }, modes, room);
      expect([written.byteOffset, written.buffer.byteLength]).toEqual([0, written.length]);
    }
});

describe('a request read by hand', () => {
  const header = fc.record({ key: name, value: fc.string(), raw_value: fc.uint8Array({ maxLength: 140 }) }, partial);
  const headers = fc.record(
    { headers: fc.record({ headers: fc.array(header, { maxLength: 6 }) }), end_of_stream: fc.boolean() },
    partial,
  );
  const sentBody = fc.record({ body, end_of_stream: fc.boolean() }, partial);
  const bodyMode = fc.oneof(mode, fc.constant('GRPC' as const));
  const config = fc.record(
    {
      request_body_mode: bodyMode,
      response_body_mode: bodyMode,
      send_body_without_waiting_for_header_response: fc.boolean(),
    },
    partial,
  );
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.record({ stringValue: fc.string({ unit: codePoint }) }) },
    fc.record({ numberValue: fc.double() }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({
      structValue: fc.record({ fields: fc.dictionary(name, fc.record({ stringValue: fc.string() }), { maxKeys: 2 }) }),
    }),
    fc.record({
      listValue: fc.record({ values: fc.array(fc.record({ stringValue: fc.string() }), { maxLength: 2 }) }),
    }),
  );
  const attributes = fc.dictionary(name, fc.record({ fields: fc.dictionary(name, value, { maxKeys: 4 }) }), {
    maxKeys: 2,
  });
  const message: fc.Arbitrary<ProcessingRequest> = fc
    .tuple(
      fc.oneof(
        fc.record({ request_headers: headers }),
        fc.record({ response_headers: headers }),
        fc.record({ request_body: sentBody }),
        fc.record({ response_body: sentBody }),
        fc.record({ request_trailers: fc.constant({}) }),
        fc.record({ response_trailers: fc.constant({}) }),
      ),
      fc.record({ observability_mode: fc.boolean(), protocol_config: config, attributes }, partial),
    )
    .map(([event, others]) => ({ ...event, ...others }));
  const bytes = fc
    .tuple(message, fc.constantFrom([], [0x42, 0]))
    .map(([value, metadata]) => Buffer.concat([processMethod.requestSerialize(value), Buffer.from(metadata)]));

  /** The value, or that there is none. */
  function outcomeOf(read: () => unknown): unknown {
    try {
      return read();
    } catch {
      return 'thrown';
    }
  }
  function expectAgreement(sent: Buffer): void {
    expectSame(
      outcomeOf(() => deserializeRequest(sent)),
      outcomeOf(() => readByLibrary(sent)),
    );
  }
  function expectSame(byHand: unknown, general: unknown): void {
    // `toEqual` compares buffers byte by byte, which is slow, so it is given only what seems to differ.
    expect(isDeepStrictEqual(byHand, general) ? general : byHand).toEqual(general);
  }
  /** Of bytes that no protobuf library writes: protobufjs skips groups, and takes text that ends too early. */
  function expectRefusedOrSame(sent: Buffer): void {
    const byHand = outcomeOf(() => deserializeRequest(sent));
    const general = outcomeOf(() => readByLibrary(sent));
    if (byHand !== 'thrown' && general !== 'thrown') expectSame(byHand, general);
  }

  it('is as Envoy 1.40 writes it', () => {
    const body = '2a090a05646174613a10014200';
    expect(deserializeRequest(Buffer.from(body, 'hex'))).toEqual({
      event: { type: 'response_body', body: Buffer.from('data:'), endOfStream: true },
      modes: null,
      observed: false,
    });
    const headers = '12150a130a110a053a706174681a082f76312f7465737442005a0408021004';
    expect(deserializeRequest(Buffer.from(headers, 'hex'))).toEqual({
      event: { type: 'request_headers', headers: new Map([[':path', '/v1/test']]), endOfStream: false },
      modes: { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' },
      observed: false,
    });
  });

  it.each([127, 128, 129, 16_383, 16_384, 62_000])('has a view of a body of %i bytes', (size) => {
    const sent = processMethod.requestSerialize({ response_body: { body: Buffer.alloc(size, 97) } });
    const { event } = deserializeRequest(sent);
    expect(event).toEqual({ type: 'response_body', body: Buffer.alloc(size, 97), endOfStream: false });
    expect('body' in event && event.body.buffer).toBe(sent.buffer);
  });

  it('is what protobufjs reads', () => {
    fc.assert(fc.property(bytes, expectAgreement), { numRuns: runs(1000) });
  });

  it('also with fields of a later version, at the end or inside', () => {
    // Field 15 as a varint, as bytes, as 32 and as 64 bits; field 2 of HttpHeaders and HttpBody in their own way.
    const unknown = fc.constantFrom(
      [0x78, 1],
      [0x7a, 2, 1, 2],
      [0x7d, 1, 2, 3, 4],
      [0x79, 1, 2, 3, 4, 5, 6, 7, 8],
      [0x12, 0],
      [0x10, 1],
      [0x18, 1],
      [0x42, 0],
      [0x42, 2, 1, 2],
    );
    fc.assert(
      fc.property(bytes, unknown, fc.nat(), (sent, field, where) => {
        if ((field[0] ?? 0) >= 0x42) expectAgreement(Buffer.concat([sent, Buffer.from(field)]));
        const cut = where % (sent.length + 1);
        expectRefusedOrSame(Buffer.concat([sent.subarray(0, cut), Buffer.from(field), sent.subarray(cut)]));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('skips such a field in every message inside, even if it looks like the message’s own', () => {
    const inside = (tag: number, content: readonly number[]) => [tag, content.length, ...content];
    const text = (tag: number, value: string) => inside(tag, [...Buffer.from(value)]);
    const header = (value: string) => [...text(0x0a, 'x'), ...text(0x1a, value)];
    const textValue = (value: string) => text(0x1a, value);
    const fieldOf = (value: string) => [...text(0x0a, 'n'), ...inside(0x12, textValue(value))];
    const structOf = (value: string) => inside(0x0a, fieldOf(value));
    const inHeaders = (content: number[]) => inside(0x12, content);
    const inMap = (content: number[]) => inHeaders(inside(0x0a, content));
    const inAttributes = (content: number[]) => [0x1a, 0, ...inside(0x4a, content)];
    const inStruct = (content: number[]) => inAttributes(inside(0x12, content));
    const inField = (content: number[]) => inStruct(inside(0x0a, content));
    const messages: readonly [content: (value: string) => number[], around: (content: number[]) => number[]][] = [
      [header, (content) => inMap(inside(0x0a, content))],
      [(value) => inside(0x0a, header(value)), inMap],
      [(value) => inside(0x0a, inside(0x0a, header(value))), inHeaders],
      [(value) => text(0x0a, value), (content) => inside(0x2a, content)],
      [(value) => [0x08, value === 'a' ? 2 : 4], (content) => [0x2a, 0, ...inside(0x5a, content)]],
      [(value) => inside(0x12, structOf(value)), inAttributes],
      [structOf, inStruct],
      [fieldOf, inField],
      [textValue, (content) => inField([...text(0x0a, 'n'), ...inside(0x12, content)])],
    ];
    for (const [content, around] of messages) {
      const plain = deserializeRequest(Buffer.from(around(content('a'))));
      expect(plain).not.toEqual(deserializeRequest(Buffer.from(around(content('b')))));
      // What the message's own fields are, and what is in the first of them.
      for (const other of [content('b'), content('b').slice(2)]) {
        const later = Buffer.from(around([...content('a'), ...inside(0x7a, other)]));
        expect(deserializeRequest(later), later.toString('hex')).toEqual(plain);
      }
    }
  });

  it('also when a field comes twice: the last one counts', () => {
    expectAgreement(Buffer.from([42, 5, 10, 1, 0, 16, 0, 90, 4, 8, 0, 16, 2, 90, 0]));
    expectAgreement(Buffer.from([42, 5, 10, 1, 0, 16, 0, 90, 4, 8, 0, 16, 2, 90, 2, 8, 4]));
    // Of modes the last ones count, as protobufjs reads them; the specification would have both merged.
    const body = [42, 5, 10, 1, 0, 16, 0];
    for (const second of [[8, 4, 16, 1], [8, 4], [16, 1], []])
      expectAgreement(Buffer.from([...body, 90, 4, 8, 2, 16, 2, 90, second.length, ...second]));
  });

  it('skips a field of a later version that is a number of up to ten bytes', () => {
    for (let length = 1; length <= 10; length++) {
      const number = [...Array.from({ length: length - 1 }, () => 0x80), 1];
      expectAgreement(Buffer.from([0x78, ...number, 0x2a, 0]));
      expectAgreement(Buffer.from([0x2a, 1 + length, 0x18, ...number]));
      expect(() => deserializeRequest(Buffer.from([0x2a, 0, 0x78, ...number.slice(0, -1)]))).toThrow(ProtocolError);
    }
  });

  it('is refused where a tag, a length or a flag has six to nine bytes', () => {
    for (let length = 2; length <= 10; length++) {
      const long = (value: number) => [value | 0x80, ...Array.from({ length: length - 2 }, () => 0x80), 0];
      const messages = [
        [...long(0x2a), 0],
        [0x2a, ...long(0)],
        [0x2a, length + 1, 0x10, ...long(1)],
      ].map(Buffer.from);
      for (const message of messages)
        if (length > 5 && length < 10) expect(() => deserializeRequest(message)).toThrow(ProtocolError);
        else expectAgreement(message);
    }
  });

  it('is refused where a length has all of its 32 bits', () => {
    const long = [0xff, 0xff, 0xff, 0xff, 0x0f];
    for (const message of [
      [0x2a, ...long],
      [0x2a, 6, 0x0a, ...long],
      [0x2a, 0, 0x7a, ...long],
      [0x2a, 6, 0x1a, ...long],
    ])
      expect(() => deserializeRequest(Buffer.from(message))).toThrow(ProtocolError);
  });

  it('has the mode in the low 32 bits of a number of ten bytes', () => {
    const number = [0x82, 0x80, 0x80, 0x80, 0x80, 0x81, 0x80, 0x80, 0x80, 0];
    const message = Buffer.from([0x2a, 0, 0x5a, 1 + number.length, 0x08, ...number]);
    expect(deserializeRequest(message).modes?.request).toBe('BUFFERED');
    expectAgreement(message);
  });

  it('is refused where a list of headers goes on with half a field', () => {
    const accept = [0x0a, 0x0b, 0x0a, 6, ...Buffer.from('accept'), 0x1a, 1, 0x2a];
    const headersOf = (...map: number[]) => Buffer.from([0x12, map.length + 2, 0x0a, map.length, ...map]);
    expectAgreement(headersOf(...accept));
    for (const wrong of [[0x10], [0x0a], [0x0a, 1], [0x0a, 1, 0x0a], [0x0b], [0x0a, 2, 0x12, 2]])
      for (const bytes of [headersOf(...accept, ...wrong), headersOf(...wrong)])
        expect(() => deserializeRequest(bytes), bytes.toString('hex')).toThrow(ProtocolError);
  });

  it('is refused or read as protobufjs reads it when it is cut off, or a byte is another', () => {
    fc.assert(
      fc.property(bytes, fc.nat(), fc.nat(255), (sent, where, byte) => {
        expectRefusedOrSame(sent.subarray(0, where % (sent.length + 1)));
        const damaged = Buffer.from(sent);
        if (damaged.length > 0) damaged[where % Math.min(damaged.length, 64)] = byte;
        expectRefusedOrSame(damaged);
      }),
      { numRuns: runs(3000) },
    );
  });
});

/** The message as an event, read by protobufjs. */
function readByLibrary(bytes: Buffer): DecodedRequest {
  const { observability_mode, protocol_config, attributes, ...kinds } = processMethod.requestDeserialize(bytes);
  const [[type, sent] = [], ...more] = Object.entries(kinds) as [ExchangeEvent['type'], Sent][];
  // Of several kinds the last one counts; protobufjs gives all of them.
  if (type === undefined || sent === undefined || more.length > 0) throw new Error('Not one kind of message.');
  const endOfStream = sent.end_of_stream === true;
  const modeOf = (given: unknown) => (typeof given === 'string' && given !== 'GRPC' ? (given as BodyMode) : 'NONE');
  return {
    event:
      type === 'request_headers' || type === 'response_headers'
        ? { type, headers: headersIn(sent), endOfStream, ...(type === 'response_headers' && attributesIn(attributes)) }
        : type === 'request_body' || type === 'response_body'
          ? { type, body: sent.body ?? Buffer.alloc(0), endOfStream }
          : { type },
    modes: protocol_config
      ? { request: modeOf(protocol_config.request_body_mode), response: modeOf(protocol_config.response_body_mode) }
      : null,
    observed: observability_mode === true,
  };
}

/** The texts among the attributes of all filters. */
function attributesIn(attributes: object | undefined): { readonly attributes?: ReadonlyMap<string, string> } {
  if (attributes === undefined) return {};
  const structs: { fields?: Record<string, { stringValue?: string }> }[] = Object.values(attributes);
  const read = new Map<string, string>();
  for (const { fields = {} } of structs)
    for (const [key, { stringValue }] of Object.entries(fields))
      if (stringValue !== undefined) read.set(key, stringValue);
  return { attributes: read };
}

interface Sent {
  readonly end_of_stream?: boolean;
  readonly body?: Buffer;
  readonly headers?: { readonly headers?: readonly { key?: string; value?: string; raw_value?: Buffer }[] };
}

function headersIn({ headers }: Sent): Map<string, string> {
  const read = new Map<string, string>();
  for (const { key = '', value = '', raw_value } of headers?.headers ?? []) {
    const text = raw_value?.toString('utf8') || value;
    const before = read.get(key.toLowerCase());
    read.set(key.toLowerCase(), before === undefined ? text : `${before}, ${text}`);
  }
  return read;
}
