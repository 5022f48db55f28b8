import { isJsonObject } from '../../../formats/json/exact.ts';
import type { Profile } from '../../upstream/profile.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Keys, schemas in unions, and properties up to which a root is rewritten. JSON Schema has some sixty keywords. */
const maxRewritten = 1000;

/** Keywords that OpenAI and others refuse at the root, besides the unions. */
const rootKeywords = ['not', 'enum', 'const'] as const;
const unions = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * The parameters of a function with a root that the server takes: an object schema, everywhere; where the profile says so,
 * one that says `"type": "object"` and has `properties`, or one without its names or without a union besides. `lost` receives the keywords that
 * had to go, and with them something that the client asked for.
 */
export function toolSchemaToChat(
  parameters: Schema | null,
  { toolSchemaRoot: root }: Pick<Profile, 'toolSchemaRoot'>,
  lost: (keyword: string) => void,
): Schema {
  if (parameters === null) return { type: 'object', properties: {} };
  if (Object.keys(parameters).length > maxRewritten) return parameters;
  const typed = withType(root === 'any' ? parameters : withDefinition(parameters), root);
  if (root === 'any') return typed;
  // Neither name says anything of the values.
  const { $schema: _dialect, $id: _name, ...bare } = typed;
  const plain = root === 'plain_object' ? withoutUnions(typed, lost) : root === 'bare_object' ? bare : typed;
  return plain['type'] === 'object' && !isJsonObject(plain['properties']) ? { ...plain, properties: {} } : plain;
}

/** A root that refers to a definition, and has no properties of its own, says what the definition says; one that contradicts it stays. */
function withDefinition(schema: Schema): Schema {
  const { $ref, ...own } = schema;
  if ($ref === undefined || 'properties' in schema) return schema;
  const definition = resolved(schema, schema);
  if (definition === null || Object.keys(definition).length > maxRewritten) return schema;
  const isSaidTwice = Object.keys(own).some((key) => key in definition && !saidAgain.has(key));
  return isSaidTwice ? schema : { ...definition, ...own };
}

/** Keys that a root may have beside a definition that has them. */
const saidAgain: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  '$defs',
  'definitions',
  '$schema',
  '$id',
]);

/** A missing type, or null, is `object`; so is a list that has it, since arguments are always an object. Any other is the client's mistake, and the server's to refuse. */
function withType(schema: Schema, root: Profile['toolSchemaRoot']): Schema {
  const { type } = schema;
  if (type === undefined) return { type: 'object', ...schema };
  const isObject = type === null || (root !== 'any' && Array.isArray(type) && type.includes('object'));
  return isObject ? { ...schema, type: 'object' } : schema;
}

/** Unions at the root become the properties of all their branches; of these a call must have what every branch requires. */
function withoutUnions(schema: Schema, lost: (keyword: string) => void): Schema {
  if (![...unions, ...rootKeywords].some((keyword) => keyword in schema)) return schema;
  const budget = { left: maxRewritten };
  const shape = shapeOf(schema, schema, budget);
  if (shape === null || budget.left < 0) return schema;
  const { allOf, anyOf, oneOf, not, enum: values, const: value, properties, required, ...rest } = schema;
  for (const keyword of [...unions, ...rootKeywords]) {
    // All that `allOf` says is still said, unless two of its branches have one property.
    if (keyword in schema && (keyword !== 'allOf' || shape.losesSomething)) lost(keyword);
  }
  const merged = Array.from(shape.properties, ([name, schemas]) => [name, mergedProperty(schemas)] as const);
  return {
    ...rest,
    properties: Object.fromEntries(merged),
    ...(shape.required.size > 0 && { required: [...shape.required] }),
  };
}

/** The properties of an object schema: all schemas of each, and those that are required. */
interface Shape {
  readonly properties: Map<string, unknown[]>;
  readonly required: Set<string>;
  /** A property has several schemas, or the schema says which of several shapes a call may have. */
  losesSomething: boolean;
}

/** The shape of a schema and of the unions in it; null for what is no object. References may go in circles: the budget ends. */
function shapeOf(given: unknown, root: Schema, budget: { left: number }): Shape | null {
  if (--budget.left < 0) return null;
  const schema = resolved(given, root);
  if (schema === null || ('type' in schema && !allowsObject(schema['type']))) return null;
  const shape: Shape = { properties: new Map(), required: new Set(namesIn(schema['required'])), losesSomething: false };
  const { properties } = schema;
  const own = isJsonObject(properties) ? Object.entries(properties) : [];
  budget.left -= own.length;
  for (const [name, property] of own) shape.properties.set(name, [property]);
  for (const keyword of unions) {
    const branches = schema[keyword];
    if (!Array.isArray(branches)) continue;
    if (keyword !== 'allOf') shape.losesSomething = true;
    const shapes: Shape[] = [];
    for (const branch of branches) {
      const found = shapeOf(branch, root, budget);
      shape.losesSomething ||= found === null || saysMore(branch, budget) || saysMore(resolved(branch, root), budget);
      if (found !== null) shapes.push(found);
    }
    const times = new Map<string, number>();
    for (const branch of shapes) {
      add(branch, shape);
      for (const name of branch.required) times.set(name, (times.get(name) ?? 0) + 1);
    }
    for (const [name, count] of times) if (keyword === 'allOf' || count === shapes.length) shape.required.add(name);
  }
  return shape;
}

function add(branch: Shape, shape: Shape): void {
  if (branch.losesSomething) shape.losesSomething = true;
  for (const [name, schemas] of branch.properties) {
    const known = shape.properties.get(name);
    if (known === undefined) shape.properties.set(name, [...schemas]);
    else {
      shape.losesSomething = true;
      for (const schema of schemas) known.push(schema);
    }
  }
}

/** Keys of a branch that have a place in the merged object, or say nothing of its values. */
const keptOfBranch: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', '$ref', ...unions],
  ...['title', 'description', 'default', 'examples', 'deprecated', '$comment'],
]);

function saysMore(branch: unknown, budget: { left: number }): boolean {
  if (!isJsonObject(branch)) return true;
  const keys = Object.keys(branch);
  budget.left -= keys.length;
  return keys.some((key) => !keptOfBranch.has(key));
}

/** References that are followed, one to the next. */
const maxReferences = 12;

/** The schema itself, or what it refers to at the end; null where that is no schema, or a circle. */
function resolved(given: unknown, root: Schema): Schema | null {
  let schema = given;
  for (let step = 0; step <= maxReferences; step += 1) {
    if (!isJsonObject(schema)) return null;
    if (typeof schema['$ref'] !== 'string') return schema;
    schema = referred(schema['$ref'], root);
  }
  return null;
}

function allowsObject(type: unknown): boolean {
  return type === null || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

function namesIn(required: unknown): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** One schema for a property that several branches have: their values together, or any of them. */
function mergedProperty(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map([...new Set(schemas)].map((schema) => [JSON.stringify(schema), schema])).values()];
  if (distinct.length === 1) return distinct[0];
  const values = distinct.map(valuesOf);
  if (values.some((listed) => listed === null)) return { anyOf: distinct };
  const { const: _value, enum: _values, type, ...rest } = distinct[0] as Schema; // `valuesOf` is not null
  const all = [...new Set(values.flatMap((listed) => listed ?? []))];
  const areStrings = all.every((one) => typeof one === 'string');
  const sameType = new Set(distinct.map((schema) => JSON.stringify((schema as Schema)['type']))).size === 1;
  if (!sameType && !areStrings) return { anyOf: distinct };
  // Moonshot and Gemini take no property without a type.
  const known = sameType && type !== undefined ? type : areStrings ? 'string' : undefined;
  return { ...(known !== undefined && { type: known }), ...rest, enum: all };
}

/** The only values that a schema allows; null where it does not list them. */
function valuesOf(schema: unknown): readonly unknown[] | null {
  if (!isJsonObject(schema)) return null;
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : null;
}

/** Characters of a reference that is followed: each step costs, and a schema may have many references. */
const maxReference = 500;

/**
 * Returns what a schema's `$ref` refers to within its root, as `#/$defs/name`, a JSON pointer (RFC 6901), does; null for
 * nothing there.
 */
export function referred(reference: unknown, root: object): unknown {
  if (reference === '#') return root;
  if (typeof reference !== 'string' || !reference.startsWith('#/') || reference.length > maxReference) return null;
  let value: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
