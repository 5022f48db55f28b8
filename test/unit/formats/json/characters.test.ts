import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countJsonCharacters } from '../../../../src/filter/translate/shared/growth.ts';
import { rawJSON } from '../../../../src/formats/json/exact.ts';

it('a value has about as many characters as its JSON without escapes (property)', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' ') });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(true, false, null),
      fc.array(tie('value')),
      fc.dictionary(text, tie('value')),
    ),
  }));
  fc.assert(
    fc.property(value, (given) => {
      const { length } = JSON.stringify(given);
      const counted = countJsonCharacters(given, Number.POSITIVE_INFINITY);
      expect(counted).toBeGreaterThanOrEqual(length);
      // Of a comma too many in each list and object, and `-0`, which is written as `0`.
      expect(counted).toBeLessThanOrEqual(2 * length + 2);
    }),
  );
  expect(countJsonCharacters({ a: undefined, b: rawJSON('12345678901234567890') }, 1000)).toBeGreaterThan(20);
});

it('one object in many places is counted for each, as it is written, until the count is above what was asked for', () => {
  let value: unknown = 'x'.repeat(100);
  for (let level = 0; level < 50; level += 1) value = level % 2 === 0 ? [value, value] : { a: value, b: value };
  const counted = countJsonCharacters(value, 10_000);
  expect(counted).toBeGreaterThan(10_000);
  expect(counted).toBeLessThan(11_000);
});
