import { describe, expect, it } from 'vitest';
import {
  type AnswerPart,
  findErrorMessage,
  readAnswerParts,
} from '../../../../../src/tools/inspect/view/answer-parts.ts';
import {
  countBeforeLastUser,
  findResults,
  readRoundTripWords,
} from '../../../../../src/tools/inspect/view/group-round-trips.ts';
import { joinContent, writeContent } from '../../../../../src/tools/inspect/view/join-parts.ts';

const linesOf = (parts: readonly AnswerPart[]) => parts.map(({ kind, name, text }) => `${kind} ${name}: ${text}`);
const said = (answer: unknown) => linesOf(readAnswerParts(JSON.stringify(answer), false));
const streamOf = (...events: readonly object[]) =>
  events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join('');

const output = [
  { type: 'reasoning', summary: [{ text: 'Hm.' }], content: [{ text: 'Well.' }] },
  { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
  {
    type: 'message',
    content: [
      { type: 'output_text', text: 'Hello' },
      { type: 'refusal', refusal: 'No.' },
    ],
  },
  { type: 'function_call', call_id: 'c', namespace: 'crm', name: 'find', arguments: '{"id":1}' },
  { type: 'custom_tool_call', call_id: 'd', name: 'patch', input: '*** Begin' },
  { type: 'shell_call', call_id: 'e', action: { commands: ['ls'] } },
  { type: 'compaction', encrypted_content: 'gBBB' },
];
const lines = [
  'reasoning Reasoning: Hm.\n\nWell.',
  'reasoning Reasoning, encrypted: gAAA',
  'text : Hello',
  'refusal : No.',
  'call crm/find: {\n  "id": 1\n}',
  'call patch: *** Begin',
  'call shell: {\n  "commands": [\n    "ls"\n  ]\n}',
  'other compaction: {\n  "type": "compaction",\n  "encrypted_content": "gBBB"\n}',
];

describe('the parts of an answer', () => {
  it('are those of a Response, whole or at the end of a stream', () => {
    expect(said({ output })).toEqual(lines);
    const stream = streamOf(
      { type: 'response.created', response: { output: [] } },
      { type: 'x', response: { output } },
    );
    expect(linesOf(readAnswerParts(stream, true))).toEqual(lines);
  });

  it('are as far as a stream has come, which may have items that are done', () => {
    const stream = streamOf(
      { type: 'response.created', response: { output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
      { type: 'response.output_text.delta', output_index: 0, delta: 'Hel' },
      { type: 'response.output_text.delta', output_index: 0, delta: 'lo' },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'message', content: [{ type: 'output_text', text: 'Hello!' }] },
      },
      { type: 'response.output_item.added', output_index: 1, item: { type: 'function_call', name: 'find' } },
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"id"' },
    );
    expect(linesOf(readAnswerParts(stream, true))).toEqual(['text : Hello!', 'call find: {"id"']);
    const upToDelta = stream.slice(0, stream.indexOf('event: x\ndata: {"type":"response.output_item.done"'));
    expect(linesOf(readAnswerParts(upToDelta, true))).toEqual(['text : Hello']);
  });

  it('are those of a Chat message that was passed, or the answer itself where it is another', () => {
    const calls = [{ id: 'c', function: { name: 'find', arguments: '{}' } }];
    const message = { content: 'Hello', refusal: null, reasoning_content: 'Hm.', tool_calls: calls };
    expect(said({ choices: [{ message }] })).toEqual(['reasoning Reasoning: Hm.', 'text : Hello', 'call find: {}']);
    expect(said({ input_tokens: 3 })).toEqual(['other : {\n  "input_tokens": 3\n}']);
  });

  it('are none of an error, and what is foreign does no harm', () => {
    expect(said({ error: { message: 'No.' } })).toEqual([]);
    expect(readAnswerParts('', false)).toEqual([]);
    expect(said({ output: [null, 3, { type: 'message', content: 'x' }] })).toEqual([]);
    expect(readAnswerParts('data: {"response":\n\ndata: {"delta":3,"item":null}\n\n', true)).toEqual([
      { kind: 'other', name: '', callId: '', text: '{}' },
    ]);
  });
});

describe('the words of a turn', () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] },
    { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'sunny' }] },
    { role: 'user', content: [{ type: 'text', text: 'And this?' }, { type: 'image_url' }] },
  ];

  it('are those of the user behind the turn before, and the results of its calls', () => {
    expect(readRoundTripWords({ messages }, 2)).toEqual({
      said: ['And this?\n(image_url)'],
      results: [{ callId: 'c', text: 'sunny' }],
    });
    expect(readRoundTripWords({ messages }, countBeforeLastUser({ messages })).said).toEqual([
      'And this?\n(image_url)',
    ]);
    expect(readRoundTripWords(null, countBeforeLastUser(null))).toEqual({ said: [], results: [] });
  });

  it('belong to the calls by their ids, or by their order where an id was given twice', () => {
    const calls = readAnswerParts(
      JSON.stringify({ output: ['a', 'b'].map((call_id) => ({ type: 'function_call', call_id, name: call_id })) }),
      false,
    );
    const texts = (...ids: readonly string[]) => [
      ...findResults(
        calls,
        ids.map((callId) => ({ callId, text: `of ${callId}` })),
      ).values(),
    ];
    expect(texts('b', 'a')).toEqual(['of a', 'of b']);
    expect(texts('a_2', 'b_2')).toEqual(['of a_2', 'of b_2']);
    expect(texts('b')).toEqual([undefined, 'of b']);
  });
});

it('the message of an error is found in JSON, and in the last event of a stream', () => {
  const error = { error: { message: 'No room.' } };
  const answerOf = (type: string, text: string) => ({
    status: 200,
    headers: [{ name: 'content-type', value: type }],
    pieces: [{ at_ms: 0, text }],
  });
  const failed = streamOf({ type: 'response.created', response: {} }, { type: 'response.failed', response: error });
  expect(findErrorMessage(answerOf('application/json', JSON.stringify(error)) as never)).toBe('No room.');
  expect(findErrorMessage(answerOf('text/event-stream; charset=utf-8', failed) as never)).toBe('No room.');
});

it('a body is shown as its text, and bytes that are no text are marked', () => {
  const shown = (...pieces: Parameters<typeof joinContent>[0]) => writeContent(joinContent(pieces));
  expect(shown({ at_ms: 0, text: 'a' }, { at_ms: 1, text: 'b' })).toBe('ab');
  expect(shown({ at_ms: 0, text: 'a' }, { at_ms: 1, base64: '/w==' })).toBe('(not text) Yf8=');
});
