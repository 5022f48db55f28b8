import type { ChatTool } from '../wire/schema/chat-request.ts';
import { arrayOf, objectOf } from './chat/loose.ts';

/** Where a tool's arguments have integers; a place without any below it is null. */
export interface IntegerPlaces {
  readonly isInteger: boolean;
  readonly properties: ReadonlyMap<string, IntegerPlaces> | null;
  /** Entries of a list, and properties that are not named. */
  readonly others: IntegerPlaces | null;
}

/** What the tool is on the client's side. */
interface Origin {
  readonly kind: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** A JSON schema, as far as it is read here. */
interface LooseSchema {
  readonly $ref?: unknown;
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly properties?: unknown;
  readonly additionalProperties?: unknown;
  readonly items?: unknown;
  readonly prefixItems?: unknown;
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
  readonly allOf?: unknown;
}

/** Schemas that are looked at for one request, and how deep: what is beyond is not repaired. */
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
  let found: Map<string, IntegerPlaces> | null = null;
  const budget = { left: maxSchemas };
  for (const { name, chat, origin } of tools) {
    const root = chat.type === 'function' ? objectOf<LooseSchema>(chat.function.parameters) : null;
    if (origin.kind !== 'function' || root === null) continue;
    const reading: Reading = { root, budget, places: new Map(), hasInteger: false };
    const places = placesOf([root], reading, 0, integersBeside(origin));
    if (places === null || !reading.hasInteger) continue;
    found ??= new Map();
    found.set(name, places);
  }
  return found ?? none;
}

const none: ReadonlyMap<string, IntegerPlaces> = new Map();
const noNames: readonly string[] = [];

function integersBeside(origin: Origin): readonly string[] {
  const row = readAsIntegers.find(({ tool }) => tool === origin.name);
  return row === undefined || (origin.namespace !== undefined && !row.inNamespaces) ? noNames : row.names;
}

/** What is known while a tool's schema is read. */
interface Reading {
  readonly root: LooseSchema;
  readonly budget: { left: number };
  /** A schema that refers to itself is one place. */
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
  beside: readonly string[] = noNames,
): IntegerPlaces | null {
  if (depth > maxDepth) return null;
  const schemas = expanded(given, reading);
  const [only] = schemas;
  const known = schemas.length > 0 && only !== undefined ? reading.places.get(only) : undefined;
  if (known !== undefined && given.length === 1) return known;
  const isInteger = schemas.some((schema) => takes(schema, 'integer')) && !schemas.some(takesNumber);
  const places: Places = { isInteger, properties: null, others: null };
  if (only !== undefined && given.length === 1) reading.places.set(only, places);
  if (isInteger) reading.hasInteger = true;
  const byName = new Map<string, LooseSchema[]>();
  const rest: LooseSchema[] = [];
  for (const { properties, additionalProperties, items, prefixItems } of schemas) {
    for (const [name, schema] of Object.entries(objectOf(properties) ?? {})) {
      const own = objectOf<LooseSchema>(schema);
      if (own !== null) byName.set(name, [...(byName.get(name) ?? []), own]);
    }
    for (const schema of [additionalProperties, items, ...arrayOf(prefixItems)]) {
      const own = objectOf<LooseSchema>(schema);
      if (own !== null) rest.push(own);
    }
  }
  for (const [name, own] of byName) {
    const isBeside = beside.includes(name);
    if (isBeside) reading.hasInteger = true;
    const below = isBeside ? integer : placesOf(own, reading, depth + 1);
    if (below === null) continue;
    places.properties ??= new Map();
    places.properties.set(name, below);
  }
  if (rest.length > 0) places.others = placesOf(rest, reading, depth + 1);
  return isInteger || places.properties !== null || places.others !== null ? places : null;
}

const integer: IntegerPlaces = { isInteger: true, properties: null, others: null };

/** The schemas, and those that they refer to or are made of. */
function expanded(given: readonly LooseSchema[], { root, budget }: Reading): readonly LooseSchema[] {
  const all = new Set<LooseSchema>(given);
  for (const schema of all) {
    budget.left -= 1;
    if (budget.left < 0) return [];
    const { $ref, anyOf, oneOf, allOf } = schema;
    const parts = [referred($ref, root), ...arrayOf(anyOf), ...arrayOf(oneOf), ...arrayOf(allOf)];
    for (const part of parts) {
      const own = objectOf<LooseSchema>(part);
      if (own !== null) all.add(own);
    }
  }
  return [...all];
}

/** What `#/$defs/name` refers to. */
function referred(reference: unknown, root: LooseSchema): unknown {
  if (reference === '#') return root;
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return null;
  let value: unknown = root;
  for (const step of reference.slice(2).split('/'))
    value = objectOf<Record<string, unknown>>(value)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  return value;
}

function takes({ type }: LooseSchema, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

/** Also one that says nothing of its values. */
function takesNumber(schema: LooseSchema): boolean {
  const { type, $ref, anyOf, oneOf, allOf } = schema;
  const saysNothing = [type, $ref, anyOf, oneOf, allOf, schema.enum, schema.const].every(
    (value) => value === undefined,
  );
  return takes(schema, 'number') || (saysNothing && schema.properties === undefined && schema.items === undefined);
}
