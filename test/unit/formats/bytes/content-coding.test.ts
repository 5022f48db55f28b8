import { hash } from 'node:crypto';
import {
  type BrotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  type Gzip,
  gzipSync,
  type ZstdCompress,
  zstdCompressSync,
} from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  ContentCodingError,
  createContentDecoder,
  decodeContent,
  parseContentCodings,
} from '../../../../src/formats/bytes/content-coding.ts';
import { brotli } from '../../../support/brotli.ts';
import { inPiecesOf } from '../../../support/split.ts';

const MiB = 1024 * 1024;
const text = Buffer.from('data: {"delta":"Grüß dich, 世界 🎉"}\n\n'.repeat(300));
const codings: [name: string, header: string, compress: (bytes: Buffer) => Buffer][] = [
  ['gzip', 'gzip', gzipSync],
  ['x-gzip', 'X-GZIP', gzipSync],
  ['deflate (zlib)', 'deflate', deflateSync],
  ['deflate (bare)', 'deflate', deflateRawSync],
  ['brotli', 'br', brotli],
  ['zstd', 'zstd', zstdCompressSync],
  ['two at once', 'br, gzip', (bytes) => gzipSync(brotli(bytes))],
  ['none', 'identity', (bytes) => bytes],
  ['nothing said', '', (bytes) => bytes],
];

function decode(header: string, pieces: Iterable<Uint8Array>): Buffer {
  const codings = parseContentCodings(header);
  if (codings === null) throw new Error('unknown coding');
  const decoder = createContentDecoder(codings);
  const decoded = [...pieces].map((piece) => decoder.push(piece));
  const failure = decoder.failure();
  if (failure !== null) throw failure;
  return Buffer.concat(decoded);
}

describe.each(codings)('%s', (_name, header, compress) => {
  test.each([1, 2, 3, 7, 64, 100_000])('is undone in pieces of %i bytes', (size) => {
    expect(decode(header, inPiecesOf(size, compress(text))).equals(text)).toBe(true);
  });

  test.each([1, 2, 3, 4, 5, 6])('is undone in one piece that decodes to %i times the text', (times) => {
    const long = Buffer.concat(Array.from({ length: times }, () => text));
    expect(decode(header, [compress(long)]).equals(long)).toBe(true);
  });

  test('is decoded as a whole', () => {
    expect(text.equals(decodeContent(compress(text), parseContentCodings(header) ?? [], text.length))).toBe(true);
  });
});

type Compressor = [header: string, create: () => Gzip | BrotliCompress | ZstdCompress];

const compressors: Compressor[] = [
  ['gzip', createGzip],
  ['deflate', createDeflate],
  ['deflate', createDeflateRaw],
  ['br', createBrotliCompress],
  ['zstd', createZstdCompress],
];

describe('a compressed body', () => {
  test.each(compressors)(
    'gives out what a flush made complete: an event does not wait for the next (%s)',
    async (header, create) => {
      const compressor = create();
      const sent: Buffer[] = [];
      compressor.on('data', (bytes: Buffer) => sent.push(bytes));
      const decoder = createContentDecoder(parseContentCodings(header) ?? []);
      for (const event of ['data: first\n\n', 'data: second\n\n', 'data: third\n\n']) {
        compressor.write(event);
        await new Promise<void>((resolve) => compressor.flush(() => resolve()));
        expect(decoder.push(Buffer.concat(sent.splice(0))).toString()).toBe(event);
      }
      compressor.destroy();
    },
  );

  test.each(codings.slice(0, 6))('that is none of its kind is an error (%s)', (_name, header) => {
    const damaged = expect.objectContaining({
      name: 'ContentCodingError',
      reason: 'damaged',
      message: `is not valid ${header.toLowerCase()}`,
    });
    expect(() => decode(header, [Buffer.from('\u0000not compressed at all')])).toThrow(damaged);
    expect(() => decodeContent(Buffer.from('\u0000not'), parseContentCodings(header) ?? [], MiB)).toThrow(damaged);
  });

  test.each<Compressor>([...compressors, ['br, gzip', createBrotliCompress]])(
    'that is damaged in the middle of a piece is decoded to near the damage (%s)',
    async (header, create) => {
      const compressor = create();
      const sent: Buffer[] = [];
      compressor.on('data', (bytes: Buffer) => sent.push(bytes));
      const events = Array.from({ length: 400 }, (_, at) => `data: ${hash('md5', String(at))}\n\n`);
      for (const event of events) {
        compressor.write(event);
        await new Promise<void>((resolve) => compressor.flush(() => resolve()));
      }
      compressor.destroy();
      const piece = header === 'br, gzip' ? gzipSync(Buffer.concat(sent)) : Buffer.concat(sent);
      const middle = piece.length >> 1;
      for (let at = middle; at < middle + 40; at++) piece[at] = (piece[at] ?? 0) ^ (0xa5 + at);

      const decoder = createContentDecoder(parseContentCodings(header) ?? []);
      const decoded = String(decoder.push(piece));
      expect(decoder.failure()).toMatchObject({ name: 'ContentCodingError', reason: 'damaged' });
      // Of the last KiB nothing is known, and the damage may have been decoded for some bytes before it was seen.
      const sound = decoded.slice(0, -100);
      expect(events.join('').startsWith(sound)).toBe(true);
      expect(sound.length).toBeGreaterThan(events.join('').length / 5);
      expect(decoder.push(piece)).toHaveLength(0);
    },
  );

  test.each(codings.slice(0, 6))('that grows without measure is stopped (%s)', (_name, header, compress) => {
    const bomb = compress(Buffer.alloc(8 * MiB));
    expect(() => decode(header, [bomb])).toThrow(ContentCodingError);
    expect(() => decode(header, inPiecesOf(512, bomb))).toThrow(ContentCodingError);
  });

  test('may grow exactly 200 times, however long it is', () => {
    // The name of a file in a gzip header can have any length.
    const gzipOf = (size: number, compressed: number) => {
      const short = gzipSync(Buffer.alloc(size));
      const named = Buffer.concat([
        short.subarray(0, 10),
        Buffer.alloc(compressed - short.length - 1, 'x'),
        Buffer.of(0),
      ]);
      named[3] = 8;
      return Buffer.concat([named, short.subarray(10)]);
    };
    const bytes = gzipOf(4_000_000, 20_000);
    expect(bytes).toHaveLength(20_000);
    for (const decoded of [() => decodeContent(bytes, ['gzip'], 64 * MiB), () => decode('gzip', [bytes])])
      expect(decoded()).toHaveLength(4_000_000);
    const smaller = gzipOf(4_000_000, 19_999);
    for (const decoded of [() => decodeContent(smaller, ['gzip'], 64 * MiB), () => decode('gzip', [smaller])])
      expect(decoded).toThrow(
        expect.objectContaining({ reason: 'too_large', message: expect.stringContaining('(gzip)') }),
      );
  });

  test('of an unknown coding cannot be decoded', () => {
    for (const header of ['compress', 'rot13', 'gzip, rot13', 'gzip,gzip,gzip,gzip', 'constructor'])
      expect(parseContentCodings(header), header).toBeNull();
  });

  test('may have three codings, with identity and empty elements among them', () => {
    expect(parseContentCodings('gzip, identity,, br ,ZSTD')).toEqual(['gzip', 'br', 'zstd']);
    expect(parseContentCodings(null)).toEqual([]);
  });

  test.each(codings.slice(0, 6))(
    'may grow 200 times beyond the first MiB as a whole, and no more (%s)',
    (_name, header, compress) => {
      const names = parseContentCodings(header) ?? [];
      const whole = (size: number) => decodeContent(compress(Buffer.alloc(size)), names, 64 * MiB);
      const inPieces = (size: number) => decode(header, inPiecesOf(512, compress(Buffer.alloc(size))));
      for (const decoded of [whole, inPieces]) {
        expect(decoded(MiB)).toHaveLength(MiB);
        expect(() => decoded(MiB + 1)).toThrow(/more than 200 times/);
      }
      const bomb = compress(Buffer.alloc(16 * MiB));
      expect(() => decodeContent(bomb, names, 64 * MiB)).toThrow(/more than 200 times/);
      expect(() => decodeContent(bomb, names, MiB / 2)).toThrow(/exceeds 524288 bytes/);
    },
  );
});

describe('what a decoder keeps because what comes may repeat it', () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => hash('sha256', `${index}`)).join(''), 'hex');
  const zstd = (windowLog: number, of = bytes) =>
    zstdCompressSync(of, { params: { [constants.ZSTD_c_windowLog]: windowLog } });
  const br = (windowLog: number) =>
    brotliCompressSync(bytes.subarray(0, 1000), { params: { [constants.BROTLI_PARAM_LGWIN]: windowLog } });

  test.each<[string, string, Buffer, number]>([
    ...[10, 15, 16, 17, 18, 22, 24].map((log): [string, string, Buffer, number] => [
      `brotli of 2^${log}`,
      'br',
      br(log),
      2 ** log,
    ]),
    ['zstd of 1 MiB', 'zstd', zstd(20), MiB],
    ['zstd that does not say', 'zstd', zstd(20, bytes.subarray(0, 100)), 8 * MiB],
    ['gzip', 'gzip', gzipSync('a'), 32 * 1024],
    ['deflate', 'deflate', deflateSync('a'), 32 * 1024],
    ['two', 'br, zstd', zstd(20, Buffer.concat([br(18), bytes])), MiB + 2 ** 18],
    ['none', '', bytes, 0],
  ])('is the window that the body asks for: %s', (_, header, body, expected) => {
    const decoder = createContentDecoder(parseContentCodings(header) ?? []);
    expect(decoder.windowBytes()).toBe(0);
    decoder.push(body);
    expect(decoder.windowBytes()).toBe(expected);
  });

  test('is at most 8 MiB for zstd (RFC 9659)', () => {
    const many = Buffer.concat([bytes, bytes, bytes]);
    expect(decode('zstd', [zstd(23, many)]).equals(many)).toBe(true);
    const body = zstd(24, many);
    expect(() => decodeContent(body, ['zstd'], 100 * MiB)).toThrow('needs a window of more than 8 MiB');
    const decoder = createContentDecoder(['zstd']);
    expect(decoder.push(body).length).toBe(0);
    expect(decoder.failure()?.message).toContain('needs a window of more than 8 MiB');
  });
});
