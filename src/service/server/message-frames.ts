import { unzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { GrowingBytes } from '../../formats/bytes/growing-bytes.ts';

/** Length of the prefix of each gRPC message: a flag (1: compressed) and four bytes of message length. */
export const frameHeadBytes = 5;

/** The bytes are not a message, or it is too large: the call ends with this gRPC status. */
export class MessageFrameError extends Error {
  override readonly name = 'MessageFrameError';
  readonly code: status;
  constructor(code: status, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Splits the bytes of a call into its messages (“Length-Prefixed-Message” of gRPC over HTTP/2). A message is usually a
 * view of a buffer shared with other calls: whoever keeps it must copy it.
 *
 * A class with as few objects as possible: when a token arrives alone, none of them is in the CPU's cache.
 */
export class MessageFrameReader {
  readonly #maxBytes: number;
  /** An incomplete message. */
  #buffered: GrowingBytes | null = null;
  /** Buffered bytes needed before parsing can continue: a frame's head, then its message too. */
  #wantedBytes = frameHeadBytes;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes bytes cut anywhere and passes each message they complete to `to`. Throws `MessageFrameError`. */
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

/** Decompresses gzip or deflate, recognised by its first bytes. Envoy never compresses; other clients may. */
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

/** Writes the frame's head into the `frameHeadBytes` free bytes in front of its message. */
export function putFrameHead(frame: Buffer): void {
  const length = frame.length - frameHeadBytes;
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
}
