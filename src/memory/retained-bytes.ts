import { heapBytesOf, isWide, listSlot, stringHeader } from './value-cost.ts';

/**
 * Counts, in bytes of heap, what a stream keeps until its end. `GrowingText`, `RetainedList` and `CitationList` count what
 * they hold by themselves: whatever grows with a stream goes into one of them, or is added where it is kept.
 * `test/unit/memory/retained-bytes.test.ts` compares the count with the heap for every field of a delta.
 */
export class RetainedBytes {
  #total = 0;
  readonly #isCounting: boolean;

  /** With `isCounting` false the total stays 0: for an answer in one piece, whose reader has counted the body. */
  constructor(isCounting = true) {
    this.#isCounting = isCounting;
  }

  add(bytes: number): void {
    if (this.#isCounting) this.#total += bytes;
  }

  /** Takes off what was added for something that is no longer kept. */
  release(bytes: number): void {
    if (this.#isCounting) this.#total -= bytes;
  }

  /** Adds a value that consists of JSON types, and gives its size. */
  addValue(value: unknown): number {
    if (!this.#isCounting) return 0;
    const bytes = heapBytesOf(value);
    this.#total += bytes;
    return bytes;
  }

  /** Adds what a string takes beyond one byte per character: its header, and a second byte if a character is wide. */
  addString(text: string): void {
    if (this.#isCounting) this.#total += stringHeader + (isWide(text) ? text.length : 0);
  }

  total(): number {
    return this.#total;
  }
}

/** For lists that live no longer than one chunk. */
export const uncounted = new RetainedBytes(false);

/** A list that grows with a stream. */
export class RetainedList<Value> {
  readonly #retained: RetainedBytes;
  readonly #values: Value[] = [];
  #bytes = 0;

  constructor(retained: RetainedBytes) {
    this.#retained = retained;
  }

  push(value: Value): void {
    this.#values.push(value);
    this.#retained.add(listSlot);
    this.#bytes += listSlot + this.#retained.addValue(value);
  }

  all(): readonly Value[] {
    return this.#values;
  }

  /** The list is being discarded. */
  release(): void {
    this.#retained.release(this.#bytes);
    this.#bytes = 0;
  }
}
