import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closingQuote, closingQuoteInBytes, scanJson } from '../../../../src/formats/json/scan.ts';

const names = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '{', ',', ':', 'é', '😀') });
const object = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }));
const levels = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levels)) : 0;

describe('JSON that is not parsed yet', () => {
  it('is refused one level and one value above the limits (property)', () => {
    fc.assert(
      fc.property(object, (value) => {
        const [text, depth] = [JSON.stringify(value), levels(value)];
        const { values } = scanJson(text, { maxNesting: depth });
        expect(scanJson(text, { maxNesting: depth, maxValues: values }).tooDeepAt).toBeNull();
        expect(text[scanJson(text, { maxNesting: depth - 1 }).tooDeepAt ?? -1]).toMatch(/[[{]/);
        expect(scanJson(text, { maxValues: values - 1 }).values).toBe(values);
      }),
    );
  });

  it.each([
    ['999999999999999', false],
    ['1000000000000000', true],
    ['9007199254740993', true],
    ['0.12345678901234', true],
    ['1234567890.1234', false],
    ['-999999999999999', false],
    ['1e5', true],
    ['1E5', true],
    ['"9007199254740993"', false],
  ])('with %s is parsed exactly: %s', (number, mayLoseNumbers) => {
    for (const text of [number, `[${number}]`, `{"a":${number},"b":1}`])
      expect(scanJson(text)).toMatchObject({ mayLoseNumbers });
  });

  it('has strings whose end is found in text as in bytes, also where there is none (property)', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', 'x', 'é'), maxLength: 200 });
    fc.assert(
      fc.property(text, (rest) => {
        const [whole, bytes] = [`"${rest}`, Buffer.from(`"${rest}`)];
        const before = bytes.subarray(0, closingQuoteInBytes(bytes, 0)).toString();
        expect(whole.slice(0, closingQuote(whole, 0))).toBe(before);
      }),
    );
  });
});
