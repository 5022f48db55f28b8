import { isJsonObject } from '../../../../formats/json/exact.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * The schema without `"encrypted": true`, with which Codex marks what agents tell each other (multi_agent_v2): no Chat
 * server can encrypt a parameter, and strict ones refuse the keyword. The same object if it has none. Follows objects and
 * arrays down to `maxDepth` levels, where Codex and the SDKs put it.
 */
export function withoutEncrypted(schema: Schema, maxDepth = 8): Schema {
  if (maxDepth === 0) return schema;
  let copy: Record<string, unknown> | null = null;
  if (schema['encrypted'] === true) {
    copy = { ...schema };
    delete copy['encrypted'];
  }
  const { properties, items } = schema;
  if (isJsonObject(properties)) {
    let cleaned: Record<string, unknown> | null = null;
    for (const name in properties) {
      const property = properties[name];
      if (!isJsonObject(property)) continue;
      const without = withoutEncrypted(property, maxDepth - 1);
      if (without === property) continue;
      cleaned ??= { ...properties };
      cleaned[name] = without;
    }
    if (cleaned !== null) copy = { ...(copy ?? schema), properties: cleaned };
  }
  if (isJsonObject(items)) {
    const without = withoutEncrypted(items, maxDepth - 1);
    if (without !== items) copy = { ...(copy ?? schema), items: without };
  }
  return copy ?? schema;
}
