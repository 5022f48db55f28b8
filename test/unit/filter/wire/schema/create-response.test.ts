import { expect, it } from 'vitest';
import { z } from 'zod';
import * as schemas from '../../../../../src/filter/wire/schema/create-response.ts';

/** Every schema of the module, with those inside. */
function* schemasIn(value: unknown): Generator<z.core.$ZodType> {
  if (value instanceof z.core.$ZodType) {
    yield value;
    for (const inner of Object.values(value._zod.def)) yield* schemasIn(inner);
  } else if (Array.isArray(value)) {
    for (const inner of value) yield* schemasIn(inner);
  } else if (typeof value === 'object' && value !== null && !(value instanceof RegExp)) {
    for (const inner of Object.values(value)) yield* schemasIn(inner);
  }
}

const all = [...new Set(schemasIn({ ...schemas }))];

it('there are schemas, with those inside them', () => {
  expect(all.length).toBeGreaterThan(100);
  expect(all).toContain(schemas.textPart.shape.text);
});

it('no schema reads the entries of a list or the keys of an open object: a million mistakes would be a million issues', () => {
  const reading = all.filter((schema) => {
    if (schema instanceof z.core.$ZodArray) return !(schema._zod.def.element instanceof z.core.$ZodUnknown);
    return (
      schema instanceof z.core.$ZodRecord || schema instanceof z.core.$ZodTuple || schema instanceof z.core.$ZodMap
    );
  });
  expect(reading).toEqual([]);
});
