/**
 * What values cost in V8 on 64 bits without pointer compression, as in Node. Tests compare the model with the heap:
 * `test/unit/filter/memory/value-cost.test.ts` for parsed JSON, `retained-bytes.test.ts` for what a stream keeps.
 */

const word = 8;
/** Growing arrays have a third of their capacity free on average. */
export const listSlot = 12;
export const stringHeader = 16;
const objectHeader = 3 * word;
/** An empty object literal has room for four fields. */
const emptyObject = objectHeader + 4 * word;
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
      const fields = Object.values(next);
      bytes +=
        fields.length === 0 ? emptyObject : objectHeader + word * fields.length + sizeOfKeys(next, fields.length);
      for (const field of fields) waiting.push(field);
    }
  }
  return bytes;
}

/**
 * Objects of one shape share its keys, and cost nothing for them. An object with many keys, or with a key longer than a
 * field's name, hardly shares its shape: it has keys and a shape of its own.
 */
function sizeOfKeys(value: object, count: number): number {
  let bytes = 0;
  for (const key in value) {
    if (count > mostSharedKeys) bytes += keyEntry + sizeOfString(key);
    else if (key.length > longestSharedKey) bytes += shape + sizeOfString(key);
  }
  return bytes;
}

const mostSharedKeys = 32;
const longestSharedKey = 32;
/** A key's place in the table of its object, which is two thirds full on average, and in the table of all keys. */
const keyEntry = 44;
/** The description of a shape, for each key that leads to it. */
const shape = 160;

function sizeOfString(text: string): number {
  const bytes = stringHeader + (isWide(text) ? 2 * text.length : text.length);
  return (bytes + word - 1) & -word;
}

/** V8 stores a string with one byte per character, or all of it with two. */
export function isWide(text: string): boolean {
  return /[^\0-\xff]/.test(text);
}
