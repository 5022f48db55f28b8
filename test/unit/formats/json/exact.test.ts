import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRawJSON, parseExactly } from '../../../../src/formats/json/exact.ts';

/** The same by a reviver, which V8 gives each number's source. */
function byReviver(text: string): unknown {
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown;
  return parse(text, (_, value, { source }) => {
    if (typeof value !== 'number' || source === undefined) return value;
    const digits = source.replace(/[eE].*$/, '').replace(/\D/g, '');
    const isKept = Number.isFinite(value) && (digits.length <= 15 || String(value) === source);
    return isKept ? value : { exact: source };
  });
}

/** Numbers as `byReviver` has them. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isRawJSON(value)) return { exact: JSON.stringify(value) };
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
}

const numbers =
  `0 -0 1 -12.5 1e2 1E+2 1e400 -1e-400 12345678901234567890 -12345678901234567890 9007199254740991 9007199254740993
  0.1 0.30000000000000004 0.300000000000000040 123456789012345 1234567890123456 1.0000000000000001e5`.split(/\s+/);

describe('numbers in JSON', () => {
  it('are exact, wherever they are', () => {
    const leaf = fc.oneof(
      fc.constantFrom(...numbers),
      fc.constantFrom('true', 'false', 'null', '{}', '[]', ' [ ] '),
      fc.string().map((text) => JSON.stringify(text)),
      fc.constantFrom('"\\u0000"', '"\\u0000123"', '"\\u0000\\u00001"'),
    );
    // Not a lone backslash: after `{"a":1,"\\\\":2}`, V8 in Node 24 takes the name `"\\u0061"` behind an `a` for a backslash.
    const name = fc.oneof(
      fc.string().filter((text) => text !== '\\'),
      fc.constantFrom('__proto__', 'constructor', 'a"b', 'b\\', '12345678901234567890', '\0', '\0a', 'a', 'b'),
    );
    const { json } = fc.letrec<{ json: string }>((tie) => ({
      json: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        leaf,
        fc.array(tie('json'), { maxLength: 4 }).map((entries) => `[${entries.join(' , ')}]`),
        fc
          .array(fc.tuple(name, tie('json')), { maxLength: 4 })
          .map((fields) => `{ ${fields.map(([key, value]) => `${JSON.stringify(key)} : ${value}`).join(',\n')} }`),
      ),
    }));
    fc.assert(
      fc.property(json, (text) => {
        expect(plain(parseExactly(text))).toEqual(plain(byReviver(text)));
      }),
    );
  });

  it.each([
    ['{"a":12345678901234567890,"a":5}', '{"a":5}'],
    ['{"a":5,"a":12345678901234567890}', '{"a":12345678901234567890}'],
    ['{"a":12345678901234567891,"a":12345678901234567892}', '{"a":12345678901234567892}'],
    ['{"a":12345678901234567891,"\\u0061":12345678901234567892}', '{"a":12345678901234567892}'],
    ['{"a":12345678901234567891,"a":12345678901234567000}', '{"a":12345678901234567000}'],
    ['{"a":1.00000000000000000001,"a":1}', '{"a":1}'],
    ['{"a":{"b":[1.00000000000000000001]},"c":2,"a":{"b":[1]}}', '{"a":{"b":[1]},"c":2}'],
    ['{"a":[12345678901234567890],"a":{"b":1}}', '{"a":{"b":1}}'],
    ['{"a":{"toString":12345678901234567890},"a":{}}', '{"a":{}}'],
    ['{"a":{"__proto__":{"b":12345678901234567890}},"a":{}}', '{"a":{}}'],
    ['{"\\u0061":12345678901234567890}', '{"a":12345678901234567890}'],
    ['12345678901234567890', '12345678901234567890'],
    ['{"a":"\\u00001e400","b":1e400}', '{"a":"\\u00001e400","b":1e400}'],
    ['{"\\u0000a" : 1e400,"b":["\\u0000\\u0000"]}', '{"\\u0000a":1e400,"b":["\\u0000\\u0000"]}'],
  ])('have the last value of a name that is repeated: %s', (text, written) => {
    expect(JSON.stringify(parseExactly(text))).toBe(written);
  });

  it('are not read where there is no JSON', () => {
    expect(() => parseExactly('{"a":12345678901234567890')).toThrow(SyntaxError);
  });
});
