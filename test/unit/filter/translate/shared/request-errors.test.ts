import { expect, test } from 'vitest';
import { quote } from '../../../../../src/filter/translate/shared/request-errors.ts';

test('a value is quoted up to 64 characters', () => {
  expect(quote('x'.repeat(64))).toBe(`'${'x'.repeat(64)}'`);
  expect(quote('x'.repeat(65))).toBe(`'${'x'.repeat(64)}…'`);
  expect(quote({ a: [1] })).toBe(`'{"a":[1]}'`);
});
