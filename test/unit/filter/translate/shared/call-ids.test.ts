import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../../src/filter/translate/chat-to-response/completion.ts';
import { uniqueCallId, upstreamCallId } from '../../../../../src/filter/translate/shared/chat-names.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { runStream } from '../../../../support/run-stream.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/** A conversation with two calls whose ids the client saw as these. */
function conversation(...ids: readonly string[]): object[] {
  return [
    { role: 'user', content: 'Hi' },
    ...ids.flatMap((call_id, index) => [
      { type: 'function_call', call_id, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id, output: `output ${index}` },
    ]),
  ];
}

function translate(input: readonly object[]) {
  const tools = [{ type: 'function', name: 'look' }];
  const clock = { now: () => 1, newId: createCountedIds() };
  return translateRequest({ model: 'm', input, tools }, createTestSettings({ profile: 'moonshot' }), clock);
}

function answerOf(ids: readonly string[], earlier: readonly string[]): unknown[] {
  const tool_calls = ids.map((id, index) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: JSON.stringify({ index }) },
  }));
  const { context } = translate(conversation(...earlier));
  const { response } = translateCompletion({ choices: [{ message: { tool_calls } }] }, context);
  return response.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
}

describe('an id that the conversation has', () => {
  it('is that of a call', () => {
    expect([...translate(conversation('look:0', 'look:1')).context.earlierCallIds]).toEqual(['look:0', 'look:1']);
  });

  it('is another for the client, and that of its server in the next request', () => {
    expect(answerOf(['look:0'], ['look:0'])).toEqual(['look:0_repeat2']);
    expect(answerOf(['look:0'], ['look:0', 'look:0_repeat2'])).toEqual(['look:0_repeat3']);
    const { messages } = translate(conversation('look:0', 'look:0_repeat2')).chat;
    const ids = messages.flatMap(({ tool_calls = [], tool_call_id }) => [
      ...tool_calls.map(({ id }) => id),
      tool_call_id,
    ]);
    expect(ids.filter((id) => id !== undefined)).toEqual(['look:0', 'look:0', 'look:0', 'look:0']);
    // Each output is with its own call.
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'output 0',
      'output 1',
    ]);
  });

  it('is another in a stream too', () => {
    const { context } = translate(conversation('look:0'));
    const call = { index: 0, id: 'look:0', type: 'function', function: { name: 'look', arguments: '{}' } };
    const chunk = { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] };
    const stream = Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    expect(runStream([stream], context).bytes.toString()).toContain('"call_id":"look:0_repeat2"');
  });

  it('is given once in an answer: a second call of that id has one made here, as where the conversation has none', () => {
    expect(answerOf(['look:0', 'look:0', 'look:0'], [])).toEqual(['look:0', 'call_1', 'call_2']);
    expect(answerOf(['look:0', 'look:0', 'look:0'], ['look:0'])).toEqual(['look:0_repeat2', 'call_1', 'call_2']);
    const next = translate(conversation('look:0', 'look:0_repeat2', 'call_1')).chat;
    expect(next.messages.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(['look:0', 'look:0', 'call_1']);
  });

  it('stays where it is the only one', () => {
    expect(answerOf(['look:1', 'look:2'], ['look:0'])).toEqual(['look:1', 'look:2']);
  });

  it('is made here where it would be longer than the API allows', () => {
    const longest = 'x'.repeat(64 - '_repeat2'.length);
    expect(uniqueCallId(longest, (id) => id === longest)).toBe(`${longest}_repeat2`);
    const long = `${longest}x`;
    expect(uniqueCallId(long, (id) => id === long)).toBeNull();
    expect(answerOf([long], [long])).toEqual(['call_1']);
  });
});

it('an id without the suffix stays as it is', () => {
  expect(['call_1', 'a_repeat', 'a_repeat2x'].map(upstreamCallId)).toEqual(['call_1', 'a_repeat', 'a_repeat2x']);
});
