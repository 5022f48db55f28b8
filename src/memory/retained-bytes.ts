/**
 * Counts, in bytes of heap, what a stream keeps until its end. `GrowingText`, `RetainedList` and `CitationList` count what
 * they hold by themselves: whatever grows with a stream goes into one of them, or is added where it is kept.
 * `test/unit/translate/retained-bytes.test.ts` compares the count with the heap for every field of a delta.
 *
 * Sizes are V8's on 64 bits without pointer compression, which is what Node is built with.
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

  /** Adds what a string keeps beside one byte a character: its header, and the other byte where a character is wide. */
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

  /** The list is no longer kept. */
  release(): void {
    this.#retained.release(this.#bytes);
    this.#bytes = 0;
  }
}

const word = 8;
/** Arrays that grow have a third of their room free on average. */
const listSlot = 12;
const stringHeader = 16;
const objectHeader = 3 * word;
const arrayHeader = 6 * word;
const boxedNumber = 2 * word;

/** The node that joins two strings. */
export const stringNode = 32;

/** An entry of a `Map` or `Set`: V8 keeps up to twice the room that is used. */
export const hashEntry = 48;

/** The size of a value that consists of JSON types, each part counted as its own. */
export function heapBytesOf(value: unknown): number {
  if (typeof value === 'string') return sizeOfString(value);
  let bytes = 0;
  // Not recursive: upstreams may nest deeper than the stack.
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string') bytes += sizeOfString(next);
    else if (typeof next === 'number') bytes += Number.isInteger(next) && Math.abs(next) < 2 ** 31 ? 0 : boxedNumber;
    else if (Array.isArray(next)) {
      bytes += arrayHeader + word * next.length;
      for (const entry of next) if (typeof entry === 'object' || typeof entry === 'string') waiting.push(entry);
    } else if (typeof next === 'object' && next !== null) {
      bytes += objectHeader;
      for (const field of Object.values(next)) {
        bytes += word;
        waiting.push(field);
      }
    }
  }
  return bytes;
}

function sizeOfString(text: string): number {
  const bytes = stringHeader + (isWide(text) ? 2 * text.length : text.length);
  return (bytes + word - 1) & -word;
}

/** V8 keeps a text in one byte a character, or all of it in two. */
function isWide(text: string): boolean {
  return /[^\0-\xff]/.test(text);
}
