import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawJSON } from '../../../../src/formats/json/exact.ts';
import { JsonBytes, jsonParts } from '../../../../src/formats/json/parts.ts';

const partsOf = (value: unknown) => Array.from(jsonParts(value), String);

describe('JSON in parts', () => {
  it('is the text of JSON.stringify, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(40_000), (value, length) => {
        const large = {
          value,
          text: 'é"\n'.repeat(length),
          list: [value, 'x'.repeat(length), [value]],
          left: undefined,
        };
        expect(partsOf(large).join('')).toBe(JSON.stringify(large));
      }),
    );
  });

  it('has no part that is much larger than 16 KiB', () => {
    const large = {
      text: 'x'.repeat(1e6),
      many: Array.from({ length: 50_000 }, (_, n) => ({ n })),
      one: { a: 'y'.repeat(1e5) },
    };
    expect(Math.max(...partsOf(large).map(({ length }) => length))).toBeLessThan(20_000);
  });

  it('is one pass over a value at every depth', () => {
    let reads = 0;
    const ownKeys = (target: object) => {
      reads += 1;
      return Reflect.ownKeys(target);
    };
    let value: object = new Proxy({ text: 'x'.repeat(20_000) }, { ownKeys });
    for (let depth = 0; depth < 100; depth += 1) value = { value };
    partsOf(value);
    expect(reads).toBe(2);
  });

  it('leaves out what JSON leaves out, of objects without any other fields too', () => {
    const value = { ['x'.repeat(20_000)]: undefined, list: [undefined, 'x'.repeat(20_000)] };
    expect(partsOf([{ ['x'.repeat(20_000)]: undefined }, value]).join('')).toBe(
      `[{},{"list":[null,"${'x'.repeat(20_000)}"]}]`,
    );
  });

  it.each([16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1])('never cuts a character in two, after %i others', (before) => {
    for (const character of ['😀', '\u{10000}', '\u{10ffff}']) {
      const text = `${'x'.repeat(before)}${character.repeat(20_000)}`;
      expect(Buffer.concat(partsOf(text).map((part) => Buffer.from(part))).toString()).toBe(JSON.stringify(text));
    }
  });

  it('writes what is kept as bytes as often as wanted', () => {
    const kept = new JsonBytes(JSON.stringify({ a: 'x'.repeat(100_000) }));
    const list = [1, kept, { kept }];
    expect(partsOf(list).join('')).toBe(
      JSON.stringify([1, { a: 'x'.repeat(100_000) }, { kept: { a: 'x'.repeat(100_000) } }]),
    );
    expect(JSON.stringify(list)).toBe(partsOf(list).join(''));
  });

  it('keeps numbers that JavaScript has not', () => {
    const kept = new JsonBytes('{"most":18446744073709551615}');
    expect(partsOf([kept]).join('')).toBe('[{"most":18446744073709551615}]');
    expect(JSON.stringify([kept])).toBe('[{"most":18446744073709551615}]');
    const long = `1${'0'.repeat(20_000)}`;
    expect(partsOf({ seed: rawJSON(long), list: [rawJSON(long)] }).join('')).toBe(`{"seed":${long},"list":[${long}]}`);
  });
});
