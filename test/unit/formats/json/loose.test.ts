import { describe, expect, test } from 'vitest';
import {
  arrayOf,
  countOf,
  jsonOf,
  jsonTextOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../../../src/formats/json/loose.ts';

const object = { a: 1 };
const list = [object, null, 'x', [object], { b: 2 }];

describe('a value of another shape is none', () => {
  test.each([null, undefined, 'x', 1, true, [object]])('%j is no object', (value) => {
    expect(objectOf(value)).toBeNull();
    expect(objectOf(object)).toBe(object);
  });

  test.each([null, undefined, 'x', 1, object])('%j is no list', (value) => {
    expect(arrayOf(value)).toEqual([]);
    expect(objectsOf(value)).toEqual([]);
    expect(arrayOf(list)).toBe(list);
  });

  test('of a list only the objects count', () => expect(objectsOf(list)).toEqual([object, { b: 2 }]));

  test.each([null, undefined, 1, object, ['x']])('%j is no text', (value) => {
    expect(textOf(value)).toBe('');
    expect(textOf('x')).toBe('x');
  });

  test.each([
    null,
    undefined,
    '5',
    '',
    true,
    [5],
    {},
    -1,
    -0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    JSON.parse('1e999'),
  ])('%s is no count', (value) => expect(countOf(value)).toBeNull());
});

test.each([
  [0, 0],
  [1, 1],
  [2.9, 2],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  [1e300, Number.MAX_SAFE_INTEGER],
])('%d counts as %d', (value, count) => expect(countOf(value)).toBe(count));

test('text that is no JSON has no value, and what cannot be written no text', () => {
  expect(jsonOf('{"a":1}')).toEqual(object);
  expect(jsonOf('null')).toBeNull();
  expect(jsonOf('{"a"')).toBeUndefined();
  expect(jsonTextOf(object)).toBe('{"a":1}');
  expect(jsonTextOf(undefined)).toBe('');
  const endless: unknown[] = [];
  endless.push(endless);
  expect(jsonTextOf(endless)).toBe('');
  const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  expect(jsonTextOf(nested(2500))).toHaveLength(5000);
  expect(jsonTextOf(nested(2501))).toBe('');
});
