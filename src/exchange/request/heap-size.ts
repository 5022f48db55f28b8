/** What V8 takes for parsed JSON, in bytes; `test/unit/exchange/request/heap-size.test.ts` compares it with the heap. */
const bytesOfSlot = 8;
const bytesOfNumber = 16;
const bytesOfString = 24;
const bytesOfArray = 48;
const bytesOfObject = 56;

/**
 * About how many bytes of heap a JSON value takes. A string that two values share is counted in both.
 */
export function heapSizeOf(value: unknown): number {
  if (typeof value === 'string') return bytesOfString + value.length * (isLatin1(value) ? 1 : 2);
  if (typeof value === 'number') return Number.isInteger(value) ? 0 : bytesOfNumber;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) {
    let size = bytesOfArray;
    for (const entry of value) size += bytesOfSlot + heapSizeOf(entry);
    return size;
  }
  let size = bytesOfObject;
  for (const key in value) size += bytesOfSlot + heapSizeOf((value as Record<string, unknown>)[key]);
  return size;
}

const wideCharacter = /[\u0100-\uffff]/;

/** Whether V8 stores the text with one byte a character. Only a long one is worth the search. */
function isLatin1(text: string): boolean {
  return text.length < 1024 || !wideCharacter.test(text);
}
