import { objectOf, objectsOf } from '../../formats/json/loose.ts';
import { JsonBytes } from '../../formats/json/parts.ts';
import { bytesOfJson } from '../translate/shared/held-bytes.ts';
import type { CreateResponseEcho } from '../wire/schema/response-resource.ts';

/** A field of longer JSON is kept as bytes: the tools of an agent are in three events, and are written once. */
export const largeFieldLength = 32 * 1024;

const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;

/** Does each Response repeat a part of its request that is kept as bytes? */
export function repeatsMuch(echo: CreateResponseEcho): boolean {
  return fields.some((field) => (echo[field] as unknown) instanceof JsonBytes);
}

/** The tools of a request, and their JSON as it was sent. */
export interface SentTools {
  readonly tools: readonly unknown[];
  readonly json: string;
}

/**
 * The echo, its large fields as JSON outside V8's heap, once for all events; and the bytes that it takes. Tools that are repeated as
 * the client sent them are not written again: those of an agent take as long as the rest of the echo.
 */
export function keepLarge(
  echo: CreateResponseEcho,
  sent: SentTools | null = null,
): { readonly echo: CreateResponseEcho; readonly bytes: number } {
  const kept: Partial<Record<(typeof fields)[number], JsonBytes>> = {};
  let bytes = 0;
  for (const field of fields) {
    const isAsSent = field === 'tools' && sent !== null && areSame(echo.tools, sent);
    const json = isAsSent ? sent.json : JSON.stringify(echo[field]);
    if (json.length >= largeFieldLength) {
      const large = new JsonBytes(json);
      kept[field] = large;
      bytes += large.bytes.length;
    } else bytes += typeof echo[field] === 'string' ? json.length : bytesOfJson(json);
  }
  return { echo: { ...echo, ...kept }, bytes };
}

/** Does each tool have the members that were sent, and is their JSON one line, as an event's is? */
function areSame(echoed: CreateResponseEcho['tools'], { tools: sent, json }: SentTools): boolean {
  const tools = objectsOf<Readonly<Record<string, unknown>>>(echoed);
  if (tools.length !== sent.length || json.includes('\n') || json.includes('\r')) return false;
  return tools.every((tool, at) => {
    const given = objectOf<Readonly<Record<string, unknown>>>(sent[at]) ?? {};
    const names = Object.keys(tool);
    return names.length === Object.keys(given).length && names.every((name) => given[name] === tool[name]);
  });
}
