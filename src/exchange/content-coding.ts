import { Buffer } from 'node:buffer';
import {
  BrotliDecompress,
  constants,
  Gunzip,
  Inflate,
  InflateRaw,
  type ZlibBaseOptions,
  type ZlibOptions,
  ZstdDecompress,
} from 'minizlib';

/** Turns the bytes of a compressed body into plain ones, as they come. */
export interface ContentDecoder {
  /** Encoded bytes cut anywhere in, what they decode to out. Throws `ContentCodingError`. */
  push(bytes: Uint8Array): Buffer;
}

/** The body is not what its `content-encoding` says, or grows beyond every measure. */
export class ContentCodingError extends Error {
  override readonly name = 'ContentCodingError';
}

/** Text compresses 5 to 50 times; what grows more than this beyond the first MiB was made to do harm. */
const maxRatio = 200;
const ratioFree = 1024 * 1024;
/** Input is fed in slices, and one slice may not give more than this: a bomb is stopped before it fills the memory. */
const sliceBytes = 16 * 1024;
const maxOutputLength = 16 * 1024 * 1024;
const maxCodings = 3;

/**
 * The decoder for a `content-encoding` header (RFC 9110 §8.4; several codings are undone last first). `identity` passes.
 * Returns null if a coding is not known.
 */
export function createContentDecoder(encoding: string): ContentDecoder | null {
  if (encoding === '') return plain;
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > maxCodings || !codings.every((coding) => coding in engines)) return null;
  const layers = codings.toReversed().map((coding) => createLayer(coding as Coding));
  if (layers.length === 0) return plain;
  return { push: (bytes) => layers.reduce((undone, layer) => layer.push(undone), asBuffer(bytes)) };
}

const plain: ContentDecoder = { push: asBuffer };

type Engine = Gunzip | Inflate | InflateRaw | BrotliDecompress | ZstdDecompress;
type Coding = keyof typeof engines;

// Each is told to give out what it has: an event must not wait in the decoder for the next. minizlib's types leave out
// `maxOutputLength`, which it hands to node:zlib with the rest.
const zlib: ZlibOptions = { flush: constants.Z_SYNC_FLUSH ?? 0, ...{ maxOutputLength } };
const brotli: ZlibBaseOptions = { flush: constants.BROTLI_OPERATION_FLUSH ?? 0, ...{ maxOutputLength } };
const zstd: ZlibBaseOptions = { flush: 0, ...{ maxOutputLength } };

const engines = {
  gzip: () => new Gunzip(zlib),
  'x-gzip': () => new Gunzip(zlib),
  // Meant is the zlib format; some servers send the bare one (RFC 9110 §8.4.1.2).
  deflate: (first: number) => ((first & 0x0f) === 8 ? new Inflate(zlib) : new InflateRaw(zlib)),
  br: () => new BrotliDecompress(brotli),
  zstd: () => new ZstdDecompress(zstd),
} satisfies Record<string, (first: number) => Engine>;

function createLayer(coding: Coding): ContentDecoder {
  let engine: Engine | null = null;
  let failure: unknown = null;
  let out: Buffer[] = [];
  let read = 0;
  let written = 0;

  function open(first: number): Engine {
    const opened = engines[coding](first);
    opened.on('data', (bytes: Buffer) => {
      written += bytes.length;
      out.push(bytes);
    });
    opened.on('error', (error: unknown) => {
      failure = error;
    });
    return opened;
  }

  return {
    push(bytes) {
      out = [];
      for (let at = 0; at < bytes.length; at += sliceBytes) {
        engine ??= open(bytes[at] ?? 0);
        const slice = asBuffer(bytes.subarray(at, at + sliceBytes));
        read += slice.length;
        engine.write(slice);
        if (failure !== null) throw new ContentCodingError(`The ${coding} body is damaged.`, { cause: failure });
        if (written > ratioFree && written > read * maxRatio)
          throw new ContentCodingError(`The ${coding} body grows more than ${maxRatio} times.`);
      }
      return out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out);
    },
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
