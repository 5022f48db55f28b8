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
  ['extensions', [...knownTypes.items.keys()]],
  ['reject', [...knownTypes.items.keys()].filter((type) => !knownTypes.hostedItems.has(type))],
] as const)('an unknown type is refused with the list of those that are taken (%s)', (mode, types) => {
  const { message } = thrownBy([{ type: 'note' }], { unknownItems: mode });
  const listed = message.slice(message.indexOf('Supported')).match(/(?<=')\w+(?=')/g);
  expect(listed).toEqual(types);
});

/** An image that the server cannot take is refused in what is asked now, and left out of the history. */
it('items that a client sends to be heeded, and no others, may stand behind what is asked now', () => {
  const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
  const isAsked = (type: string) => {
    try {
      const item = { type, call_id: 'a', name: 'f', arguments: '{}', input: '', output: '', content: '', tools: [] };
      translate([{ role: 'user', content: [image] }, item], { profile: { extends: 'generic', image: false } });
      return false;
    } catch (thrown) {
      return (thrown as { param: string }).param === 'input[0].content[0]';
    }
  };
  expect([...knownTypes.items.keys()].filter(isAsked)).toEqual([
    'additional_tools',
    'agent_message',
    'configuration_update',
    'mcp_approval_response',
  ]);
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
