import { describe, expect, it } from 'vitest';
import {
  findValue,
  isSameJson,
  listFields,
  readPath,
  removeValue,
  replaceValue,
  writePath,
} from '../../../../src/tools/explain/fields.ts';

it('the fields of a request are its own, the lists and objects of fields part by part', () => {
  const body = {
    model: 'm',
    tools: [{ type: 'function' }, 7],
    input: 'Hi',
    include: [],
    text: { verbosity: 'low', format: {} },
    reasoning: {},
    stream_options: { include_usage: true },
    metadata: { a: 'b' },
    other: [1],
  };
  expect(listFields(body).map(writePath)).toEqual([
    ...['model', 'tools[0]', 'tools[1]', 'input', 'include', 'text.verbosity', 'text.format', 'reasoning'],
    ...['stream_options.include_usage', 'metadata', 'other'],
  ]);
  expect(listFields({ input: [1, 2], text: 'low' }).map(writePath)).toEqual(['input[0]', 'input[1]', 'text']);
  for (const none of [null, [], 'x', undefined]) expect(listFields(none)).toEqual([]);
});

it.each<[text: string, path: readonly (string | number)[]]>([
  ['input', ['input']],
  ['input[0].content[12].text', ['input', 0, 'content', 12, 'text']],
  ['a-b c.__proto__', ['a-b c', '__proto__']],
  ['a[0][1]', ['a', 0, 1]],
])('%s is a path, and written so', (text, path) => {
  expect([readPath(text), writePath(path)]).toEqual([path, text]);
});

it.each(['', '.a', 'a.', 'a..b', '[0]', 'a[', 'a[x]', 'a[]', 'a]', 'a[0]b', 'a.[0]'])('%j is no path', (text) => {
  expect(readPath(text)).toBeNull();
});

const value = { a: [{ b: 1 }, { b: null }], c: 'text', 0: 'zero', __proto__: { d: 1 } };

it.each([
  [[], value],
  [['a', 0, 'b'], 1],
  [['a', 1, 'b'], null],
  [['a', 2, 'b'], undefined],
  [['a', '0'], undefined],
  [['a', 'length'], undefined],
  [['c', 0], undefined],
  [['c', 'length'], undefined],
  [[0], undefined],
  [['0'], 'zero'],
  [['d'], undefined],
  [['toString'], undefined],
  [['a', 1, 'b', 'x'], undefined],
])('at %j is %j', (path, expected) => {
  expect(findValue(value, path)).toEqual(expected);
});

describe('a copy', () => {
  const original = { a: [{ b: 1, c: 2 }, 'x', 'y'], d: { e: 3, f: 4 } };
  it.each<[readonly (string | number)[], unknown]>([
    [[], undefined],
    [['a'], { d: original.d }],
    [['a', 1], { ...original, a: [original.a[0], 'y'] }],
    [['a', 0, 'b'], { ...original, a: [{ c: 2 }, 'x', 'y'] }],
    [['d', 'f'], { ...original, d: { e: 3 } }],
    [['none'], original],
    [['a', 9], original],
    [['d', 'e', 'x'], { ...original, d: { e: {}, f: 4 } }],
  ])('without %j', (path, expected) => {
    expect(removeValue(original, path)).toEqual(expected);
    expect(original.a).toHaveLength(3);
  });

  it.each<[readonly (string | number)[], unknown]>([
    [[], 9],
    [['a'], { ...original, a: 9 }],
    [['a', 1], { ...original, a: [original.a[0], 9, 'y'] }],
    [['a', 0, 'c'], { ...original, a: [{ b: 1, c: 9 }, 'x', 'y'] }],
    [['d', 'g'], { ...original, d: { e: 3, f: 4, g: 9 } }],
    [['n', 'm'], { ...original, n: { m: 9 } }],
  ])('with another value at %j', (path, expected) => {
    expect(replaceValue(original, path, 9)).toEqual(expected);
  });

  it('of a field that is called as what all objects have', () => {
    const sent = JSON.parse('{"a":{"constructor":1}}');
    expect(replaceValue(sent, ['a', 'toString', 'x'], 9)).toEqual({ a: { constructor: 1, toString: { x: 9 } } });
  });
});

it.each<[one: unknown, other: unknown, same: boolean]>([
  [1, 1, true],
  [1, '1', false],
  [null, null, true],
  [null, {}, false],
  [{}, null, false],
  [undefined, null, false],
  [[], {}, false],
  [[1, 2], [1, 2], true],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1, b: 2 }, { a: 1 }, false],
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: { b: 1 } }, { a: { b: 2 } }, false],
  [{ a: {} }, { a: 7 }, false],
  [JSON.parse('{"toString":1}'), {}, false],
  [{}, JSON.parse('{"toString":1}'), false],
])('%j and %j are the same value: %s', (one, other, same) => {
  expect(isSameJson(one, other)).toBe(same);
});
