import { expect, it } from 'vitest';
import { chooseOpening, writeJsonLines } from '../../../../../src/tools/inspect/view/json-lines.ts';

const long = 'Be brief. '.repeat(40);

it('folds the tools and the instructions of both bodies, and begins at the last message of the user', () => {
  const input = [
    { role: 'developer', content: long },
    { role: 'user', content: 'Hello' },
    { role: 'user', content: 'Go on' },
    { type: 'reasoning' },
  ];
  const client = chooseOpening({ instructions: long, tools: [{ description: long }], input });
  expect(client).toEqual({ folded: ['tools', 'instructions', 'input[0].content'], last: 'input[2]' });
  const messages = [
    { role: 'system', content: long },
    { role: 'user', content: 'Hi' },
  ];
  expect(chooseOpening({ messages, tools: [] })).toEqual({ folded: ['messages[0].content'], last: 'messages[1]' });
});

it('folds nothing of what is short, or is no request', () => {
  for (const body of [null, 3, 'x', [], { input: [null, 3] }])
    expect(chooseOpening(body)).toEqual({ folded: [], last: null });
  const short = { input: 'Hi', instructions: 'Short.', tools: [{ type: 'web_search' }] };
  expect(chooseOpening(short)).toEqual({ folded: [], last: 'input' });
});

it('shows one line of what is folded, with what became of it', () => {
  const explained = new Map([['tools', { mark: 'changed', note: '→ tools' }]] as const);
  const body = { instructions: long, tools: [{ name: 'a' }, { name: 'b' }], model: 'm' };
  const lines = writeJsonLines(body, { columns: 60, explained, folded: ['tools', 'instructions'] });
  expect(lines.map(({ key, note, isFolded }) => [key, note, isFolded])).toEqual([
    [null, null, false],
    ['instructions', null, true],
    ['tools', '→ tools', true],
    ['model', null, false],
    [null, null, false],
  ]);
  expect(lines[1]?.text).toMatch(/^"Be brief\. .* …",$/);
  expect(lines[2]?.text).toBe('[ 2 folded ],');
});
