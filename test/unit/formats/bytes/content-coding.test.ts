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

/** Frames with all that a header may have: a size of each length or none, a checksum, blocks of one byte that is repeated. */
const framesOfZstd = [
  zstdCompressSync('A'),
  zstdCompressSync('b'.repeat(300)),
  zstdCompressSync('c'.repeat(70_000), { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
  zstdCompressSync('d'.repeat(1000), { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } }),
  zstdCompressSync(Buffer.alloc(0)),
  Buffer.from('502a4d180400000001020304', 'hex'), // skippable
  Buffer.from('5f2a4d1800000000', 'hex'),
  zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_windowLog]: 10 } }),
];
const contentOfFrames = `A${'b'.repeat(300)}${'c'.repeat(70_000)}${'d'.repeat(1000)}${text}`;

describe('zstd in several frames', () => {
  const body = Buffer.concat(framesOfZstd);

  test.each([1, 2, 3, 5, 7, 11, 13, 64, 1000, 100_000])('is all decoded, in pieces of %i bytes', (size) => {
    expect(String(decode('zstd', inPiecesOf(size, body)))).toBe(contentOfFrames);
  });

  test('is all decoded, wherever it is cut once, and as a whole', () => {
    for (let cut = 1; cut < body.length; cut++)
      expect(String(decode('zstd', [body.subarray(0, cut), body.subarray(cut)]))).toBe(contentOfFrames);
    expect(String(decodeContent(body, ['zstd'], contentOfFrames.length * 2))).toBe(contentOfFrames);
  });

  test('gives out each frame when it is complete, with another coding around it too', () => {
    const decoder = createContentDecoder(['zstd']);
    expect(framesOfZstd.slice(0, 2).map((frame) => String(decoder.push(frame)))).toEqual(['A', 'b'.repeat(300)]);
    expect(String(decode('zstd, gzip', [gzipSync(body)]))).toBe(contentOfFrames);
  });

  test('has one limit for all frames together', () => {
    const ten = Buffer.concat(Array.from({ length: 10 }, () => zstdCompressSync('12345')));
    expect(decodeContent(ten, ['zstd'], 50)).toHaveLength(50);
    for (const limit of [1, 5, 44, 45, 49])
      expect(() => decodeContent(ten, ['zstd'], limit)).toThrow(/^exceeds \d+ bytes$/);
    const bombs = Buffer.concat(Array.from({ length: 5 }, () => zstdCompressSync(Buffer.alloc(MiB))));
    for (const decoded of [() => decode('zstd', [bombs]), () => decodeContent(bombs, ['zstd'], 64 * MiB)])
      expect(decoded).toThrow(/more than 200 times/);
  });

  test('has at most 1024 frames as a whole, each of which takes time', () => {
    const frames = (count: number) => Buffer.concat(Array.from({ length: count }, () => zstdCompressSync('x')));
    expect(decodeContent(frames(1024), ['zstd'], MiB)).toHaveLength(1024);
    expect(() => decodeContent(frames(1025), ['zstd'], MiB)).toThrow('has more than 1024 frames of zstd');
    expect(decode('zstd', [frames(1025)])).toHaveLength(1025);
  });

  test('is damaged where a later frame is cut, or is none', () => {
    const damaged = expect.objectContaining({ reason: 'damaged' });
    for (const rest of [zstdCompressSync('b').subarray(0, -1), Buffer.from('no frame')]) {
      expect(() => decodeContent(Buffer.concat([zstdCompressSync('a'), rest]), ['zstd'], MiB)).toThrow(damaged);
    }
    expect(() => decode('zstd', [Buffer.concat([zstdCompressSync('a'), Buffer.from('no frame')])])).toThrow(damaged);
  });

  test('may have no window above 8 MiB in any frame', () => {
    const large = Buffer.alloc(17 * MiB, text);
    const wide = zstdCompressSync(large, { params: { [constants.ZSTD_c_windowLog]: 24 } });
    expect(() => decode('zstd', [zstdCompressSync('a'), wide])).toThrow('needs a window of more than 8 MiB');
    expect(() => decodeContent(Buffer.concat([zstdCompressSync('a'), wide]), ['zstd'], 64 * MiB)).toThrow(
      'needs a window of more than 8 MiB',
    );
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
    ['zstd of one segment, which is its content', 'zstd', zstd(20, bytes.subarray(0, 300_000)), 300_000],
    ['zstd of little content, for which the decoder takes more', 'zstd', zstd(20, bytes.subarray(0, 100)), MiB / 8],
    ['zstd whose second frame has the largest', 'zstd', Buffer.concat([zstd(18), zstd(21), zstd(20)]), 2 * MiB],
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
