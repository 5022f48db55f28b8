import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import {
  createResponseFields,
  functionCallItem,
  functionTool,
  messageItem,
  textPart,
  toolOutputItem,
} from '../../../../../src/filter/wire/schema/create-response.ts';
import { passesFastCheck } from '../../../../../src/filter/wire/schema/fast-check.ts';

const objects = { messageItem, textPart, functionCallItem, toolOutputItem, functionTool };
const schemas: readonly (readonly [string, z.ZodType])[] = Object.entries({ ...createResponseFields, ...objects });
const keys = [...new Set(Object.values(objects).flatMap(({ shape }) => Object.keys(shape)))];

/** What stands in requests, and what should not. */
const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, '', 'get_weather', 'no name', 'user', 'tool', true, 1, [], {}, ['a']),
  fc.constant((JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('12345678901234567890')),
  fc.string(),
  fc.anything(),
);
const value = fc.oneof(leaf, fc.dictionary(fc.constantFrom(...keys, 'other'), leaf));

it('what passes the fast check is accepted by its schema, unchanged (property)', () => {
  fc.assert(
    fc.property(value, (given) => {
      for (const [name, schema] of schemas.filter((entry) => passesFastCheck(entry[1], given))) {
        const read = schema.parse(given);
        if (typeof read !== 'object' || read === null) expect(read, name).toBe(given);
        else expect(given, name).toMatchObject(read);
      }
    }),
    { numRuns: 2000 },
  );
});

it('what most requests contain passes the fast check', () => {
  const { model, input, stream, tools } = createResponseFields;
  expect(passesFastCheck(model, 'a-model')).toBe(true);
  expect(passesFastCheck(input, 'Hi')).toBe(true);
  expect(passesFastCheck(stream, false)).toBe(true);
  expect(passesFastCheck(tools, [])).toBe(true);
  expect(passesFastCheck(messageItem, { role: 'user', content: 'Hi' })).toBe(true);
  expect(passesFastCheck(textPart, { type: 'input_text', text: 'Hi' })).toBe(true);
  expect(passesFastCheck(functionCallItem, { call_id: 'call_1', name: 'f', arguments: '{}' })).toBe(true);
  expect(passesFastCheck(toolOutputItem, { call_id: 'call_1', output: 'done' })).toBe(true);
  expect(passesFastCheck(functionTool, { type: 'function', name: 'f', parameters: {} })).toBe(true);
});

it('what the schema refuses does not pass', () => {
  expect(passesFastCheck(createResponseFields.model, 1)).toBe(false);
  expect(passesFastCheck(messageItem, { role: 'tool', content: 'Hi' })).toBe(false);
  expect(passesFastCheck(functionTool, { type: 'function', name: 'no name' })).toBe(false);
  expect(passesFastCheck(functionCallItem, { call_id: '', name: 'f', arguments: '{}' })).toBe(false);
});
