import { heapBytesOf, isWide, listSlot, stringHeader } from './value-cost.ts';

/**
 * Counts, in bytes of heap, what a stream keeps until its end. `GrowingText`, `RetainedList` and `CitationList` count what
 * they hold by themselves: whatever grows with a stream goes into one of them, or is added where it is kept.
 * `test/unit/filter/memory/retained-bytes.test.ts` compares the count with the heap for every field of a delta.
 */
export class RetainedBytes {
  #total = 0;
  /** Of the total, what packing saves until the end. */
  #saved = 0;
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

  /** Says that of what was added so much is not kept at present; less than 0 takes it back. */
  save(bytes: number): void {
    if (this.#isCounting) this.#saved += bytes;
  }

  /** What there will be at the end, unpacked. */
  total(): number {
    return this.#total;
  }

  /** What is kept now. */
  held(): number {
    return this.#total - this.#saved;
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

  bytes(): number {
    return this.#bytes;
  }

  /** The list is being discarded. */
  release(): void {
    this.#retained.release(this.#bytes);
    this.#bytes = 0;
  }
}

/** Values are packed once they take so much, which hardly a stream reaches. */
const packedAtBytes = 64 * 1024;

/**
 * A list of objects that grows with a stream, all but the latest as JSON. Objects with keys of their own take several times
 * their JSON, and V8 most of a second to mark 300 MB of them.
 */
export class PackedList<Value extends object> {
  readonly #retained: RetainedBytes;
  /** JSON of lists; a list itself where it is nested deeper than JSON can be written. */
  readonly #packed: (string | readonly Value[])[] = [];
  #latest: RetainedList<Value>;
  #packedBytes = 0;
  #saved = 0;

  constructor(retained: RetainedBytes) {
    this.#retained = retained;
    this.#latest = new RetainedList(retained);
  }

  push(value: Value): void {
    this.#latest.push(value);
    if (this.#latest.bytes() >= packedAtBytes) this.#pack();
  }

  all(): readonly Value[] {
    if (this.#packed.length === 0) return this.#latest.all();
    const unpacked = (list: string | readonly Value[]) =>
      typeof list === 'string' ? (JSON.parse(list) as readonly Value[]) : list;
    return [...this.#packed, this.#latest.all()].flatMap(unpacked);
  }

  /** The list is being discarded. */
  release(): void {
    this.#latest.release();
    this.#retained.release(this.#packedBytes);
    this.#retained.save(-this.#saved);
    this.#packedBytes = 0;
    this.#saved = 0;
  }

  #pack(): void {
    const values = this.#latest.all();
    const bytes = this.#latest.bytes();
    const json = jsonOf(values);
    const saved = json === null ? 0 : Math.max(bytes - heapBytesOf(json), 0);
    this.#packed.push(json ?? values);
    this.#packedBytes += bytes;
    this.#latest = new RetainedList(this.#retained);
    this.#saved += saved;
    this.#retained.save(saved);
  }
}

/** Null for values nested deeper than the stack. */
function jsonOf(values: readonly object[]): string | null {
  try {
    return JSON.stringify(values);
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}
