import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const tools = [
  { type: 'function', name: 'f' },
  { type: 'function', name: 'g' },
  { type: 'custom', name: 'c' },
  { type: 'shell' },
  { type: 'local_shell' },
  { type: 'apply_patch' },
];

function translate(choice: unknown) {
  const settings = createTestSettings({ profile: 'openai' });
  const request = { model: 'm', input: 'x', tools, tool_choice: choice };
  return translateRequest(request, settings, { now: () => 1, newId: createCountedIds() });
}

function thrownBy(choice: unknown): ApiError {
  try {
    translate(choice);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

/** A choice may be written flat or, as in Chat, one level down: the mistake is named where it was written. */
describe('a mistake in a choice is named where it is', () => {
  const f = { type: 'function', name: 'f' };
  it.each([
    [{ type: 'function' }, 'tool_choice.name'],
    [{ type: 'function', function: 'f' }, 'tool_choice.name'],
    [{ type: 'function', function: {} }, 'tool_choice.function.name'],
    [{ type: 'function', name: 3, function: { name: 'f' } }, 'tool_choice.name'],
    [{ type: 'function', function: { name: 'h' } }, 'tool_choice.function'],
    [{ type: 'custom' }, 'tool_choice.name'],
    [{ type: 'custom', custom: {} }, 'tool_choice.custom.name'],
    [{ type: 'custom', name: 'h' }, 'tool_choice'],
    [{ type: 'allowed_tools' }, 'tool_choice.tools'],
    [{ type: 'allowed_tools', allowed_tools: [f, 7] }, 'tool_choice.allowed_tools[1]'],
    [{ allowed_tools: [{ type: 'custom' }] }, 'tool_choice.allowed_tools[0].name'],
    [{ type: 'allowed_tools', allowed_tools: {} }, 'tool_choice.allowed_tools.tools'],
    [{ type: 'allowed_tools', tools: 'f', allowed_tools: { tools: [f] } }, 'tool_choice.tools'],
    [{ type: 'allowed_tools', tools: ['f', 7] }, 'tool_choice.tools[1]'],
    [{ type: 'allowed_tools', tools: [f, { type: 'custom' }] }, 'tool_choice.tools[1].name'],
    [{ type: 'allowed_tools', tools: [f, { type: 7 }] }, 'tool_choice.tools[1].type'],
    [{ type: 'allowed_tools', allowed_tools: { tools: [f, {}] } }, 'tool_choice.allowed_tools.tools[1].type'],
  ])('%j: %s', (choice, param) => {
    expect(thrownBy(choice).param).toBe(param);
  });
});

it.each(['shell', 'local_shell', 'apply_patch'])('a tool that has no name is chosen by its type: %s', (type) => {
  const { chat, context } = translate({ type });
  expect([...(context.allowedTools ?? [])]).toEqual([type]);
  expect(chat.tool_choice).toEqual({ type: 'function', function: { name: type } });
});

it('of all kinds of tools those are allowed that are listed, and one that is left out is named', () => {
  const listed = [{ type: 'function', name: 'f' }, { type: 'custom', name: 'c' }, { type: 'shell' }];
  const { chat, context, dropped } = translate({ type: 'allowed_tools', tools: [...listed, { type: 'web_search' }] });
  expect([...(context.allowedTools ?? [])]).toEqual(['f', 'c', 'shell']);
  expect(context.echo.tool_choice).toEqual({ type: 'allowed_tools', mode: 'auto', tools: listed });
  expect(chat.tool_choice).toMatchObject({ allowed_tools: { tools: [{}, { type: 'custom' }, { type: 'function' }] } });
  expect(dropped).toEqual(['tool_choice.tools[3].web_search']);
});

it.each([
  [{ type: 'function', name: 'f', function: { name: 'g' } }, ['f']],
  [{ type: 'custom', custom: { name: 'c' } }, ['c']],
  [{ type: 'allowed_tools', tools: [{ type: 'function', name: 'f' }], allowed_tools: { tools: [] } }, ['f']],
])('what is written flat wins: %j', (choice, names) => {
  expect([...(translate(choice).context.allowedTools ?? [])]).toEqual(names);
});
