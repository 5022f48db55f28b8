import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  WholeNumbers,
  withWholeNumbers,
} from '../../../../../../src/filter/translate/chat-to-response/write/whole-numbers.ts';
import { integerPlacesOf } from '../../../../../../src/filter/translate/request-to-chat/integer-places.ts';
import type { IntegerPlaces } from '../../../../../../src/filter/translate/shared/context.ts';
import { runs } from '../../../../../support/property-runs.ts';

const placesOf = (parameters: Record<string, unknown>, name = 'f', namespace?: string): IntegerPlaces | undefined =>
  integerPlacesOf([
    {
      name,
      chat: { type: 'function', function: { name, parameters } },
      origin: { kind: 'function', name, ...(namespace !== undefined && { namespace }) },
    },
  ]).get(name);
const integer = { type: 'integer' };
const schema = {
  type: 'object',
  properties: {
    n: integer,
    x: { type: 'number' },
    either: { anyOf: [integer, { type: 'null' }] },
    both: { anyOf: [integer, { type: 'number' }] },
    typed: { type: ['integer', 'null'] },
    list: { type: 'array', items: integer },
    nested: { type: 'object', properties: { deep: { $ref: '#/$defs/count' } } },
    'a"b': integer,
    text: { type: 'string' },
    map: { type: 'object', additionalProperties: integer },
    anything: { anyOf: [integer, {}] },
    bounded: { type: 'integer', allOf: [{ minimum: 1 }], anyOf: [{ maximum: 9 }, { $ref: '#/$defs/odd' }] },
    loose: { anyOf: [{ anyOf: [{ minimum: 1 }] }, integer] },
    self: { $ref: '#' },
  },
  $defs: { count: integer, odd: { multipleOf: 3 } },
};
const repaired = (text: string, parameters: Record<string, unknown> = schema) => {
  const places = placesOf(parameters);
  return places === undefined ? text : withWholeNumbers(text, places);
};

describe('a number of a tool’s arguments', () => {
  it.each([
    ['{"n":120000.0}', '{"n":120000}'],
    ['{"n": 120000.00 , "x": 1.0}', '{"n": 120000 , "x": 1.0}'],
    ['{"either":3.0,"typed":-4.0}', '{"either":3,"typed":-4}'],
    ['{"list":[1.0,2.5,3.0]}', '{"list":[1,2.5,3]}'],
    ['{"nested":{"deep":1.0},"map":{"a":2.0}}', '{"nested":{"deep":1},"map":{"a":2}}'],
    ['{"a\\"b":1.0}', '{"a\\"b":1}'],
    ['{"self":{"n":1.0}}', '{"self":{"n":1}}'],
    ['{"bounded":5.0}', '{"bounded":5}'],
  ])('is an integer where the schema has one: %s', (given, wanted) => {
    expect(repaired(given)).toBe(wanted);
  });

  it.each([
    { enum: ['a'] },
    { const: 'a' },
    ...['anyOf', 'oneOf', 'allOf', 'prefixItems'].map((keyword) => ({ [keyword]: [{ type: 'string' }] })),
    ...['additionalProperties', 'items'].map((keyword) => ({ [keyword]: { type: 'string' } })),
    { properties: { a: { type: 'string' } } },
  ])('is an integer beside another choice that is no number: %j', (choice) => {
    expect(repaired('{"n":1.0}', { properties: { n: { anyOf: [integer, choice] } } })).toBe('{"n":1}');
  });

  it('is an integer where the first entries of a list are', () => {
    const list = { type: 'array', prefixItems: [integer, { type: 'string' }] };
    expect(repaired('{"list":[1.0,"1.0"]}', { properties: { list } })).toBe('{"list":[1,"1.0"]}');
  });

  it.each([
    '{"n":1.5}',
    '{"n":1.05}',
    '{"n":1.0e3}',
    '{"x":1.0}',
    '{"both":1.0}',
    '{"anything":1.0}',
    '{"loose":1.0}',
    '{"other":1.0}',
    '{"text":"1.0, \\"n\\":1.0"}',
    '{"n":"1.0"}',
    '{"n":1.0',
  ])('stays as it is elsewhere: %s', (given) => {
    expect(repaired(given)).toBe(given);
  });

  it('of Codex’s tools is one where they read one, whatever they declare', () => {
    const parameters = { type: 'object', properties: { session_id: { type: 'number' }, chars: { type: 'string' } } };
    const places = placesOf(parameters, 'write_stdin');
    expect(places && withWholeNumbers('{"session_id":7.0}', places)).toBe('{"session_id":7}');
    expect(placesOf(parameters, 'write_stdin', 'other__')).toBeUndefined();
    expect(placesOf(parameters, 'f')).toBeUndefined();
    const waiting = { properties: { yield_time_ms: { type: 'number' }, max_tokens: { type: 'number' } } };
    const wait = placesOf(waiting, 'wait');
    expect(wait && withWholeNumbers('{"yield_time_ms":1.0,"max_tokens":2.0}', wait)).toBe(
      '{"yield_time_ms":1,"max_tokens":2}',
    );
    const agent = placesOf({ properties: { timeout_ms: { type: 'number' } } }, 'wait_agent', 'collaboration');
    expect(agent && withWholeNumbers('{"timeout_ms":120000.0}', agent)).toBe('{"timeout_ms":120000}');
  });

  it('is the same however the text is cut, and whatever it is (property)', () => {
    const places = placesOf(schema);
    if (places === undefined) throw new Error('no places');
    const values = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify({ n: 3, list: [1], nested: value }));
    const words = fc.constantFrom('{', '}', '[', ']', '"n":', '"', '1', '.0', '.', '5', ',', '\\', 'e3', ' ');
    const texts = fc.oneof(
      values,
      fc.array(words, { maxLength: 30 }).map((list) => list.join('')),
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 4 }), (text, size) => {
        const numbers = new WholeNumbers(places, () => {});
        let out = '';
        for (let at = 0; at < text.length; at += size) out += numbers.push(text.slice(at, at + size));
        expect(out + numbers.finish()).toBe(withWholeNumbers(text, places));
      }),
      { numRuns: runs(2000) },
    );
  });

  it('means what it meant (property)', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const text = fc.record({
      n: fc.integer(),
      list: fc.array(fc.oneof(fc.integer(), fc.double({ noNaN: true }))),
      x: value,
    });
    fc.assert(
      fc.property(text, (given) => {
        const floats = JSON.stringify(given).replace(/("n":-?\d+)/, '$1.0');
        expect(JSON.parse(repaired(floats))).toEqual(JSON.parse(floats));
        expect(repaired(floats)).not.toMatch(/"n":-?\d+\.0[,}]/);
      }),
    );
  });

  it('in a list that is nested without end costs what it is long', () => {
    expect(repaired('['.repeat(100_000))).toHaveLength(100_000);
  });

  it.each<[string, number, (size: number) => Record<string, unknown>]>([
    ['properties', 10_000, (size) => ({ properties: { n: integer, ...Array(size - 1).fill(true) } })],
    [
      'parts',
      10_000,
      (size) => ({ properties: { n: { anyOf: [integer, ...Array(size - 2).fill({ type: 'null' })] } } }),
    ],
    ['levels', 12, (size) => JSON.parse(`${'{"properties":{"n":'.repeat(size)}{"type":"integer"}${'}}'.repeat(size)}`)],
  ])('is looked for in a schema up to a limit of %s', (_what, limit, schemaOf) => {
    expect(placesOf(schemaOf(limit))).toBeDefined();
    expect(placesOf(schemaOf(limit + 1))).toBeUndefined();
  });

  it('of a schema that refers to itself is looked for within bounds', () => {
    const self: Record<string, unknown> = { type: 'object', properties: {} };
    for (let at = 0; at < 60; at++) Object.assign(self['properties'] as object, { [`p${at}`]: { $ref: '#' } });
    expect(placesOf(self)).toBeUndefined();
  });

  it('of a definition that refers to itself alone is looked for within bounds', () => {
    // Each reference to it makes another schema, of the type that stands beside.
    const self = { type: 'object', $ref: '#/$defs/self' };
    expect(placesOf({ ...self, $defs: { self: { $ref: '#/$defs/self' } } })).toBeUndefined();
  });

  it('is looked for in a tree whose branches may be null, and then in the tools that follow', () => {
    const branch = () => ({ anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] });
    const node = { type: 'object', properties: { n: integer, left: branch(), right: branch() } };
    const tree = { type: 'object', properties: { root: { $ref: '#/$defs/node' } }, $defs: { node } };
    const found = integerPlacesOf(
      Object.entries({ tree, after: schema }).map(([name, parameters]) => ({
        name,
        chat: { type: 'function', function: { name, parameters } },
        origin: { kind: 'function', name },
      })),
    );
    expect([...found.keys()]).toEqual(['tree', 'after']);
    const deep = (number: string) => `{"root":${'{"right":'.repeat(30)}{"n":${number}}${'}'.repeat(30)}}`;
    expect(repaired(deep('1.0'), tree)).toBe(deep('1'));
  });

  /** How often the 2000 properties of one definition are read. */
  const timesRead = (reference: object): number => {
    let times = 0;
    const properties = new Proxy(Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`b${at}`, true])), {
      ownKeys: (target) => {
        times += 1;
        return Reflect.ownKeys(target);
      },
    });
    const places = Array.from({ length: 1000 }, (_, at) => [`p${at}`, { ...reference }]);
    placesOf({ properties: Object.fromEntries(places), $defs: { B: { properties } } });
    return times;
  };

  it('of a definition that many places refer to is looked for once', () => {
    expect(timesRead({ $ref: '#/$defs/B', description: 'one of many' })).toBe(1);
  });

  it('is looked for within bounds where each place says more than the definition, though its properties say nothing', () => {
    expect(timesRead({ $ref: '#/$defs/B', items: true })).toBeLessThan(10);
    expect(timesRead({ anyOf: [{ $ref: '#/$defs/B' }] })).toBeLessThan(10);
  });
});
