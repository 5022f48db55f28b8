import { expect, it } from 'vitest';
import { createPlainStyle, cutText } from '../../../../src/tools/cli/terminal.ts';
import { printAnswer } from '../../../../src/tools/explain/print-answer.ts';
import type { ClientEvent } from '../../../../src/tools/explain/run-answer.ts';

function printed(event: ClientEvent, width = 120): string {
  const chunks = [{ number: 1, at_ms: null, text: 'data: {}', events: [event] }];
  const answer = { status: 200, outcome: 'completed', error_code: null, headers: {}, chunks, body: null } as const;
  return [...printAnswer(answer as never, createPlainStyle(width), false)].join('\n');
}

it.each<[ClientEvent, string]>([
  [{ event: 'outer', data: { type: 'inner', delta: 'a' } }, 'inner {"delta":"a"}'],
  [{ event: 'outer', data: { delta: 'a' } }, 'outer {"delta":"a"}'],
  [{ event: null, data: { delta: 'a' } }, ' {"delta":"a"}'],
  [{ event: null, data: '[DONE]' }, '[DONE]'],
])('an event has the name of its type, or of its line: %j', (event, text) => {
  expect(printed(event).slice(-text.length - 1)).toBe(` ${text}`);
});

it('what an event brings has ten characters also where there is no room', () => {
  const data = { type: 'response.function_call_arguments.delta', delta: 'many words' };
  expect(printed({ event: null, data }, 60)).toMatch(/ response\.function_call_arguments\.delta \{"delta":…$/);
});

it.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['abcd', 2, 'a…'],
  ['abcd', 0, 'a…'],
])('%s, cut to %i, is %s', (text, most, expected) => {
  expect(cutText(text, most)).toBe(expected);
});
