import { expect, it } from 'vitest';
import { withoutEncrypted } from '../../../../../src/filter/translate/request/parse/encrypted-parameters.ts';

const marked = { type: 'string', encrypted: true };
const inside = (wrap: (schema: object) => object, levels: number) =>
  Array.from({ length: levels }).reduce<object>(wrap, marked) as Record<string, unknown>;

it.each([
  ['objects', (schema: object) => ({ type: 'object', properties: { a: schema } })],
  ['arrays', (schema: object) => ({ type: 'array', items: schema })],
])('a mark is taken off in %s down to the eighth level, and left alone below', (_what, wrap) => {
  expect(JSON.stringify(withoutEncrypted(inside(wrap, 7)))).not.toContain('encrypted');
  const deeper = inside(wrap, 8);
  expect(withoutEncrypted(deeper)).toBe(deeper);
});
