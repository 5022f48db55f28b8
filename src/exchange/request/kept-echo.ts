import { JsonBytes } from '../../json/parts.ts';
import { heapBytesOf } from '../../memory/value-cost.ts';
import type { CreateResponseEcho } from '../../schema/response-resource.ts';

/** A field that takes more is kept as bytes. */
const largeFieldBytes = 64 * 1024;

const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;

export interface KeptEcho {
  readonly echo: CreateResponseEcho;
  readonly heapBytes: number;
  /** Outside the heap. */
  readonly bytes: number;
}

/**
 * What a response repeats of its request, its large fields as bytes: once, however many events repeat them, and outside V8's
 * heap, where a tool of many keys takes twenty times its text; and what that and the rest take.
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
  return { echo: { ...echo, ...kept }, heapBytes, bytes };
}
