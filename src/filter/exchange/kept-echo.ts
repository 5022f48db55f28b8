import { JsonBytes } from '../../formats/json/parts.ts';
import { bytesOfJson } from '../translate/shared/held-bytes.ts';
import type { CreateResponseEcho } from '../wire/schema/response-resource.ts';

/** A field is kept as bytes if its JSON is longer: an agent's tools are in three events, and are written once. */
const largeFieldLength = 32 * 1024;

/** Fields that are large in good faith: tools, and what is said to the model. */
const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;

/** Does each event with the Response repeat a field that is kept as bytes? */
export function repeatsMuch(echo: CreateResponseEcho): boolean {
  return fields.some((field) => (echo[field] as unknown) instanceof JsonBytes);
}

/** Keeps the large fields of the echo as JSON outside V8's heap, for all events. Returns the bytes that the echo takes, too. */
export function keepLarge(echo: CreateResponseEcho): { readonly echo: CreateResponseEcho; readonly bytes: number } {
  const kept: Record<string, JsonBytes> = {};
  let bytes = 0;
  for (const [field, value] of Object.entries(echo)) {
    const json = JSON.stringify(value);
    if (json.length >= largeFieldLength && fields.some((large) => large === field)) {
      const large = new JsonBytes(json);
      kept[field] = large;
      bytes += large.bytes.length;
    } else bytes += typeof value === 'string' ? json.length : bytesOfJson(json);
  }
  return { echo: { ...echo, ...kept }, bytes };
}
