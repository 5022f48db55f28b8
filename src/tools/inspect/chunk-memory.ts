const chunkBytes = 8 * 1024;
/** A time and a number of 32 bits. */
const markBytes = 12;
/** Most bytes that a UTF-16 unit takes in UTF-8. */
const maxBytesPerCharacter = 3;

/** A piece of memory, with a view that writes numbers into it. */
interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/**
 * Memory in chunks that are reused and never freed: allocating costs more than writing, and short-lived chunks trigger
 * garbage collections in V8. A pool holds the most that was ever taken from it at once.
 */
export interface ChunkPool {
  take(): Chunk;
  give(chunk: Chunk): void;
}

export function createChunkPool(): ChunkPool {
  const free: Chunk[] = [];
  return {
    take: () => free.pop() ?? createChunk(),
    give: (chunk) => void free.push(chunk),
  };
}

function createChunk(): Chunk {
  const bytes = Buffer.allocUnsafeSlow(chunkBytes);
  return { bytes, view: new DataView(bytes.buffer) };
}

/** Bytes that grow at the end, in chunks of a pool. A class, since every token goes through it. */
export class ChunkMemory {
  readonly #pool: ChunkPool;
  readonly #chunks: Chunk[] = [];
  #last: Chunk = nothing;
  /** Where the free space of the last chunk begins. */
  #at = chunkBytes;

  constructor(pool: ChunkPool) {
    this.#pool = pool;
  }

  /** Memory that it takes. */
  get heldBytes(): number {
    return this.#chunks.length * chunkBytes;
  }

  /** Adds a time in milliseconds and a whole number below 2 ** 32, both in one chunk; returns the place of both. */
  addMark(ms: number, word: number): number {
    if (this.#at + markBytes > chunkBytes) this.#grow();
    const at = this.#at;
    this.#last.view.setFloat64(at, ms, true);
    this.#last.view.setUint32(at + 8, word, true);
    this.#at = at + markBytes;
    return (this.#chunks.length - 1) * chunkBytes + at;
  }

  /**
   * Adds a mark of time 0 and the text after it; the mark's number is `word` and the length in bytes. Returns the place of
   * the mark. Usually writes without a temporary buffer, which would be garbage at once.
   */
  addText(text: string, word: number): number {
    if (this.#at + markBytes + text.length * maxBytesPerCharacter > chunkBytes) {
      const bytes = Buffer.from(text);
      const place = this.addMark(0, word + bytes.length);
      this.add(bytes);
      return place;
    }
    const start = this.#at + markBytes;
    const length = this.#last.bytes.write(text, start, 'utf8');
    const place = this.addMark(0, word + length);
    this.#at = start + length;
    return place;
  }

  /** Copies the bytes to the end. */
  add(bytes: Uint8Array): void {
    const end = this.#at + bytes.length;
    if (end <= chunkBytes) {
      this.#last.bytes.set(bytes, this.#at);
      this.#at = end;
    } else this.#addInParts(bytes);
  }

  /** The mark that was added at `place`, and where the mark ends. */
  readMark(place: number): { readonly ms: number; readonly word: number; readonly end: number } {
    const rest = chunkBytes - (place % chunkBytes);
    const start = rest < markBytes ? place + rest : place;
    const { view } = this.#chunks[Math.floor(start / chunkBytes)] ?? nothing;
    const offset = start % chunkBytes;
    return {
      ms: view.getFloat64(offset, true),
      word: view.getUint32(offset + 8, true),
      end: start + markBytes,
    };
  }

  /** A copy of the bytes in between. */
  read(start: number, end: number): Buffer {
    const copy = Buffer.allocUnsafe(end - start);
    for (let at = start; at < end; ) {
      const offset = at % chunkBytes;
      const length = Math.min(chunkBytes - offset, end - at);
      this.#chunks[Math.floor(at / chunkBytes)]?.bytes.copy(copy, at - start, offset, offset + length);
      at += length;
    }
    return copy;
  }

  /** Gives all chunks back. */
  clear(): void {
    for (const chunk of this.#chunks) this.#pool.give(chunk);
    this.#chunks.length = 0;
    this.#last = nothing;
    this.#at = chunkBytes;
  }

  #grow(): void {
    this.#last = this.#pool.take();
    this.#chunks.push(this.#last);
    this.#at = 0;
  }

  #addInParts(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      if (this.#at === chunkBytes) this.#grow();
      const part = bytes.subarray(from, from + chunkBytes - this.#at);
      this.#last.bytes.set(part, this.#at);
      this.#at += part.length;
      from += part.length;
    }
  }
}

const nothing = createChunk();
