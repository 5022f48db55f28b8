import { parseResponse } from 'openai/lib/ResponsesParser';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../../../src/filter/translate/chat-to-response/stream.ts';
import { type ContextSettings, createTestContext } from '../../../../../support/context.ts';

const tools: ContextSettings = { toolNames: ['f'] };
const call = { id: 'c', index: 0, type: 'function', function: { name: 'f', arguments: '{}' } };

/** The phases of the messages in the answer, in a stream and in JSON, which must agree. */
function phasesOf(message: object, finish_reason: string, settings: ContextSettings = tools): unknown[] {
  const translator = new StreamTranslator(createTestContext({ ...settings, stream: true }));
  const events = [
    ...translator.push({ choices: [{ index: 0, delta: message, finish_reason }] }),
    ...translator.finish('done'),
  ];
  const whole = translateCompletion({ choices: [{ index: 0, message, finish_reason }] }, createTestContext(settings));
  const last = events.at(-1);
  const streamed = last !== undefined && 'response' in last ? last.response.output : [];
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
  const [inJson, inStream, inDone] = [whole.response.output, streamed, done].map((output) =>
    output.flatMap((item) => (item.type === 'message' ? [item.phase] : [])),
  );
  expect(inStream).toEqual(inJson);
  expect(inDone).toEqual(inJson);
  return inJson ?? [];
}

describe('the phase of a message', () => {
  it('is commentary where a tool call follows', () => {
    expect(phasesOf({ content: 'Let me look.', tool_calls: [call] }, 'tool_calls')).toEqual(['commentary']);
  });

  it('is commentary also where an item with the call’s signature stands between', () => {
    const signed = { ...call, extra_content: { google: { thought_signature: 's' } } };
    expect(phasesOf({ content: 'Let me look.', tool_calls: [signed] }, 'tool_calls')).toEqual(['commentary']);
  });

  it('is the final answer where none follows', () => {
    expect(phasesOf({ content: 'Done.' }, 'stop')).toEqual(['final_answer']);
  });

  it('is not known where the answer was cut', () => {
    expect(phasesOf({ content: 'Half an' }, 'length')).toEqual([undefined]);
  });

  it('is not said where no tools were offered: there is nothing else it could be', () => {
    expect(phasesOf({ content: 'Done.' }, 'stop', {})).toEqual([undefined]);
  });

  it('lets the SDK parse structured output beside text before a call', () => {
    const format = { type: 'json_schema', name: 'x', schema: {}, strict: true };
    const message = { content: 'Let me look.', tool_calls: [call] };
    const context = createTestContext({ ...tools, echo: { text: { format } } });
    const { response } = translateCompletion(
      { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
      context,
    );
    const parsed = parseResponse(
      response as never,
      { text: { format: { ...format, __parseRaw: JSON.parse } } } as never,
    );
    expect(parsed.output.map(({ type }) => type)).toEqual(['message', 'function_call']);
  });
});
