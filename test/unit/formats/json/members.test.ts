import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findMembers } from '../../../../src/formats/json/members.ts';

const noLimit = Number.POSITIVE_INFINITY;

/** Names and values, as they were written. */
const textsOf = (text: string, most = noLimit) => {
  const bytes = Buffer.from(text);
  return findMembers(bytes, 0, most)?.members.map(({ name, start, end }) => [name, bytes.toString('utf8', start, end)]);
};

describe('the members of JSON bytes', () => {
  it('are found in any object or list, each as it was written, and the end of it', () => {
    const values = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const entries = Object.entries(JSON.parse(text) as object);
        const expected = Array.isArray(value) ? entries.map(([, entry]): unknown[] => ['', entry]) : entries;
        expect(textsOf(text)?.map(([name, json = '']) => [name, JSON.parse(json)])).toEqual(expected);
        expect(findMembers(Buffer.from(`${text} 1`), 0, noLimit)?.end).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it('are read up to the limit, and no further', () => {
    expect(textsOf('{"a":1,"b":[2],"c"', 2)).toEqual([
      ['a', '1'],
      ['b', '[2]'],
    ]);
    expect(findMembers(Buffer.from('[1,2]'), 0, 2)).toMatchObject({ type: 'list', end: 5, isCut: false });
    expect(findMembers(Buffer.from('[1,2,3]'), 0, 2)).toMatchObject({ isCut: true });
  });

  it('may be nested as deep as they like', () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
    expect(textsOf(`{"a":${deep}}`)).toEqual([['a', deep]]);
  });

  it.each(['', '1', '"{}"', '[1 2]', '[1,]', '[,1]', '[', '[1', '{"a":1]', '{"a":{}'])('are none in %j', (text) => {
    expect(textsOf(text)).toBeUndefined();
  });
});
