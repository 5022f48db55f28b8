import { unzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { GrowingBytes } from '../../formats/bytes/growing-bytes.ts';

/** Length of the head of each gRPC message: a flag (1: compressed) and four bytes with the message's length. */
export const frameHeadBytes = 5;

/** A message is damaged or too large; the call ends with the gRPC status `code`. */
export class MessageFrameError extends Error {
  override readonly name = 'MessageFrameError';
  readonly code: status;
  constructor(code: status, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Splits the bytes of a call into its messages (“Length-Prefixed-Message” of gRPC over HTTP/2). A message is usually a view of a
 * buffer shared with other calls: whoever keeps it must copy it. The reader is a single object, because a token that arrives alone
 * finds none of them in the CPU's cache.
 */
export class MessageFrameReader {
  readonly #maxBytes: number;
  #buffered: GrowingBytes | null = null;
  /** Parsing continues once this many bytes are buffered: a frame's head, or the head with its message. */
  #wantedBytes = frameHeadBytes;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes bytes cut anywhere, and passes each complete message to `to`. Throws `MessageFrameError`. */
  push(bytes: Buffer, to: { message(bytes: Buffer): void }): void {
    if (this.#buffered === null) {
      this.#read(bytes, to);
      return;
    }
    this.#buffered.append(bytes, this.#wantedBytes);
    if (this.#buffered.length < this.#wantedBytes) return;
    const joined = this.#buffered.whole();
    this.#buffered = null;
    this.#read(joined, to);
  }

  #read(bytes: Buffer, to: { message(bytes: Buffer): void }): void {
    let at = 0;
    let wanted = frameHeadBytes;
    while (bytes.length - at >= frameHeadBytes) {
      const length = bytes.readUInt32BE(at + 1);
      if (length > this.#maxBytes) {
        const problem = `Received message larger than max (${length} vs ${this.#maxBytes})`;
        throw new MessageFrameError(status.RESOURCE_EXHAUSTED, problem);
      }
      const end = at + frameHeadBytes + length;
      if (end > bytes.length) {
        wanted = end - at;
        break;
      }
      const message = bytes.subarray(at + frameHeadBytes, end);
      to.message(bytes[at] === 1 ? decompress(message, this.#maxBytes) : message);
      at = end;
    }
    if (at === bytes.length) return;
    this.#buffered = new GrowingBytes();
    this.#buffered.append(bytes.subarray(at));
    this.#wantedBytes = wanted;
  }
}

/** Decompresses gzip or deflate. Envoy never compresses; other gRPC clients may. */
function decompress(message: Buffer, maxBytes: number): Buffer {
  try {
    return unzipSync(message, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new MessageFrameError(
        status.RESOURCE_EXHAUSTED,
        `Received message that decompresses to a size larger than ${maxBytes}`,
        { cause },
      );
    throw new MessageFrameError(status.INTERNAL, 'Failed to decompress message', { cause });
  }
}

export function putFrameHead(frame: Buffer): void {
  const length = frame.length - frameHeadBytes;
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
}
