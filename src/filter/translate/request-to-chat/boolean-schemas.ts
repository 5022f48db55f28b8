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
 * The schema with objects in place of the booleans that JSON Schema allows as schemas: MCP servers in Go, Rust and Python write them, and
 * llama.cpp (mezmo/aura#358), Ollama and Fireworks (openclaw-mcp-adapter#9) refuse the whole request for one. The meaning stays. The same
 * object if it has none.
 */
export function withoutBooleanSchemas(schema: Schema): Schema {
  let copy: Record<string, unknown> | null = null;
  for (const keyword in schema) {
    const given = schema[keyword];
    // Most keywords are texts, which nothing is looked up for.
    if (typeof given === 'string') continue;
    const place = places.get(keyword);
    if (place === undefined || (place === 'boolean' && typeof given === 'boolean')) continue;
    const named = place === 'named' ? objectOf<Schema>(given) : null;
    const written = named === null ? schemaOf(given) : namedSchemas(named);
    if (written === given) continue;
    copy ??= { ...schema };
    copy[keyword] = written;
  }
  return copy ?? schema;
}

function namedSchemas(given: Schema): Schema {
  let copy: Record<string, unknown> | null = null;
  for (const name in given) {
    const written = schemaOf(given[name]);
    if (copy === null && written !== given[name]) copy = before(name, given);
    if (copy !== null) copy[name] = written;
  }
  return copy ?? given;
}

/**
 * A copy of what stands before that name. A spread of all would put each of very many names in its place twice, which takes most of the
 * time. The copy has no prototype, so that `__proto__` is a name like others.
 */
function before(end: string, given: Schema): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  for (const name in given) {
    if (name === end) break;
    copy[name] = given[name];
  }
  return copy;
}

function schemaOf(given: unknown): unknown {
  if (typeof given === 'boolean') return given ? {} : { not: {} };
  const schema = objectOf<Schema>(given);
  if (schema !== null) return withoutBooleanSchemas(schema);
  if (!Array.isArray(given)) return given;
  const written = given.map(schemaOf);
  return written.every((entry, at) => entry === given[at]) ? given : written;
}
