import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolSchemas } from '../../../../../src/filter/translate/request-to-chat/tool-schema-to-chat.ts';
import { Growth } from '../../../../../src/filter/translate/shared/growth.ts';

type Schema = Readonly<Record<string, unknown>>;

function plain(schema: Schema): { readonly schema: Schema; readonly lost: readonly string[] } {
  const lost: string[] = [];
  const made = schemasOf(schema).toChat(schema, 'tools[0].parameters', (keyword) => lost.push(keyword));
  return { schema: made, lost };
}

function schemasOf(request: unknown): ToolSchemas {
  return new ToolSchemas({ toolSchemaRoot: 'plain_object' }, new Growth(request));
}

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}]));

describe('a root that is a union', () => {
  it('has what it refers to, and references that go in circles end', () => {
    const branch = { properties: { a: { type: 'string' } }, required: ['a'] };
    const { schema } = plain({ anyOf: [{ $ref: '#/definitions/b' }], definitions: { b: branch } });
    expect(schema).toMatchObject({ type: 'object', ...branch });
    const circle = { type: 'object', anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } };
    expect(plain(circle)).toEqual({ schema: { ...circle, properties: {} }, lost: [] });
  });

  it.each([
    ['a reference to nothing', { $ref: '#/$defs/none' }],
    ['a reference elsewhere', { $ref: 'https://a.test/schema' }],
    ['a name that every object has', { $ref: '#/$defs/constructor' }],
    ['no schema', true],
    ['no object', { type: 'string' }],
  ])('has nothing of %s', (_, branch) => {
    expect(plain({ type: 'object', oneOf: [branch], $defs: {} }).schema['properties']).toEqual({});
  });

  it('keeps a property of any name', () => {
    const { schema } = plain(JSON.parse('{"anyOf":[{"properties":{"__proto__":{"type":"string"}}}]}'));
    expect(Object.keys(schema['properties'] as object)).toEqual(['__proto__']);
  });

  it('is an object in place of a boolean under any name', () => {
    const { schema } = plain(JSON.parse('{"properties":{"a":{"type":"string"},"__proto__":true,"b":false}}'));
    expect(JSON.stringify(schema['properties'])).toBe('{"a":{"type":"string"},"__proto__":{},"b":{"not":{}}}');
  });

  it.each([
    [{ type: 'string', const: 'a' }, { type: 'integer', const: 1 }, null],
    [{ type: 'integer', enum: [1] }, { const: 'a' }, null],
    [
      { type: 'integer', enum: [1] },
      { type: 'integer', const: 2 },
      { type: 'integer', enum: [1, 2] },
    ],
    [{ type: ['string', 'null'], const: 'a' }, { const: 'b' }, { type: 'string', enum: ['a', 'b'] }],
    [{ const: 1 }, { const: 'a' }, { enum: [1, 'a'] }],
  ])('has no type that the values of its branches contradict: %j, %j', (one, other, merged) => {
    const { schema } = plain({ oneOf: [{ properties: { p: one } }, { properties: { p: other } }] });
    expect(schema['properties']).toEqual({ p: merged ?? { anyOf: [one, other] } });
  });

  it('follows references to references, deeper ones and escaped names', () => {
    const a = { type: 'string' };
    const $defs = {
      one: { $ref: '#/$defs/a~1b~01' },
      'a/b~1': { $ref: '#/$defs/deep/deeper' },
      deep: { deeper: { properties: { a } } },
    };
    expect(plain({ anyOf: [{ $ref: '#/$defs/one' }], $defs }).schema['properties']).toEqual({ a });
  });

  it.each([
    { if: { required: ['a'] }, else: { required: ['b'] } },
    { properties: {}, additionalProperties: false },
    { $ref: '#/$defs/none' },
    { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    { oneOf: [{ properties: { a: {} } }] },
  ])('names an allOf whose branch says what is lost: %j', (branch) => {
    expect(plain({ allOf: [branch] }).lost).toEqual(['allOf']);
  });

  it('does not name an allOf whose branch says nothing of values but what is merged', () => {
    const said = { title: 'A', description: 'B', default: {}, examples: [], deprecated: true, $comment: 'C' };
    expect(plain({ allOf: [{ type: 'object', properties: {}, required: [], ...said }] }).lost).toEqual([]);
  });

  it('has the properties of a union in a branch of allOf, and requires what each of its branches does', () => {
    const [a, b] = [{ type: 'string' }, { type: 'number' }];
    const union = {
      anyOf: [
        { properties: { a }, required: ['a', 'c'] },
        { properties: { b }, required: ['b', 'c'] },
      ],
    };
    const { schema } = plain({ allOf: [union, { required: ['d'] }] });
    expect(schema).toMatchObject({ type: 'object', properties: { a, b } });
    expect(schema['required']).toEqual(['c', 'd']);
  });

  it('that is a reference says what its definition says', () => {
    const definition = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const $defs = { A: definition };
    expect(plain({ $ref: '#/$defs/A', $defs }).schema).toEqual({ ...definition, $defs });
    const titled = { title: 'T', ...definition };
    const beside = { title: 'U', minProperties: 1, $defs: { A: titled } };
    expect(plain({ $ref: '#/$defs/A', ...beside }).schema).toEqual({ ...definition, ...beside });
    const more = { $ref: '#/$defs/A', required: ['b'], $defs };
    expect(plain(more).schema).toEqual({ type: 'object', ...more, properties: {} });
  });

  it('of more properties and branches than anyone reads stays as it is', () => {
    const broad = { type: 'object', properties: {}, anyOf: Array.from({ length: 5000 }, () => ({})) };
    expect(plain(broad)).toEqual({ schema: broad, lost: [] });
    expect(plain({ ...broad, anyOf: broad.anyOf.slice(1) }).lost).toEqual(['anyOf']);
    const names = Object.keys(many(5000));
    for (const branch of [{ properties: many(5000) }, { required: names }, { type: names }, many(5000)]) {
      const schema = { type: 'object', properties: {}, allOf: [branch] };
      expect(plain(schema)).toEqual({ schema, lost: [] });
    }
    const far = { type: 'object', properties: {}, anyOf: [{ $ref: `#/${'a/'.repeat(20_000)}` }] };
    expect(plain(far)).toEqual({ schema: far, lost: [] });
  });

  it('stays as it is after others of which much had to be visited', () => {
    const schema = { type: 'object', properties: {}, anyOf: Array.from({ length: 4998 }, () => ({})) };
    const schemas = schemasOf(null);
    const rewritten = Array.from({ length: 12 }, () => schemas.toChat(schema, 'tools[0].parameters', () => {}));
    expect(rewritten.map((made) => 'anyOf' in made)).toEqual([...Array(10).fill(false), true, true]);
  });

  it('is refused where a schema within another one is to be written again and again', () => {
    const { schema } = nested(40, 'x'.repeat(100_000));
    expect(() => schemasOf(schema).toChat(schema, 'tools[0].parameters', () => {})).toThrow(
      "Invalid 'tools[0].parameters': it makes the request for the upstream more than 8 times as long as the one that came.",
    );
    const short = nested(40, 'x').schema;
    expect(schemasOf(short).toChat(short, 'tools[0].parameters', () => {})).not.toHaveProperty('anyOf');
  });

  /** A root whose branches are definitions, each of which is within the one before it. */
  function nested(levels: number, text: string): { readonly schema: Schema } {
    let inner: Schema = { type: 'object', properties: {}, description: text };
    let path = '#/$defs/a';
    const anyOf: Schema[] = [];
    for (let level = 0; level < levels; level += 1) {
      inner = { type: 'object', properties: { p: inner } };
      anyOf.push({ $ref: path });
      path += '/properties/p';
    }
    return { schema: { anyOf, $defs: { a: inner } } };
  }
});

const property = fc.record(
  { type: fc.constantFrom('string', 'number'), enum: fc.array(fc.string()) },
  { requiredKeys: [] },
);
const name = fc.constantFrom('a', 'b', 'c');

/** A schema whose unions have branches of that kind. */
const schemaWith = (branch: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> =>
  fc.record(
    {
      type: fc.constantFrom('object', null, ['object', 'null'], 'string'),
      properties: fc.dictionary(name, property),
      required: fc.uniqueArray(name),
      anyOf: fc.array(branch, { maxLength: 3 }),
      oneOf: fc.array(branch, { maxLength: 3 }),
      allOf: fc.array(branch, { maxLength: 3 }),
    },
    { requiredKeys: [] },
  );
const anySchema = schemaWith(schemaWith(fc.constant({})));

it('any root that may be an object becomes one, without a union; every property of its own stays, and what it requires', () => {
  fc.assert(
    fc.property(anySchema, (given) => {
      fc.pre(given['type'] !== 'string');
      const { schema } = plain(given);
      expect(schema['type']).toBe('object');
      for (const keyword of ['anyOf', 'oneOf', 'allOf']) expect(schema).not.toHaveProperty(keyword);
      const properties = Object.keys(schema['properties'] as object);
      expect(properties).toEqual(expect.arrayContaining(Object.keys(given['properties'] ?? {})));
      expect(schema['required'] ?? []).toEqual(expect.arrayContaining((given['required'] as string[]) ?? []));
    }),
  );
});
