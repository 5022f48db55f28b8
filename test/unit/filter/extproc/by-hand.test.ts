import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BodyMode, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { decodeRequest } from '../../../../src/filter/extproc/decode-request.ts';
import { deserializeRequest, readByHand } from '../../../../src/filter/extproc/deserialize-request.ts';
import { encodeReply } from '../../../../src/filter/extproc/encode-reply.ts';
import type { ProcessingRequest } from '../../../../src/filter/extproc/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import { processMethod } from '../../../../src/filter/extproc/proto-definitions.ts';
import { serializeReply } from '../../../../src/filter/extproc/serialize-reply.ts';
import { codePoint } from '../../../support/code-point.ts';
import { runs } from '../../../support/property-runs.ts';

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

  it('is the bytes protobufjs writes', () => {
    fc.assert(
      fc.property(reply, mode, mode, (value, request, response) => {
        const general = processMethod.responseSerialize(encodeReply(value, { request, response }));
        expect(serializeReply(value, { request, response }).equals(general)).toBe(true);
        // With room for what a transport puts in front.
        expect(serializeReply(value, { request, response }, 5).subarray(5).equals(general)).toBe(true);
      }),
      { numRuns: runs(1000) },
    );
  });
});

it('metadata written by hand has room for long values and for many', () => {
  const modes = { request: 'BUFFERED', response: 'BUFFERED' } as const;
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`a${index}`, index]));
  for (const metadata of [{ model: 'm'.repeat(5000) }, many, { ...many, model: 'm'.repeat(5000) }]) {
    const value = { type: 'response_headers', headers: {}, metadata } as const;
    expect(serializeReply(value, modes)).toEqual(processMethod.responseSerialize(encodeReply(value, modes)));
  }
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
  const headers = fc.record(
    {
      headers: fc.record({
        headers: fc.array(
          fc.record(
            { key: name, value: fc.string(), raw_value: fc.uint8Array({ maxLength: 140 }) },
            { requiredKeys: [] },
          ),
          { maxLength: 6 },
        ),
      }),
      end_of_stream: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const message = fc.record(
    {
      request_headers: headers,
      response_headers: headers,
      request_body: fc.record({ body, end_of_stream: fc.boolean() }, { requiredKeys: [] }),
      response_body: fc.record({ body, end_of_stream: fc.boolean() }, { requiredKeys: [] }),
      request_trailers: fc.constant({}),
      observability_mode: fc.boolean(),
      protocol_config: fc.record(
        {
          request_body_mode: fc.oneof(mode, fc.constant('GRPC' as const)),
          response_body_mode: mode,
          send_body_without_waiting_for_header_response: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  /** As Envoy sends it: one kind of event a message, and headers in `raw_value`. */
  const usual = fc.record({
    kind: fc.constantFrom('request_headers', 'response_headers', 'request_body', 'response_body'),
    entries: fc.array(fc.tuple(fc.constantFrom('accept', 'Cookie', ':path'), fc.uint8Array()), { maxLength: 20 }),
    body,
    end: fc.option(fc.boolean(), { nil: undefined }),
    config: fc.option(fc.record({ request_body_mode: mode, response_body_mode: mode }), { nil: undefined }),
  });
  const usualMessage = usual.map(({ kind, entries, body: sent, end, config }): ProcessingRequest => {
    const ended = end === undefined ? {} : { end_of_stream: end };
    const map = { headers: entries.map(([key, raw_value]) => ({ key, raw_value })) };
    const event = kind.endsWith('body') ? { body: sent, ...ended } : { headers: map, ...ended };
    return { [kind]: event, ...(config && { protocol_config: config }) };
  });
  const bytes = fc
    .tuple(fc.oneof(usualMessage, message), fc.constantFrom([], [0x42, 0]))
    .map(([value, metadata]) =>
      Buffer.concat([processMethod.requestSerialize(value as ProcessingRequest), Buffer.from(metadata)]),
    );

  /** The value, or that there is none. */
  function outcomeOf(read: () => unknown): unknown {
    try {
      return read();
    } catch {
      return 'thrown';
    }
  }
  function expectAgreement(sent: Buffer): void {
    const general = outcomeOf(() => decodeRequest(processMethod.requestDeserialize(sent)));
    const byHand = outcomeOf(() => deserializeRequest(sent));
    // `toEqual` compares buffers byte by byte, which is slow, so it is given only what seems to differ.
    expect(isDeepStrictEqual(byHand, general) ? general : byHand).toEqual(general);
  }

  it('is as Envoy 1.40 writes it', () => {
    const body = '2a090a05646174613a10014200';
    expect(readByHand(Buffer.from(body, 'hex'))).toEqual({
      event: { type: 'response_body', body: Buffer.from('data:'), endOfStream: true },
      modes: null,
      observed: false,
    });
    const headers = '12150a130a110a053a706174681a082f76312f7465737442005a0408021004';
    expect(readByHand(Buffer.from(headers, 'hex'))).toEqual({
      event: { type: 'request_headers', headers: new Map([[':path', '/v1/test']]), endOfStream: false },
      modes: { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' },
      observed: false,
    });
  });

  it.each([127, 128, 129, 16_383, 16_384, 62_000])('is not left to protobufjs with a body of %i bytes', (size) => {
    const sent = { response_body: { body: Buffer.alloc(size, 97), end_of_stream: false } };
    expect(readByHand(processMethod.requestSerialize(sent))).toMatchObject({ event: { body: Buffer.alloc(size, 97) } });
  });

  it('is what protobufjs reads', () => {
    fc.assert(fc.property(bytes, expectAgreement), { numRuns: runs(1000) });
  });

  it('also with fields of a later version, at the end or inside', () => {
    // Field 15 as a varint, as bytes, as 32 bits; field 2 of HttpHeaders and HttpBody in their own way.
    const unknown = fc.constantFrom(
      [0x78, 1],
      [0x7a, 2, 1, 2],
      [0x7d, 1, 2, 3, 4],
      [0x12, 0],
      [0x10, 1],
      [0x18, 1],
      [0x42, 0],
      [0x42, 2, 1, 2],
    );
    fc.assert(
      fc.property(bytes, unknown, fc.nat(), (sent, field, where) => {
        expectAgreement(Buffer.concat([sent, Buffer.from(field)]));
        const cut = where % (sent.length + 1);
        expectAgreement(Buffer.concat([sent.subarray(0, cut), Buffer.from(field), sent.subarray(cut)]));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('also when a field comes twice', () => {
    expectAgreement(Buffer.from([42, 5, 10, 1, 0, 16, 0, 90, 4, 8, 0, 16, 2, 90, 0]));
    expectAgreement(Buffer.from([42, 5, 10, 1, 0, 16, 0, 90, 4, 8, 0, 16, 2, 90, 2, 8, 4]));
    // Of modes the last ones count, as protobufjs reads them; the specification would have both merged.
    const body = [42, 5, 10, 1, 0, 16, 0];
    for (const second of [[8, 4, 16, 1], [8, 4], [16, 1], []])
      expectAgreement(Buffer.from([...body, 90, 4, 8, 2, 16, 2, 90, second.length, ...second]));
  });

  it('also when a list of headers goes on with something else', () => {
    const accept = [0x0a, 0x0b, 0x0a, 6, ...Buffer.from('accept'), 0x1a, 1, 0x2a];
    const headersOf = (...map: number[]) => Buffer.from([0x12, map.length + 2, 0x0a, map.length, ...map]);
    expectAgreement(headersOf(...accept));
    expect(readByHand(headersOf(...accept))).not.toBeNull();
    for (const wrong of [
      [0x10],
      [0x0a],
      [0x12, 0],
      [0x0a, 1],
      [0x0a, 1, 0x0a],
      [0x0a, 2, 0x12, 0],
      [0x0a, 3, 0x0a, 0, 0x1a],
    ]) {
      for (const bytes of [headersOf(...accept, ...wrong), headersOf(...wrong, ...accept), headersOf(...wrong)]) {
        expect(readByHand(bytes), bytes.toString('hex')).toBeNull();
        expectAgreement(bytes);
      }
    }
  });

  it('also when it is cut off, or a byte is another', () => {
    fc.assert(
      fc.property(bytes, fc.nat(), fc.nat(255), (sent, where, byte) => {
        expectAgreement(sent.subarray(0, where % (sent.length + 1)));
        const damaged = Buffer.from(sent);
        if (damaged.length > 0) damaged[where % Math.min(damaged.length, 64)] = byte;
        expectAgreement(damaged);
      }),
      { numRuns: runs(3000) },
    );
  });
});
