import { Buffer } from 'node:buffer';

/**
 * Bytes that come in pieces and are wanted whole. They are gathered in one buffer that doubles: thousands of separate
 * pieces would fragment the C library's heap, which does not give such memory back.
 */
export class GrowingBytes {
  #buffer: Buffer | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * `expected` are the bytes that there will be in all, as far as is known: room for them is made once. `isLast`: they are read and cleared
   * at once, so a view of others' memory will do.
   */
  append(bytes: Uint8Array, expected = 0, isLast = false): void {
    if (this.#buffer === null) {
      // Most are complete at once, or nearly.
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

  /** All bytes so far, as a view. */
  whole(): Buffer {
    if (this.#buffer === null) return noBytes;
    return this.#buffer.length === this.#length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#buffer = null;
    this.#length = 0;
  }
}

/** The largest announced size that is believed before the bytes come. */
const maxAnnouncedBytes = 16 * 1024 * 1024;

const noBytes = Buffer.alloc(0);

/**
 * The bytes for whoever keeps them: copied where they are a view of less than half of what is in memory for them, as what was cut
 * out of one read of a socket is, and small buffers are that Node cuts out of its pool of 8 KiB.
 */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.length * 2 < bytes.buffer.byteLength ? joinBytes([bytes]) : bytes;
}

/** The bytes of all pieces in one buffer of their own. */
export function joinBytes(pieces: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
