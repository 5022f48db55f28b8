import { expect, it } from 'vitest';
import { withoutEncrypted } from '../../../../../src/filter/translate/shared/rewrite-schemas.ts';

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

it('what is no schema stays as it is, beside one that is cleaned', () => {
  const properties = {
    a: true,
    b: marked,
    c: null,
    d: ['x'],
    e: 'text',
    f: { encrypted: false },
    g: { encrypted: 'yes' },
  };
  expect(withoutEncrypted({ type: 'object', properties, items: ['x'], encrypted: true })).toEqual({
    type: 'object',
    properties: { ...properties, b: { type: 'string' } },
    items: ['x'],
  });
  const untouched = { type: 'object', properties: { a: true, c: null }, items: true };
  expect(withoutEncrypted(untouched)).toBe(untouched);
});

it('both the members of an object and the entries of an array are cleaned', () => {
  const both = { properties: { a: marked }, items: { items: marked } };
  const cleaned = { properties: { a: { type: 'string' } }, items: { items: { type: 'string' } } };
  expect(withoutEncrypted(both)).toEqual(cleaned);
  expect(both.properties.a).toBe(marked);
});
