import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WholeNumbers, withWholeNumbers } from '../../../../src/formats/json/whole-numbers.ts';
import { runs } from '../../../support/property-runs.ts';

describe('a whole number of a tool’s arguments', () => {
  it.each([
    ['{"n":120000.0}', '{"n":120000}'],
    [' {"n": 120000.00 , "x":-4.0}', ' {"n": 120000 , "x":-4}'],
    ['{"list":[1.0,2.5,3.0]}', '{"list":[1,2.5,3]}'],
    ['{"a\\"b":{"c":1.0}}', '{"a\\"b":{"c":1}}'],
    ['{"a":"\\\\","b":1.0}', '{"a":"\\\\","b":1}'],
    ['{"n":12345678901234567890.0\n}', '{"n":12345678901234567890\n}'],
  ])('is written without a fraction: %s', (given, wanted) => {
    expect(withWholeNumbers(given)).toBe(wanted);
  });

  it.each([
    '{"n":1.5}',
    '{"n":1.05}',
    '{"n":1.0e3}',
    '{"n":1.0E3}',
    '{"n":1.0.0}',
    '{"text":"1.0, \\"n\\":1.0 "}',
    '{"text":"\\\\\\"1.0 "}',
    '{"n":1.0',
    '1.0 ',
    '"1.0 "',
    'Version 1.0 {"n":1.0}',
  ])('stays in what is no such number, and no object: %s', (given) => {
    expect(withWholeNumbers(given)).toBe(given);
  });

  it('is the same however the text is cut, and whatever it is (property)', () => {
    const values = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify({ n: 3, list: [1], nested: value }));
    const words = fc.constantFrom('{', '}', '[', ']', '"n":', '"', '1', '.0', '.', '5', ',', '\\', 'e3', ' ');
    const texts = fc.oneof(
      values,
      fc.array(words, { maxLength: 30 }).map((list) => `{${list.join('')}`),
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 4 }), (text, size) => {
        const numbers = new WholeNumbers(() => {});
        let out = '';
        for (let at = 0; at < text.length; at += size) out += numbers.push(text.slice(at, at + size));
        expect(out + numbers.finish()).toBe(withWholeNumbers(text));
      }),
      { numRuns: runs(2000) },
    );
  });

  it('means what it meant (property)', () => {
    const text = fc.record({
      n: fc.integer(),
      list: fc.array(fc.oneof(fc.integer(), fc.double({ noNaN: true }))),
      x: fc.jsonValue({ maxDepth: 3 }),
    });
    fc.assert(
      fc.property(text, (given) => {
        const floats = JSON.stringify(given).replace(/("n":-?\d+)/, '$1.0');
        expect(JSON.parse(withWholeNumbers(floats))).toEqual(JSON.parse(floats));
        expect(withWholeNumbers(floats)).not.toMatch(/"n":-?\d+\.0[,}]/);
      }),
    );
  });
});
