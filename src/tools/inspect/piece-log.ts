import { type ExchangeFilePiece, pieceOf } from '../../filter/wire/schema/exchange-file.ts';
import { ChunkMemory, type ChunkPool } from './chunk-memory.ts';
import type { BodyName } from './recording.ts';

/** Which body a piece is of, in the upper bits of its mark; its length is in the others. */
const bodyNumber: Readonly<Record<BodyName, number>> = {
  client_request: 0,
  chat_request: 1,
  chat_response: 2,
  client_response: 3,
};
/** The mark of a text, which belongs to no body. */
const textNumber = 4;
const lengthBits = 29;
const lengthMask = 2 ** lengthBits - 1;

/**
 * Pieces of the four bodies of an exchange with their times, and short texts, all one after the other in one memory: lists
 * of numbers would be a quarter of a busy service's time in garbage collections, and a memory for each body four times as
 * many cold places to write to. A class, since every token goes through it.
 */
export class PieceLog {
  readonly #memory: ChunkMemory;
  readonly #counts = [0, 0, 0, 0];
  readonly #firstMs = [Number.NaN, Number.NaN, Number.NaN, Number.NaN];
  readonly #lastMs = [Number.NaN, Number.NaN, Number.NaN, Number.NaN];
  #marks = 0;
  /** For each body, where its last read ended. */
  #unread: Partial<Record<BodyName, Unread>> = {};

  constructor(pool: ChunkPool) {
    this.#memory = new ChunkMemory(pool);
  }

  /** Copies the bytes, since what arrives is a view of the socket's buffer. `at` is in milliseconds. */
  push(body: BodyName, at: number, bytes: Uint8Array): void {
    const number = bodyNumber[body];
    this.#memory.addMark(at, number * 2 ** lengthBits + bytes.length);
    this.#memory.add(bytes);
    this.#marks += 1;
    if (this.#counts[number] === 0) this.#firstMs[number] = at;
    this.#counts[number] = (this.#counts[number] ?? 0) + 1;
    this.#lastMs[number] = at;
  }

  /** Keeps a text that is not a piece; returns its place, for `textAt`. */
  addText(text: string): number {
    this.#marks += 1;
    return this.#memory.addText(text, textNumber * 2 ** lengthBits);
  }

  textAt(place: number): string {
    const { word, end } = this.#memory.readMark(place);
    return this.#memory.read(end, end + lengthOf(word)).toString('utf8');
  }

  /** How many pieces there are of that body. */
  count(body: BodyName): number {
    return this.#counts[bodyNumber[body]] ?? 0;
  }

  /** Memory that it takes. */
  get heldBytes(): number {
    return this.#memory.heldBytes;
  }

  /** When the first piece of that body came, in milliseconds; null without one. */
  firstMs(body: BodyName): number | null {
    return this.count(body) === 0 ? null : (this.#firstMs[bodyNumber[body]] ?? null);
  }

  lastMs(body: BodyName): number | null {
    return this.count(body) === 0 ? null : (this.#lastMs[bodyNumber[body]] ?? null);
  }

  /** All bytes of that body as one. */
  whole(body: BodyName): Buffer {
    return Buffer.concat([...this.#read(body, 0)].map(({ bytes }) => bytes));
  }

  /** The pieces of that body from `first` on. */
  piecesFrom(body: BodyName, first: number): ExchangeFilePiece[] {
    return [...this.#read(body, first)].map(({ atMs, bytes }) => pieceOf(roundMs(atMs), bytes));
  }

  /** All pieces of that body for a message to another process: the bytes as one, and where each piece ends in them. */
  toTransfer(body: BodyName): {
    readonly latin1: string;
    readonly ends: readonly number[];
    readonly times: readonly number[];
  } {
    const pieces = [...this.#read(body, 0)];
    let end = 0;
    const ends = pieces.map(({ bytes }) => {
      end += bytes.length;
      return end;
    });
    const latin1 = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('latin1');
    return { latin1, ends, times: pieces.map(({ atMs }) => atMs) };
  }

  /** A copy of the bytes in between. */
  bytesAt(start: number, end: number): Buffer {
    return this.#memory.read(start, end);
  }

  /** Forgets everything. */
  clear(): void {
    this.#memory.clear();
    this.#counts.fill(0);
    this.#marks = 0;
    this.#unread = {};
  }

  *#read(body: BodyName, first: number): Generator<{ readonly atMs: number; readonly bytes: Buffer }> {
    for (const { atMs, start, end } of this.places(body, first)) yield { atMs, bytes: this.bytesAt(start, end) };
  }

  /** Where the pieces of that body are, from `first` on. Must not be iterated further after `clear`. */
  *places(body: BodyName, first: number): Generator<PiecePlace> {
    const number = bodyNumber[body];
    const unread = this.#unread[body] ?? beginning;
    let { index, mark, place } = first >= unread.index ? unread : beginning;
    try {
      for (; mark < this.#marks; mark += 1) {
        const { ms, word, end } = this.#memory.readMark(place);
        const after = end + lengthOf(word);
        if (Math.floor(word / 2 ** lengthBits) === number) {
          if (index >= first) yield { atMs: ms, start: end, end: after };
          index += 1;
        }
        place = after;
      }
    } finally {
      this.#unread[body] = { index, mark, place };
    }
  }
}

/** A piece, by where its bytes are. */
export interface PiecePlace {
  readonly atMs: number;
  readonly start: number;
  readonly end: number;
}

interface Unread {
  /** The first piece of the body that was not read. */
  readonly index: number;
  /** How many marks precede it, and where the next one begins. */
  readonly mark: number;
  readonly place: number;
}

const beginning: Unread = { index: 0, mark: 0, place: 0 };

function lengthOf(word: number): number {
  return word & lengthMask;
}

/** The clock is no more precise than microseconds. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
