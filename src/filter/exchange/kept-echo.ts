import { heapBytesOf } from '../memory/value-cost.ts';
import { JsonBytes } from '../wire/json/parts.ts';
import type { CreateResponseEcho } from '../wire/schema/response-resource.ts';

/** A larger field is kept as bytes. */
const largeFieldBytes = 64 * 1024;

const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;

/** Does each Response repeat a part of its request that is kept as bytes? */
export function repeatsMuch(echo: CreateResponseEcho): boolean {
  for (const field of fields) if ((echo[field] as unknown) instanceof JsonBytes) return true;
  return false;
}

export interface KeptEcho {
  readonly echo: CreateResponseEcho;
  readonly heapBytes: number;
  /** Outside the heap. */
  readonly bytes: number;
}

/**
 * The part of the request that the response repeats, and its size. Large fields are kept as bytes: once, however many
 * events repeat them, and outside V8's heap, where a tool with many keys takes twenty times the size of its text.
 */
export function keepLarge(echo: CreateResponseEcho): KeptEcho {
  const kept: Partial<Record<(typeof fields)[number], JsonBytes>> = {};
  let heapBytes = 0;
  let bytes = 0;
  for (const field of fields) {
    const value = echo[field];
    const inHeap = heapBytesOf(value);
    if (inHeap < largeFieldBytes) {
      heapBytes += inHeap;
      continue;
    }
    const json = new JsonBytes(value);
    kept[field] = json;
    bytes += json.bytes.length;
  }
  return { echo: bytes === 0 ? echo : { ...echo, ...kept }, heapBytes, bytes };
}
