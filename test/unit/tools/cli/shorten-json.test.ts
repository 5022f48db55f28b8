import { expect, it } from 'vitest';
import { writePrettyJson, writeShortJson } from '../../../../src/tools/cli/terminal.ts';

const lines = (value: unknown, { width = 20, full = false } = {}) =>
  writePrettyJson(value, { width, full }).split('\n');
const long = 'a'.repeat(161);

it('what fits in the width is one line', () => {
  expect(lines({ a: 1, b: [2, 3], c: 4 }, { width: 23 })).toEqual(['{"a":1,"b":[2,3],"c":4}']);
  expect(lines({ a: 1, b: [2, 3], c: 4 }, { width: 22 })).toEqual(['{', '  "a": 1,', '  "b": [2,3],', '  "c": 4', '}']);
});

it('the width counts what stands before', () => {
  const value = { a: { b: [10, 20, 30] } };
  expect(lines(value, { width: 17 })).toEqual(['{', '  "a": {', '    "b": [10,20,30]', '  }', '}']);
  expect(lines(value, { width: 18 })).toEqual(['{', '  "a": {"b":[10,20,30]}', '}']);
});

it('lists and objects have their own brackets, and keys that are undefined are left out', () => {
  expect(lines([{ a: 1, b: undefined }, 'x', null, true], { width: 10 })).toEqual([
    '[',
    '  {"a":1},',
    '  "x",',
    '  null,',
    '  true',
    ']',
  ]);
  expect(lines({ aaaaaaaaaa: 1, b: undefined }, { width: 10 })).toEqual(['{', '  "aaaaaaaaaa": 1', '}']);
});

it('the fourth level is one line, cut to the width, but never to less than 20', () => {
  const nested = { a: { b: { c: { d: 'x'.repeat(40), e: 1 } } } };
  expect(lines(nested)).toEqual([
    '{',
    '  "a": {',
    '    "b": {',
    `      "c": {"d":"${'x'.repeat(13)}…`,
    '    }',
    '  }',
    '}',
  ]);
  expect(lines(nested, { width: 40 })).toContain(`      "c": {"d":"${'x'.repeat(27)}…`);
  expect(lines(nested, { full: true })).toContain(`        "d": "${'x'.repeat(40)}",`);
});

it('a string of more than 160 characters is cut and says how long it is', () => {
  expect(lines(long.slice(1))).toEqual([`"${'a'.repeat(160)}"`]);
  expect(lines(long)).toEqual([`"${'a'.repeat(120)}"… (161 characters)`]);
  expect(lines(long, { full: true })).toEqual([`"${long}"`]);
});

it('what fits in a wide terminal is a line of at most 159 characters, unless everything is asked for', () => {
  const wide = { a: 'b'.repeat(152), c: 1 };
  const { length } = JSON.stringify(wide);
  for (const [less, isOneLine] of [
    [length - 159, true],
    [length - 160, false],
  ] as const) {
    const value = { ...wide, a: wide.a.slice(less) };
    expect(lines(value, { width: 300 }).length === 1).toBe(isOneLine);
    expect(lines(value, { width: 300, full: true })).toHaveLength(1);
  }
});

it('on one line what is no JSON is empty', () => {
  expect([writeShortJson(undefined, 9), writeShortJson({ a: 'b' }, 9), writeShortJson({ a: 'bc' }, 9)]).toEqual([
    '',
    '{"a":"b"}',
    '{"a":"bc…',
  ]);
});
