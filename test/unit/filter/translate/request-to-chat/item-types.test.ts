import { expect, it } from 'vitest';
import { knownTypes } from '../../../../../src/filter/translate/known-types.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { blockOf, goldenCases } from '../../../../support/golden.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const requests = goldenCases('request').map((golden) => blockOf(golden, 'request') ?? '');

it.each([...knownTypes.items.keys()])('an item of type %s has a golden case', (type) => {
  const hasCase = requests.some((text) => text.includes(`"type": "${type}"`));
  expect(hasCase, `Write a case in test/golden/request-*.md with an item of the type "${type}".`).toBe(true);
});

it.each([
  ['drop', [...knownTypes.items.keys()]],
  ['reject', [...knownTypes.items.keys()].filter((type) => !knownTypes.hostedItems.has(type))],
] as const)('an unknown type is refused with the list of those that are taken (hosted items: %s)', (mode, types) => {
  const { message } = thrownBy([{ type: 'note' }], { unknownItems: 'reject', unsupportedItems: mode });
  const listed = message.slice(message.indexOf('Supported')).match(/(?<=')\w+(?=')/g);
  expect(listed).toEqual(types);
});

function translate(input: readonly unknown[], settings = {}): unknown {
  const clock = { now: () => 1, newId: createCountedIds() };
  return translateRequest({ model: 'm', input }, createTestSettings(settings), clock);
}

function thrownBy(input: readonly unknown[], settings: object): Error {
  try {
    translate(input, settings);
  } catch (thrown) {
    return thrown as Error;
  }
  throw new Error('nothing was thrown');
}
