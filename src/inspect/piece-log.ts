import { type ExchangeFilePiece, pieceOf } from '../exchange-file.ts';

const FIRST_CAPACITY = 512;
/** Two numbers in lists that grow by half. */
const BYTES_PER_PIECE = 24;
const nothing = Buffer.alloc(0);

/**
 * Pieces of a body with their times, in one buffer: adding one costs a copy of its bytes. A class, since it is touched by
 * each token.
 */
export class PieceLog {
  #bytes: Buffer = nothing;
  #size = 0;
  readonly #ends: number[] = [];
  readonly #times: number[] = [];

  /** Copies the bytes, since what arrives is a view of the socket's buffer. `at` is in milliseconds. */
  push(at: number, bytes: Uint8Array): void {
    const end = this.#size + bytes.length;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.set(bytes, this.#size);
    this.#size = end;
    this.#ends.push(end);
    this.#times.push(at);
  }

  /** How many pieces there are. */
  get count(): number {
    return this.#ends.length;
  }

  /** Memory that it takes. */
  get heldBytes(): number {
    return this.#bytes.length + this.#ends.length * BYTES_PER_PIECE;
  }

  /** Milliseconds; null without that piece. */
  timeOf(index: number): number | null {
    return this.#times[index] ?? null;
  }

  /** The bytes of one piece: a view. */
  bytesOf(index: number): Buffer {
    return this.#bytes.subarray(index === 0 ? 0 : this.#ends[index - 1], this.#ends[index]);
  }

  /** All bytes as one: a view. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  /** The pieces from that one on. */
  piecesFrom(first: number): ExchangeFilePiece[] {
    const pieces: ExchangeFilePiece[] = [];
    for (let index = first; index < this.count; index += 1)
      pieces.push(pieceOf(roundMs(this.#times[index] ?? 0), this.bytesOf(index)));
    return pieces;
  }

  /** All pieces for a message to another process; `ends` and `times` are copies. */
  toTransfer(): { readonly latin1: string; readonly ends: readonly number[]; readonly times: readonly number[] } {
    return { latin1: this.whole().toString('latin1'), ends: [...this.#ends], times: [...this.#times] };
  }

  /** Forgets all pieces. */
  clear(): void {
    this.#bytes = nothing;
    this.#size = 0;
    this.#ends.length = 0;
    this.#times.length = 0;
  }

  #grow(atLeast: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, atLeast, this.#bytes.length * 2));
    larger.set(this.whole());
    this.#bytes = larger;
  }
}

/** Microseconds are as exact as the clock is. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
