import { arrayOf, objectOf, objectsOf } from '../../../formats/json/loose.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';
import type { ChatTool } from '../../wire/schema/chat-request.ts';
import type { IntegerPlaces } from '../shared/context.ts';
import { referred } from './tool-schema-to-chat.ts';

interface Origin {
  readonly kind: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** A JSON schema, as far as it is read here. */
type LooseSchema = Loose<(typeof saying)[number] | '$ref'>;

/** The keywords by which a schema says something of its values. */
const saying = [
  ...(['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf'] as const),
  ...(['properties', 'additionalProperties', 'items', 'prefixItems'] as const),
] as const;

/** Entries of schemas that are looked at for one request, and how deep: what is beyond is not repaired. */
const maxSchemas = 10_000;
const maxDepth = 12;

/**
 * Codex's own tools that declare `number` and read an integer; a call with `120000.0` fails there (codex#33452, opencodex#2316, #2443).
 * `wait` and `write_stdin` of a namespace are somebody else's.
 */
const readAsIntegers: readonly { readonly tool: string; readonly inNamespaces: boolean; readonly names: string[] }[] = [
  { tool: 'wait', inNamespaces: false, names: ['yield_time_ms', 'max_tokens'] },
  { tool: 'write_stdin', inNamespaces: false, names: ['session_id'] },
  { tool: 'wait_agent', inNamespaces: true, names: ['timeout_ms'] },
];

/** The places by a tool's Chat name, of those tools that have any. */
export function integerPlacesOf(
  tools: readonly { readonly name: string; readonly chat: ChatTool; readonly origin: Origin }[],
): ReadonlyMap<string, IntegerPlaces> {
  const found = new Map<string, IntegerPlaces>();
  const reading: Reading = { root: {}, left: maxSchemas, places: new Map(), hasInteger: false };
  for (const { name, chat, origin } of tools) {
    const root = chat.type === 'function' ? objectOf<LooseSchema>(chat.function.parameters) : null;
    if (origin.kind !== 'function' || root === null) continue;
    reading.root = root;
    reading.hasInteger = false;
    const places = placesOf([root], reading, 0, integersBeside(origin));
    if (places !== null && reading.hasInteger) found.set(name, places);
  }
  return found;
}

function integersBeside(origin: Origin): readonly string[] {
  const row = readAsIntegers.find(({ tool }) => tool === origin.name);
  return row === undefined || (origin.namespace !== undefined && !row.inNamespaces) ? [] : row.names;
}

interface Reading {
  /** The schema that is read, whose definitions others in it refer to. */
  root: LooseSchema;
  /** How many more entries of schemas are read. */
  left: number;
  /** A schema that refers to itself, or that many refer to, is one place. */
  readonly places: Map<LooseSchema, Places>;
  hasInteger: boolean;
}

interface Places extends IntegerPlaces {
  isInteger: boolean;
  properties: Map<string, IntegerPlaces> | null;
  others: IntegerPlaces | null;
}

/** `given` are the schemas that hold for one value: those of a union, say. `beside` are properties that are integers whatever they declare. */
function placesOf(
  given: readonly LooseSchema[],
  reading: Reading,
  depth: number,
  beside: readonly string[] = [],
): IntegerPlaces | null {
  if (depth > maxDepth || reading.left < 0) return null;
  const isOfParts = given.length === 1 && !isWhole(given[0] as LooseSchema);
  const schemas = expanded(given, reading);
  // The one given comes before its parts; where it only refers to another, that is the first. Each circle of schemas has such a one.
  const only = isOfParts ? schemas[0] : undefined;
  const known = only === undefined ? undefined : reading.places.get(only);
  if (known !== undefined) return known;
  const isInteger = schemas.some(takesInteger) && !schemas.some(takesNumber);
  const places: Places = { isInteger, properties: null, others: null };
  if (only !== undefined) reading.places.set(only, places);
  if (isInteger) reading.hasInteger = true;
  const byName = schemas.length > 1 ? new Map<string, LooseSchema[]>() : null;
  const rest: LooseSchema[] = [];
  for (const { properties, additionalProperties, items, prefixItems } of schemas) {
    const named = objectOf<Readonly<Record<string, unknown>>>(properties);
    for (const name in named) {
      reading.left--;
      if (reading.left < 0) return null;
      const own = objectOf<LooseSchema>(named[name]);
      if (own === null) continue;
      const same = byName?.get(name);
      if (same !== undefined) same.push(own);
      else if (byName !== null) byName.set(name, [own]);
      else put(places, name, beside.includes(name) ? integerIn(reading) : placesOfOne(own, reading, depth + 1));
    }
    if (additionalProperties === undefined && items === undefined && prefixItems === undefined) continue;
    const entries = [additionalProperties, items, ...arrayOf(prefixItems)].filter((entry) => entry !== undefined);
    reading.left -= entries.length;
    if (reading.left < 0) return null;
    rest.push(...objectsOf<LooseSchema>(entries));
  }
  if (byName !== null)
    for (const [name, own] of byName)
      put(places, name, beside.includes(name) ? integerIn(reading) : placesOf(own, reading, depth + 1));
  if (rest.length > 0) places.others = placesOf(rest, reading, depth + 1);
  return isInteger || places.properties !== null || places.others !== null ? places : null;
}

/** Most properties are texts, flags and counts, which each request of an agent has by the hundred: nothing is made for them. */
function placesOfOne(schema: LooseSchema, reading: Reading, depth: number): IntegerPlaces | null {
  const { type } = schema;
  if (type === 'string' || type === 'boolean') return null;
  if (type === 'integer' && depth <= maxDepth && isWhole(schema)) return integerIn(reading);
  return placesOf([schema], reading, depth);
}

function integerIn(reading: Reading): IntegerPlaces {
  reading.hasInteger = true;
  return integer;
}

function put(places: Places, name: string, below: IntegerPlaces | null): void {
  if (below === null) return;
  places.properties ??= new Map();
  places.properties.set(name, below);
}

const integer: IntegerPlaces = { isInteger: true, properties: null, others: null };

/** The schemas, and those that they refer to or are made of; not those that only refer to others. */
function expanded(given: readonly LooseSchema[], reading: Reading): readonly LooseSchema[] {
  if (given.every(isWhole)) return given;
  const all = new Set<LooseSchema>(given);
  for (const schema of all) {
    const { $ref, anyOf, oneOf, allOf, type } = schema;
    const parts = [...arrayOf(anyOf), ...arrayOf(oneOf), ...arrayOf(allOf)];
    if ($ref !== undefined) parts.push(referred($ref, reading.root));
    reading.left -= parts.length;
    if (reading.left < 0) return [];
    for (const part of parts) {
      const own = objectOf<LooseSchema>(part);
      // What a part does not say, the schema around it does.
      if (own !== null) all.add(type !== undefined && own.type === undefined ? { ...own, type } : own);
    }
  }
  return [...all].filter((schema) => schema.$ref === undefined || !saysNothing(schema));
}

function isWhole({ $ref, anyOf, oneOf, allOf }: LooseSchema): boolean {
  return $ref === undefined && anyOf === undefined && oneOf === undefined && allOf === undefined;
}

function takes({ type }: LooseSchema, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

function takesInteger(schema: LooseSchema): boolean {
  return takes(schema, 'integer');
}

/** Also one that says nothing of its values. */
function takesNumber(schema: LooseSchema): boolean {
  return takes(schema, 'number') || (schema.$ref === undefined && saysNothing(schema));
}

/** Whether a schema says nothing of its values, but for what it refers to. */
function saysNothing(schema: LooseSchema): boolean {
  return saying.every((keyword) => schema[keyword] === undefined);
}
