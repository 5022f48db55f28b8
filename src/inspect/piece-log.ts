import { type ExchangeFilePiece, pieceOf } from '../exchange-file.ts';
import type { ChunkMemory } from './chunk-memory.ts';

/** Three numbers in lists that grow by half. */
const BYTES_PER_PIECE = 36;

/** Pieces of a body with their times; the bytes are in a memory that may have other bodies too. A class, since it is touched by each token. */
export class PieceLog {
  readonly #memory: ChunkMemory;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #times: number[] = [];

  constructor(memory: ChunkMemory) {
    this.#memory = memory;
  }

  /** Copies the bytes, since what arrives is a view of the socket's buffer. `at` is in milliseconds. */
  push(at: number, bytes: Uint8Array): void {
    const memory = this.#memory;
    this.#starts.push(memory.size);
    memory.add(bytes);
    this.#ends.push(memory.size);
    this.#times.push(at);
  }

  /** How many pieces there are. */
  get count(): number {
    return this.#ends.length;
  }

  /** Memory that it takes besides the bytes. */
  get heldBytes(): number {
    return this.#ends.length * BYTES_PER_PIECE;
  }

  /** Milliseconds; null without that piece. */
  timeOf(index: number): number | null {
    return this.#times[index] ?? null;
  }

  /** The bytes of one piece. */
  bytesOf(index: number): Buffer {
    return this.#memory.read(this.#starts[index] ?? 0, this.#ends[index] ?? 0);
  }

  /** All bytes as one. */
  whole(): Buffer {
    return Buffer.concat(this.#starts.map((_start, index) => this.bytesOf(index)));
  }

  /** The pieces from that one on. */
  piecesFrom(first: number): ExchangeFilePiece[] {
    const pieces: ExchangeFilePiece[] = [];
    for (let index = first; index < this.count; index += 1)
      pieces.push(pieceOf(roundMs(this.#times[index] ?? 0), this.bytesOf(index)));
    return pieces;
  }

  /** All pieces for a message to another process: the bytes as one, and where each piece ends in them. */
  toTransfer(): { readonly latin1: string; readonly ends: readonly number[]; readonly times: readonly number[] } {
    let end = 0;
    const ends = this.#ends.map((at, index) => {
      end += at - (this.#starts[index] ?? 0);
      return end;
    });
    return { latin1: this.whole().toString('latin1'), ends, times: [...this.#times] };
  }

  /** Forgets all pieces; their bytes stay where they are. */
  clear(): void {
    this.#starts.length = 0;
    this.#ends.length = 0;
    this.#times.length = 0;
  }
}

/** Microseconds are as exact as the clock is. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
