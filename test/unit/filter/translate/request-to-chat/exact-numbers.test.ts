import { expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/** A number that the body's parser kept as its text. */
const exact = (text: string) => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

it.each([
  ['model', { model: exact('12345678901234567890') }, 'expected a string, but got a number'],
  ['tools[0]', { tools: [exact('12345678901234567890')] }, 'expected an object, but got a number'],
  ['input', { input: exact('1e400') }, 'expected a string or an array, but got a number'],
])('a long number is called a number where another type is expected: %s', (param, fields, message) => {
  const clock = { now: () => 1, newId: createCountedIds() };
  const translate = () => translateRequest({ model: 'm', input: 'x', ...fields }, createTestSettings(), clock);
  expect(translate).toThrow(expect.objectContaining({ param, message: expect.stringContaining(message) }));
});
