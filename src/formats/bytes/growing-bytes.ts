import { Buffer } from 'node:buffer';

/** Gathers bytes that come in pieces in one buffer that doubles: thousands of separate pieces would fragment the C library's heap for good. */
export class GrowingBytes {
  #buffer: Buffer | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a piece. Room for `expected` bytes in all is made at once. `isLast`: the bytes are read right away, so a first piece is not copied. */
  append(bytes: Uint8Array, expected = 0, isLast = false): void {
    if (this.#buffer === null) {
      const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      this.#buffer = isLast ? view : ownBytes(view);
      this.#length = bytes.length;
      return;
    }
    const length = this.#length + bytes.length;
    // The first piece fills its buffer, so it is never written to: it may be another's.
    if (length > this.#buffer.length) {
      const isKnown = expected >= length && expected <= maxAnnouncedBytes;
      const larger = Buffer.allocUnsafeSlow(isKnown ? expected : 2 * length);
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  whole(): Buffer {
    if (this.#buffer === null) return noBytes;
    return this.#buffer.length === this.#length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#buffer = null;
    this.#length = 0;
  }
}

/** Room for more than 16 MiB is not made before the bytes have come, whatever was announced. */
const maxAnnouncedBytes = 16 * 1024 * 1024;

const noBytes = Buffer.alloc(0);

/** Returns bytes to keep: a view of less than half of its memory, such as Node's pool or one read of a socket, is copied, not kept alive. */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.length * 2 < bytes.buffer.byteLength ? joinBytes([bytes]) : bytes;
}

/** Joins the pieces in a new buffer of exactly their size. */
export function joinBytes(pieces: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
