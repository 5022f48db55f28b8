const CHUNK_BYTES = 8 * 1024;

/**
 * Memory in chunks that are used again and never freed: fresh memory costs more than what is written into it, and V8 collects
 * garbage for each that comes and goes. A pool holds as much as was ever taken from it at once.
 */
export interface ChunkPool {
  take(): Buffer;
  give(chunk: Buffer): void;
}

export function createChunkPool(): ChunkPool {
  const free: Buffer[] = [];
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES),
    give: (chunk) => void free.push(chunk),
  };
}

/** Bytes that grow at the end, in chunks of a pool. A class, since it is touched by each token. */
export class ChunkMemory {
  readonly #pool: ChunkPool;
  #chunks: Buffer[] = [];
  #last: Buffer = nothing;
  /** Where the last chunk has room. */
  #at = 0;

  constructor(pool: ChunkPool) {
    this.#pool = pool;
  }

  /** Memory that it takes. */
  get heldBytes(): number {
    return this.#chunks.length * CHUNK_BYTES;
  }

  /** Copies the bytes to the end. */
  add(bytes: Uint8Array): void {
    const end = this.#at + bytes.length;
    if (end <= this.#last.length) {
      this.#last.set(bytes, this.#at);
      this.#at = end;
    } else this.#addInParts(bytes);
  }

  /** A copy of the bytes in between. */
  read(start: number, end: number): Buffer {
    const copy = Buffer.allocUnsafe(end - start);
    for (let at = start; at < end; ) {
      const offset = at % CHUNK_BYTES;
      const length = Math.min(CHUNK_BYTES - offset, end - at);
      this.#chunks[Math.floor(at / CHUNK_BYTES)]?.copy(copy, at - start, offset, offset + length);
      at += length;
    }
    return copy;
  }

  /** Gives all chunks back. */
  clear(): void {
    for (const chunk of this.#chunks) this.#pool.give(chunk);
    this.#chunks = [];
    this.#last = nothing;
    this.#at = 0;
  }

  #addInParts(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      if (this.#at === this.#last.length) {
        this.#last = this.#pool.take();
        this.#chunks.push(this.#last);
        this.#at = 0;
      }
      const part = bytes.subarray(from, from + this.#last.length - this.#at);
      this.#last.set(part, this.#at);
      this.#at += part.length;
      from += part.length;
    }
  }
}

const nothing = Buffer.alloc(0);
