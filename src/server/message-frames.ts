import { unzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { retainable } from '../bytes/retainable.ts';

/** What stands before each message of gRPC over HTTP/2: a flag (1: compressed) and the length, four bytes. */
export const FRAME_HEAD_BYTES = 5;

/** Bytes that are no message, or one too large: the call ends with this gRPC status. */
export class MessageFrameError extends Error {
  override readonly name = 'MessageFrameError';
  readonly code: status;
  constructor(code: status, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Takes the messages of a call out of its bytes (“Length-Prefixed-Message” of gRPC over HTTP/2). A message is mostly a
 * view of the bytes that came, among those of other calls: who keeps it has to copy it.
 *
 * A class, as few objects as there can be: a token that comes alone finds none of them in the processor's cache.
 */
export class MessageFrameReader {
  readonly #maxBytes: number;
  /** What came of a message that is not complete; joined only when it is, so that the work is linear in its bytes. */
  #held: Buffer[] | null = null;
  #heldBytes = 0;
  /** Bytes with which more is known: those of a head, then those of its message too. */
  #wantedBytes = FRAME_HEAD_BYTES;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes cut anywhere in; the messages they complete go to `to`. Throws `MessageFrameError`. */
  push(bytes: Buffer, to: { message(bytes: Buffer): void }): void {
    if (this.#held === null) {
      this.#read(bytes, to);
      return;
    }
    this.#held.push(retainable(bytes));
    this.#heldBytes += bytes.length;
    if (this.#heldBytes < this.#wantedBytes) return;
    const joined = Buffer.concat(this.#held, this.#heldBytes);
    this.#held = null;
    this.#read(joined, to);
  }

  #read(bytes: Buffer, to: { message(bytes: Buffer): void }): void {
    let at = 0;
    let wanted = FRAME_HEAD_BYTES;
    while (bytes.length - at >= FRAME_HEAD_BYTES) {
      const end = this.#endOf(bytes, at);
      if (end > bytes.length) {
        wanted = end - at;
        break;
      }
      const message = bytes.subarray(at + FRAME_HEAD_BYTES, end);
      to.message(bytes[at] === 1 ? decompress(message, this.#maxBytes) : message);
      at = end;
    }
    if (at === bytes.length) return;
    this.#held = [retainable(at === 0 ? bytes : bytes.subarray(at))];
    this.#heldBytes = bytes.length - at;
    this.#wantedBytes = wanted;
  }

  /** Where the frame ends that begins there. */
  #endOf(bytes: Buffer, start: number): number {
    const length = bytes.readUInt32BE(start + 1);
    if (length <= this.#maxBytes) return start + FRAME_HEAD_BYTES + length;
    throw new MessageFrameError(
      status.RESOURCE_EXHAUSTED,
      `Received message larger than max (${length} vs ${this.#maxBytes})`,
    );
  }
}

/** gzip or deflate, by what it begins with. Envoy compresses nothing; who does may. */
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

/** Writes the head of a frame into the free bytes in front of its message. */
export function putFrameHead(frame: Buffer): void {
  const length = frame.length - FRAME_HEAD_BYTES;
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
}
