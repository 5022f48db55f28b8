import { isJsonObject } from '../../../formats/json/exact.ts';
import { arrayOf } from '../../../formats/json/loose.ts';
import type { Profile } from '../../upstream/profile.ts';
import type { Growth } from '../shared/growth.ts';
import { withoutBooleanSchemas } from '../shared/rewrite-schemas.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * Limits of schemas, keys, properties, types and required names that are visited to rewrite one root, and all roots of a request: a
 * reference leads to the same ones again and again. A root beyond a limit stays as it is.
 */
const maxVisitedOfRoot = 5000;
const maxVisited = 50_000;
/** Limit of unions within unions, also by reference. */
const maxUnions = 32;

/** Keywords that OpenAI and others refuse at the root, besides the unions. */
const rootKeywords = ['not', 'enum', 'const'] as const;
const unions = ['allOf', 'anyOf', 'oneOf'] as const;

/** Rewrites the schemas of a request's tools, one after the other, within the limits. */
export class ToolSchemas {
  readonly #root: Profile['toolSchemaRoot'];
  readonly #growth: Growth;
  #left = maxVisited;

  constructor({ toolSchemaRoot }: Pick<Profile, 'toolSchemaRoot'>, growth: Growth) {
    this.#root = toolSchemaRoot;
    this.#growth = growth;
  }

  /**
   * The parameters of a function with a root that the server takes: an object schema, everywhere; where the profile says so,
   * one that says `"type": "object"` and has `properties`, and has neither names nor unions at its root. `lost` receives the
   * keywords that had to go, and with them something that the client asked for. `param` is the path of the parameters.
   */
  toChat(parameters: Schema | null, param: string, lost: (keyword: string) => void): Schema {
    if (parameters === null) return { type: 'object', properties: {} };
    const root = this.#root;
    const given = withoutBooleanSchemas(parameters);
    if (root === 'any') return withType(given, root);
    const budget = { left: Math.min(maxVisitedOfRoot, this.#left) };
    this.#left -= budget.left;
    const typed = withType(withDefinition(given, budget), root);
    // A schema's names say nothing of the values.
    const { $schema: _dialect, $id: _name, ...bare } = typed;
    const plain =
      root === 'plain_object' ? this.#withoutUnions(typed, budget, param, lost) : root === 'bare_object' ? bare : typed;
    this.#left += Math.max(0, budget.left);
    return plain['type'] === 'object' && !isJsonObject(plain['properties']) ? { ...plain, properties: {} } : plain;
  }

  /** Unions at the root become the properties of all their branches. A call must have those that every branch requires. */
  #withoutUnions(schema: Schema, budget: Budget, param: string, lost: (keyword: string) => void): Schema {
    if (![...unions, ...rootKeywords].some((keyword) => keyword in schema)) return schema;
    const shape = collectShape(schema, schema, budget);
    if (shape === null || budget.left < 0) return schema;
    const { allOf, anyOf, oneOf, not, enum: values, const: value, properties, required, ...rest } = schema;
    for (const keyword of [...unions, ...rootKeywords]) {
      // What `allOf` says is still said, unless two of its branches have one property.
      if (keyword in schema && (keyword !== 'allOf' || shape.losesSomething)) lost(keyword);
    }
    const merged = Array.from(shape.properties, ([name, schemas]) => {
      // Where one of the schemas contains another, that one is written twice.
      if (schemas.length > 1) this.#growth.add(schemas, param);
      return [name, schemas.length > 1 ? mergedProperty(schemas) : schemas[0]] as const;
    });
    return {
      ...rest,
      properties: Object.fromEntries(merged),
      ...(shape.required.size > 0 && { required: [...shape.required] }),
    };
  }
}

interface Budget {
  left: number;
}

/** A root that refers to a definition, and has no properties of its own, becomes the definition. A root that contradicts it stays. */
function withDefinition(schema: Schema, budget: Budget): Schema {
  const { $ref, ...own } = schema;
  if ($ref === undefined || 'properties' in schema) return schema;
  const definition = resolve(schema, schema, budget);
  if (definition === null) return schema;
  const isSaidTwice = Object.keys(own).some((key) => key in definition && !saidAgain.has(key));
  return isSaidTwice ? schema : { ...definition, ...own };
}

const saidAgain: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  '$defs',
  'definitions',
  '$schema',
  '$id',
]);

/** Arguments are an object: a missing type, null, or a list with `object` becomes `object`. The server refuses other types itself. */
function withType(schema: Schema, root: Profile['toolSchemaRoot']): Schema {
  const { type } = schema;
  if (type === undefined) return { type: 'object', ...schema };
  const isObject = type === null || (root !== 'any' && Array.isArray(type) && type.includes('object'));
  return isObject ? { ...schema, type: 'object' } : schema;
}

interface Shape {
  readonly properties: Map<string, unknown[]>;
  readonly required: Set<string>;
  /** True if a plain object cannot say it all: a property has several schemas, or a call may have one of several shapes. */
  losesSomething: boolean;
}

/** The shape of a resolved schema and of the unions in it; null for a schema of something else, or of too much. */
function collectShape(schema: Schema | null, root: Schema, budget: Budget, depth = 0): Shape | null {
  if (depth > maxUnions) budget.left = -1; // a circle
  if (schema === null || budget.left < 0) return null;
  const types = arrayOf(schema['type']);
  const required = arrayOf(schema['required']);
  const { properties } = schema;
  const own = isJsonObject(properties) ? Object.entries(properties) : [];
  budget.left -= 1 + types.length + required.length + own.length;
  if (budget.left < 0 || ('type' in schema && !allowsObject(schema['type']))) return null;
  const shape: Shape = {
    properties: new Map(own.map(([name, property]) => [name, [property]])),
    required: new Set(required.filter((name) => typeof name === 'string')),
    losesSomething: false,
  };
  for (const keyword of unions) {
    const branches = schema[keyword];
    if (!Array.isArray(branches)) continue;
    if (keyword !== 'allOf') shape.losesSomething = true;
    const times = new Map<string, number>();
    let shapes = 0;
    for (const branch of branches) {
      const meant = resolve(branch, root, budget);
      const found = collectShape(meant, root, budget, depth + 1);
      shape.losesSomething ||= found === null || saysMore(branch, budget) || saysMore(meant, budget);
      if (budget.left < 0) return null;
      if (found === null) continue;
      shapes += 1;
      addBranch(found, shape, budget);
      budget.left -= found.required.size;
      for (const name of found.required) times.set(name, (times.get(name) ?? 0) + 1);
    }
    for (const [name, count] of times) if (keyword === 'allOf' || count === shapes) shape.required.add(name);
  }
  return shape;
}

function addBranch(branch: Shape, shape: Shape, budget: Budget): void {
  if (branch.losesSomething) shape.losesSomething = true;
  for (const [name, schemas] of branch.properties) {
    budget.left -= schemas.length;
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
  'type',
  'properties',
  'required',
  '$ref',
  ...unions,
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  '$comment',
]);

function saysMore(branch: unknown, budget: Budget): boolean {
  if (!isJsonObject(branch)) return true;
  const keys = Object.keys(branch);
  budget.left -= keys.length;
  return keys.some((key) => !keptOfBranch.has(key));
}

const maxReferences = 12;

/** The schema itself, or what it refers to at the end; null where that is no schema, or a circle. */
function resolve(given: unknown, root: Schema, budget: Budget): Schema | null {
  let schema = given;
  for (let step = 0; step <= maxReferences; step += 1) {
    if (!isJsonObject(schema)) return null;
    if (typeof schema['$ref'] !== 'string') return schema;
    schema = followReference(schema['$ref'], root, budget);
  }
  return null;
}

/** The value within the root to which a `$ref` points (`#/$defs/name`, a JSON pointer of RFC 6901); null for nothing there. */
function followReference(reference: string, root: Schema, budget: Budget): unknown {
  if (reference === '#') return root;
  // Looking a name up takes time in proportion to its length.
  budget.left -= reference.length / 8;
  if (!reference.startsWith('#/') || budget.left < 0) return null;
  let value: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function allowsObject(type: unknown): boolean {
  return type === null || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** One schema for a property that several branches have: it allows the values of all, or is any of them. */
function mergedProperty(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map([...new Set(schemas)].map((schema) => [JSON.stringify(schema), schema])).values()];
  if (distinct.length === 1) return distinct[0];
  const values = distinct.map(listValues);
  if (values.some((listed) => listed === null)) return { anyOf: distinct };
  const { const: _value, enum: _values, type, ...rest } = distinct[0] as Schema; // `listValues` is not null
  const all = [...new Set(values.flatMap((listed) => listed ?? []))];
  const areStrings = all.every((one) => typeof one === 'string');
  const sameType = new Set(distinct.map((schema) => JSON.stringify((schema as Schema)['type']))).size === 1;
  if (!sameType && !areStrings) return { anyOf: distinct };
  // Moonshot and Gemini take no property without a type.
  const known = sameType && type !== undefined ? type : areStrings ? 'string' : undefined;
  return { ...(known !== undefined && { type: known }), ...rest, enum: all };
}

/** The only values that a schema allows; null where it does not list them. */
function listValues(schema: unknown): readonly unknown[] | null {
  if (!isJsonObject(schema)) return null;
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : null;
}
