import { isJsonObject } from '../../../formats/json/exact.ts';
import { objectOf } from '../../../formats/json/loose.ts';

type Schema = Readonly<Record<string, unknown>>;

/** How schemas stand under a keyword: alone or in a list, by names, or where every server takes a boolean too. */
const places: ReadonlyMap<string, 'plain' | 'named' | 'boolean'> = new Map([
  ...(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'] as const).map(
    (keyword) => [keyword, 'named'] as const,
  ),
  ...(
    ['items', 'prefixItems', 'contains', 'propertyNames', 'anyOf', 'oneOf', 'allOf', 'if', 'then', 'else'] as const
  ).map((keyword) => [keyword, 'plain'] as const),
  ...(['additionalProperties', 'unevaluatedProperties', 'additionalItems', 'unevaluatedItems', 'not'] as const).map(
    (keyword) => [keyword, 'boolean'] as const,
  ),
]);

/**
 * The schema with objects in place of the booleans that JSON Schema allows as schemas, with the same meaning; the same object if it has
 * none. MCP servers in Go, Rust and Python write such booleans, and llama.cpp (mezmo/aura#358), Ollama and Fireworks
 * (openclaw-mcp-adapter#9) refuse the whole request for one.
 */
export function withoutBooleanSchemas(schema: Schema): Schema {
  let copy: Record<string, unknown> | null = null;
  for (const keyword in schema) {
    const given = schema[keyword];
    // The values of most keywords are texts, for which nothing is looked up.
    if (typeof given === 'string') continue;
    const place = places.get(keyword);
    if (place === undefined || (place === 'boolean' && typeof given === 'boolean')) continue;
    const named = place === 'named' ? objectOf<Schema>(given) : null;
    const written = named === null ? withoutBoolean(given) : namedSchemas(named);
    if (written === given) continue;
    copy ??= { ...schema };
    copy[keyword] = written;
  }
  return copy ?? schema;
}

function namedSchemas(given: Schema): Schema {
  let copy: Record<string, unknown> | null = null;
  for (const name in given) {
    const written = withoutBoolean(given[name]);
    if (copy === null && written !== given[name]) copy = fieldsBefore(name, given);
    if (copy !== null) copy[name] = written;
  }
  return copy ?? given;
}

/**
 * A copy of the fields before `end`. A spread of all fields would put each of very many names in its place twice, which takes most of the
 * time. The copy has no prototype, so that `__proto__` is a name like others.
 */
function fieldsBefore(end: string, given: Schema): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  for (const name in given) {
    if (name === end) break;
    copy[name] = given[name];
  }
  return copy;
}

function withoutBoolean(given: unknown): unknown {
  if (typeof given === 'boolean') return given ? {} : { not: {} };
  const schema = objectOf<Schema>(given);
  if (schema !== null) return withoutBooleanSchemas(schema);
  if (!Array.isArray(given)) return given;
  const written = given.map(withoutBoolean);
  return written.every((entry, at) => entry === given[at]) ? given : written;
}

/**
 * The schema without `"encrypted": true`, with which Codex marks what agents tell each other (multi_agent_v2): no Chat
 * server can encrypt a parameter, and strict ones refuse the keyword. The same object if it has none. Objects and
 * arrays are followed down to `maxDepth` levels, where Codex and the SDKs put the keyword.
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
