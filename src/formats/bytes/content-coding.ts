import { Buffer } from 'node:buffer';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { BrotliDecompress, Gunzip, Inflate, InflateRaw, type ZlibBaseOptions, ZstdDecompress } from 'minizlib';
import { maxZstdWindowLog, ZstdFrames } from './zstd-frames.ts';

export type ContentCoding = keyof typeof codecs;

export interface ContentDecoder {
  /** Decodes bytes that are cut anywhere. Of a damaged body, what is before the damage is returned. */
  push(bytes: Uint8Array): Buffer;
  /** Bytes that are kept of what was decoded, because later bytes may repeat them. */
  windowBytes(): number;
  /** Returns why nothing more can be decoded; null until then. */
  failure(): ContentCodingError | null;
}

/** The body is not valid in its `content-encoding`, or it decompresses to more than a limit allows. */
export class ContentCodingError extends Error {
  override readonly name = 'ContentCodingError';
  readonly reason: 'damaged' | 'too_large';
  constructor(reason: 'damaged' | 'too_large', message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Text compresses 5 to 50 times; a body that grows more than 200 times, beyond its first MiB, is an attack. */
const maxRatio = 200;
const ratioFreeBytes = 1024 * 1024;
/** Input is decoded in slices, so that the ratio is checked between them. Of a damaged slice zlib returns nothing. */
const sliceBytes = 1024;
const maxOutputLength = 16 * 1024 * 1024;
const maxCodings = 3;

/** Codings in the order they were applied (RFC 9110 §8.4); null if one is unknown, or there are too many. */
export function parseContentCodings(header: string | null): readonly ContentCoding[] | null {
  if (header === null || header === '') return noCodings;
  const names = header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const areKnown = names.every((name): name is ContentCoding => Object.hasOwn(codecs, name));
  return names.length <= maxCodings && areKnown ? names : null;
}

const noCodings: readonly ContentCoding[] = [];

/** Creates a decoder for a body that arrives in pieces; it returns all output that the input so far allows. */
export function createContentDecoder(codings: readonly ContentCoding[]): ContentDecoder {
  if (codings.length === 0) return identity;
  const layers = codings.toReversed().map(createLayer);
  return {
    push: (bytes) => layers.reduce((decoded, layer) => layer.push(decoded), asBuffer(bytes)),
    windowBytes: () => layers.reduce((bytes, layer) => bytes + layer.windowBytes(), 0),
    failure: () => layers.map((layer) => layer.failure()).find((failure) => failure !== null) ?? null,
  };
}

const identity: ContentDecoder = { push: asBuffer, windowBytes: () => 0, failure: () => null };

export function decodeContent(body: Uint8Array, codings: readonly ContentCoding[], maxBytes: number): Uint8Array {
  return codings.toReversed().reduce((bytes, coding) => decodeWhole(bytes, coding, maxBytes), body);
}

function decodeWhole(bytes: Uint8Array, coding: ContentCoding, maxBytes: number): Uint8Array {
  const ofRatio = Math.max(ratioFreeBytes, bytes.length * maxRatio);
  try {
    return codecs[coding].decode(bytes, { maxOutputLength: Math.min(maxBytes, ofRatio) });
  } catch (cause) {
    if (cause instanceof ContentCodingError) throw cause;
    const tooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    if (!tooLarge) throw damaged(coding, cause);
    throw ofRatio < maxBytes ? growsTooMuch(coding) : new ContentCodingError('too_large', `exceeds ${maxBytes} bytes`);
  }
}

function damaged(coding: ContentCoding, cause: unknown): ContentCodingError {
  if ((cause as NodeJS.ErrnoException).code === 'ZSTD_error_frameParameter_windowTooLarge')
    return new ContentCodingError('damaged', 'needs a window of more than 8 MiB to be decoded from zstd', { cause });
  return new ContentCodingError('damaged', `is not valid ${coding}`, { cause });
}

function growsTooMuch(coding: ContentCoding): ContentCodingError {
  return new ContentCodingError('too_large', `decompresses (${coding}) to more than ${maxRatio} times its size`);
}

type Engine = Gunzip | Inflate | InflateRaw | BrotliDecompress | ZstdDecompress;

type Frames = Pick<ZstdFrames, 'windowBytes' | 'endOfFrame'>;

interface Codec {
  open(first: number): Engine;
  /** Returns what finds the frames of a body that begins with these bytes. */
  frames(start: Uint8Array): Frames;
  /** Decodes a whole body; throws with the code ERR_BUFFER_TOO_LARGE beyond the limit. */
  decode(bytes: Uint8Array, options: { readonly maxOutputLength: number }): Buffer;
}

/** The options of an engine, which returns all it can. minizlib writes its defaults into the object, and its types lack two of the options. */
function bounded(params = {}): ZlibBaseOptions {
  const options = { flush: 0, maxOutputLength, params };
  return options;
}

/** A single frame, for an engine that finds the ends of what it decodes itself. */
const oneFrame = (windowBytes: number): Frames => ({ windowBytes, endOfFrame: ({ length }: Uint8Array) => length });
const deflateFrames = () => oneFrame(32 * 1024);
const gzip: Codec = { open: () => new Gunzip(bounded()), frames: deflateFrames, decode: gunzipSync };

/** A whole body is written by one compressor, which makes few: each takes some 18 µs. */
const maxZstdFrames = 1024;
const zstdParams = { [constants.ZSTD_d_windowLogMax]: maxZstdWindowLog };

const codecs = {
  gzip,
  'x-gzip': gzip,
  // The name stands for the zlib format; some senders use raw deflate (RFC 9110 §8.4.1.2).
  deflate: {
    open: (first) => (isZlibHeader(first) ? new Inflate(bounded()) : new InflateRaw(bounded())),
    frames: deflateFrames,
    decode: (bytes, options) => (isZlibHeader(bytes[0] ?? 0) ? inflateSync : inflateRawSync)(bytes, options),
  },
  br: {
    open: () => new BrotliDecompress(bounded()),
    frames: (start) => oneFrame(readBrotliWindow(start)),
    decode: brotliDecompressSync,
  },
  zstd: {
    open: () => new ZstdDecompress(bounded(zstdParams)),
    frames: () => new ZstdFrames(),
    decode: decodeZstd,
  },
} satisfies Record<string, Codec>;

/** Reads the size of the window from the first byte (RFC 7932 §9.1). */
function readBrotliWindow([first = 0]: Uint8Array): number {
  if ((first & 1) === 0) return 1 << 16;
  const [high, low] = [(first >> 1) & 7, (first >> 4) & 7];
  return 1 << (high !== 0 ? 17 + high : low === 0 ? 17 : 8 + low);
}

/** Decodes frame by frame, to `maxOutputLength` bytes of all together. */
function decodeZstd(bytes: Uint8Array, { maxOutputLength }: { readonly maxOutputLength: number }): Buffer {
  const frames = new ZstdFrames();
  const decoded: Buffer[] = [];
  let size = 0;
  for (let at = 0; at < bytes.length || decoded.length === 0; ) {
    if (decoded.length === maxZstdFrames)
      throw new ContentCodingError('too_large', `has more than ${maxZstdFrames} frames of zstd`);
    const end = frames.endOfFrame(bytes, at);
    // The least that Node takes for a limit is 1.
    const room = Math.max(maxOutputLength - size, 1);
    const frame = zstdDecompressSync(bytes.subarray(at, end), { maxOutputLength: room, params: zstdParams });
    size += frame.length;
    if (size > maxOutputLength) throw Object.assign(new RangeError(), { code: 'ERR_BUFFER_TOO_LARGE' });
    decoded.push(frame);
    at = end;
  }
  const [only] = decoded;
  return only !== undefined && decoded.length === 1 ? only : Buffer.concat(decoded);
}

/** The compression method in the low bits is 8 in the zlib format (RFC 1950 §2.2). */
function isZlibHeader(first: number): boolean {
  return (first & 0x0f) === 8;
}

function createLayer(coding: ContentCoding): ContentDecoder {
  let engine: Engine | null = null;
  let frames = oneFrame(0);
  let failure: ContentCodingError | null = null;
  let out: Buffer[] = [];
  let bytesIn = 0;
  let bytesOut = 0;

  function open(start: Uint8Array): Engine {
    const opened = codecs[coding].open(start[0] ?? 0);
    frames = codecs[coding].frames(start);
    opened.on('data', (bytes: Buffer) => {
      bytesOut += bytes.length;
      out.push(bytes);
    });
    opened.on('error', (cause: unknown) => {
      failure = damaged(coding, cause);
    });
    return opened;
  }

  return {
    push(bytes) {
      for (let at = 0; at < bytes.length && failure === null; ) {
        engine ??= open(bytes);
        const next = asBuffer(bytes.subarray(at, at + sliceBytes));
        const slice = next.subarray(0, frames.endOfFrame(next, 0));
        at += slice.length;
        bytesIn += slice.length;
        engine.write(slice);
        if (bytesOut > ratioFreeBytes && bytesOut > bytesIn * maxRatio) {
          failure = growsTooMuch(coding);
          out = [];
        }
      }
      const decoded = out;
      // The output must not stay here until the next piece, which may never come.
      out = [];
      return decoded.length === 1 ? (decoded[0] as Buffer) : Buffer.concat(decoded);
    },
    windowBytes: () => frames.windowBytes,
    failure: () => failure,
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
