import { JsonBytes } from '../../formats/json/parts.ts';
import { bytesOfJson } from '../translate/shared/held-bytes.ts';
import type { CreateResponseEcho } from '../wire/schema/response-resource.ts';

/** A field of longer JSON is kept as bytes: the tools of an agent are in three events, and are written once. */
const largeFieldLength = 32 * 1024;

const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;

/** Does each Response repeat a part of its request that is kept as bytes? */
export function repeatsMuch(echo: CreateResponseEcho): boolean {
  return fields.some((field) => (echo[field] as unknown) instanceof JsonBytes);
}

/** The echo, its large fields as JSON outside V8's heap, once for all events; and the bytes that it takes. */
export function keepLarge(echo: CreateResponseEcho): { readonly echo: CreateResponseEcho; readonly bytes: number } {
  const kept: Partial<Record<(typeof fields)[number], JsonBytes>> = {};
  let bytes = 0;
  for (const field of fields) {
    const json = JSON.stringify(echo[field]);
    if (json.length >= largeFieldLength) {
      const large = new JsonBytes(json);
      kept[field] = large;
      bytes += large.bytes.length;
    } else bytes += typeof echo[field] === 'string' ? json.length : bytesOfJson(json);
  }
  return { echo: { ...echo, ...kept }, bytes };
}
