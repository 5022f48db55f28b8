import { type ExchangeFilePiece, pieceOf } from '../exchange-file.ts';
import { ChunkMemory, type ChunkPool } from './chunk-memory.ts';

/** Before the bytes of each piece: its time and its length. */
const head = new Float64Array(2);
const headBytes = new Uint8Array(head.buffer);

/**
 * Pieces of a body with their times, all in chunks: lists of numbers would be a quarter of a busy service's time in garbage
 * collections. A class, since it is touched by each token.
 */
export class PieceLog {
  readonly #memory: ChunkMemory;
  #count = 0;
  #firstMs: number | null = null;
  #lastMs: number | null = null;
  /** Where the piece begins that was not read yet when the newest ones were last read. */
  #next = { index: 0, at: 0 };

  constructor(pool: ChunkPool) {
    this.#memory = new ChunkMemory(pool);
  }

  /** Copies the bytes, since what arrives is a view of the socket's buffer. `at` is in milliseconds. */
  push(at: number, bytes: Uint8Array): void {
    head[0] = at;
    head[1] = bytes.length;
    this.#memory.add(headBytes);
    this.#memory.add(bytes);
    this.#count += 1;
    this.#firstMs ??= at;
    this.#lastMs = at;
  }

  /** How many pieces there are. */
  get count(): number {
    return this.#count;
  }

  /** Memory that it takes. */
  get heldBytes(): number {
    return this.#memory.heldBytes;
  }

  /** When the first piece came, in milliseconds; null without one. */
  get firstMs(): number | null {
    return this.#firstMs;
  }

  get lastMs(): number | null {
    return this.#lastMs;
  }

  /** All bytes as one. */
  whole(): Buffer {
    return Buffer.concat([...this.#read(0)].map(({ bytes }) => bytes));
  }

  /** The pieces from that one on. */
  piecesFrom(first: number): ExchangeFilePiece[] {
    return [...this.#read(first)].map(({ atMs, bytes }) => pieceOf(roundMs(atMs), bytes));
  }

  /** All pieces for a message to another process: the bytes as one, and where each piece ends in them. */
  toTransfer(): { readonly latin1: string; readonly ends: readonly number[]; readonly times: readonly number[] } {
    const pieces = [...this.#read(0)];
    let end = 0;
    const ends = pieces.map(({ bytes }) => {
      end += bytes.length;
      return end;
    });
    const latin1 = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('latin1');
    return { latin1, ends, times: pieces.map(({ atMs }) => atMs) };
  }

  /** Forgets all pieces. */
  clear(): void {
    this.#memory.clear();
    this.#count = 0;
    this.#firstMs = null;
    this.#lastMs = null;
    this.#next = { index: 0, at: 0 };
  }

  *#read(first: number): Generator<{ readonly atMs: number; readonly bytes: Buffer }> {
    let { index, at } = first >= this.#next.index ? this.#next : { index: 0, at: 0 };
    for (; index < this.#count; index += 1) {
      const start = at + headBytes.length;
      const found = this.#memory.read(at, start);
      const length = found.readDoubleLE(8);
      at = start + length;
      if (index >= first) yield { atMs: found.readDoubleLE(0), bytes: this.#memory.read(start, at) };
    }
    this.#next = { index, at };
  }
}

/** Microseconds are as exact as the clock is. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
