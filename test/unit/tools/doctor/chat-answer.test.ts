import { describe, expect, it } from 'vitest';
import {
  findTags,
  hasReasoned,
  isStreamed,
  type ReadAnswer,
  readChatAnswer,
  shortenToLine,
} from '../../../../src/tools/doctor/chat-answer.ts';
import type { Answer } from '../../../../src/tools/doctor/findings.ts';

const answered: Answer = {
  outcome: 'answered',
  status: 200,
  contentType: 'application/json',
  keepAlive: null,
  retryAfter: null,
  location: null,
  body: '',
  reason: '',
  milliseconds: 1,
};

function readMessage(message: object): ReadAnswer {
  const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
  return expectAnswer({ ...answered, body });
}

function readStream(deltas: readonly object[]): ReadAnswer {
  const chunks = deltas.map((delta) => ({ choices: [{ index: 0, delta }] }));
  const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  return expectAnswer({ ...answered, contentType: 'text/event-stream', body: `${body}data: [DONE]\n\n` });
}

function expectAnswer(answer: Answer): ReadAnswer {
  const read = readChatAnswer(answer);
  if (read.type !== 'answer') throw new Error(`${read.type}: ${read.message}`);
  return read;
}

describe('an answer is read as the product reads it', () => {
  it('Harmony’s channels: the last is the answer, the first is reasoning in the text', () => {
    const text = '<|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant<|channel|>final<|message|>Hello.';
    for (const read of [
      readMessage({ content: text }),
      readStream([{ content: text.slice(0, 40) }, { content: text.slice(40) }]),
    ]) {
      expect(read).toMatchObject({ text, said: 'Hello.', reasoningFields: [] });
      expect(findTags(read.text)).toBe('whole');
    }
  });

  it('a tool’s name with a marker of Harmony behind it is the tool that was offered', () => {
    const call = {
      index: 0,
      function: { name: 'functions.get_weather<|channel|>commentary', arguments: '{"city":"Oslo"}' },
    };
    for (const read of [readMessage({ tool_calls: [call] }), readStream([{ tool_calls: [call] }])])
      expect(read.calls).toEqual([{ id: '', name: 'get_weather', arguments: '{"city":"Oslo"}' }]);
  });

  it('calls in pieces, two of them in turn', () => {
    const piece = (index: number, id: string, name: string, text: string) => ({
      tool_calls: [
        { index, ...(id === '' ? {} : { id }), function: { ...(name === '' ? {} : { name }), arguments: text } },
      ],
    });
    const { calls, deltas } = readStream([
      piece(0, 'a', 'get_weather', '{"city"'),
      piece(1, 'b', 'get_time', '{}'),
      piece(0, '', '', ':"Oslo"}'),
    ]);
    expect(calls).toEqual([
      { id: 'a', name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { id: 'b', name: 'get_time', arguments: '{}' },
    ]);
    expect(deltas).toBeGreaterThan(1);
  });

  it.each([
    [{ reasoning_content: 'Hm.' }, ['reasoning_content'], 'Hm.'],
    [
      { reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] },
      ['reasoning', 'reasoning_details'],
      'Hm.',
    ],
    [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }, ['content'], 'Hm.'],
    [{ thinking_blocks: [{ thinking: 'Hm.' }] }, ['thinking_blocks'], 'Hm.'],
    [{ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }, ['reasoning_details'], ''],
  ])('reasoning in %j', (message, reasoningFields, reasoning) => {
    const read = readMessage({ content: 'Hello.', ...message });
    expect(read).toMatchObject({ reasoningFields, reasoning });
    expect(hasReasoned(read)).toBe(true);
  });

  it('a completion that says nothing, and a stream without an end', () => {
    expect(readMessage({ content: '' })).toMatchObject({ text: '', calls: [], reasoning: '' });
    const body = 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n';
    const read = expectAnswer({ ...answered, contentType: 'text/event-stream', body });
    expect(read).toMatchObject({ text: 'Hel', done: false, finish: '', deltas: 1 });
  });
});

it.each([
  [199, 'error'],
  [200, 'answer'],
  [299, 'answer'],
  [300, 'error'],
  [500, 'error'],
  [501, 'error'],
  [502, 'unanswered'],
  [529, 'unanswered'],
])('an answer of status %i is read as %s', (status, type) => {
  const body = '{"choices":[{"message":{"content":"Hi"}}]}';
  expect(readChatAnswer({ ...answered, status, body }).type).toBe(type);
});

it.each([
  ['a\n\t b\u200f\u0000c ', 300, 'a b c'],
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc…'],
  [`${' '.repeat(9999)}x`, 300, 'x'],
  [`${' '.repeat(10_000)}x`, 300, ''],
])('%j is shortened to %i characters', (text, most, expected) => {
  expect(shortenToLine(text, most)).toBe(expected);
});

it('an answer in pieces of any size is read whole', () => {
  // The second event begins in one piece of 64 KiB and ends in the next.
  const texts = ['x'.repeat(60_000), 'y'.repeat(60_000), 'z'];
  const { text, deltas } = readStream(texts.map((content) => ({ content })));
  expect([text === texts.join(''), deltas]).toEqual([true, 3]);
});

it.each([
  ['<think>\nHm.\n</think>\n\nHello.', 'whole'],
  ['<think>\n\n</think>\n\nHello.', 'whole'],
  [' [THINK]Hm.[/THINK]Hello.', 'whole'],
  ['<|channel|>final<|message|>Hello.', 'whole'],
  ['Hm.\n</think>\n\nHello.', 'closing'],
  ['Hm.</mm:think>', 'closing'],
  ['Write <think> before it.', null],
  ['Hello.\n', null],
  ['', null],
])('reasoning in the text %j: %s', (text, tags) => {
  expect(findTags(text)).toBe(tags);
});

it.each([
  [199, 'text/event-stream', false],
  [200, 'text/event-stream; charset=utf-8', true],
  [299, 'text/event-stream', true],
  [300, 'text/event-stream', false],
  [200, 'application/json', false],
  [200, null, false],
])('an answer of status %i and type %s is read as a stream: %s', (status, type, expected) => {
  expect(isStreamed(status, type)).toBe(expected);
});
