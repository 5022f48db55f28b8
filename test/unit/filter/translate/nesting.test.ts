import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../src/filter/translate/chat-to-response/stream.ts';
import { createTestContext } from '../../../support/context.ts';
import { faultsOfStream } from '../../../support/invariants.ts';
import { runStream } from '../../../support/run-stream.ts';
import { eventsOf } from '../../../support/stream-lines.ts';

/** JSON.parse reads any depth, JSON.stringify ends the stack: 5000 levels are enough. */
const levels = 20_000;
const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

const context = () =>
  createTestContext({ restoredTools: { search: { kind: 'tool_search' } }, wantsEncryptedReasoning: true });

const message: Record<string, string> = {
  content: `{"content":${deep}}`,
  'a part of the content': `{"content":[${deep}]}`,
  reasoning: `{"reasoning":${deep},"content":"Hi"}`,
  'reasoning_details without text': `{"reasoning_details":[{"type":"reasoning.encrypted","data":${deep}}],"content":"Hi"}`,
  'reasoning_details with text': `{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","x":${deep}}]}`,
  'the arguments of a call': `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":${deep}}}]}`,
  'the text of a tool search': `{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":${JSON.stringify(deep)}}}]}`,
  annotations: `{"content":"Hi","annotations":[${deep}]}`,
};

describe.each(Object.entries(message))('values nested deeper than the stack, in %s', (_, delta) => {
  it('do not break a stream', () => {
    const upstream = `data: {"choices":[{"index":0,"delta":${delta},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
    const stream = runStream([Buffer.from(upstream)], context()).bytes.toString('utf8');
    expect(faultsOfStream(stream)).toEqual([]);
    expect(eventsOf(stream).at(-1)?.type).toBe('response.completed');
  });

  it('do not break a JSON answer', () => {
    const body = JSON.parse(`{"choices":[{"index":0,"message":${delta},"finish_reason":"stop"}]}`);
    expect(() => JSON.stringify(translateCompletion(body, context()).response)).not.toThrow();
  });
});

it('an error nested deeper than the stack is an error', () => {
  const upstream = `data: {"error":${deep}}\n\n`;
  expect(runStream([Buffer.from(upstream)], context()).error).toMatchObject({ status: 502 });
  const { bytes } = runStream([Buffer.from(upstream)], context(), { committed: true });
  expect(faultsOfStream(bytes.toString('utf8'))).toEqual([]);
  expect(eventsOf(bytes.toString('utf8')).at(-1)?.type).toBe('response.failed');
});

describe('lists longer than the arguments a function may have', () => {
  const many = (entry: string) => `[${Array.from({ length: 130_000 }, () => entry).join(',')}]`;

  it.each([
    ['logprobs', `"delta":{"content":"a"},"logprobs":{"content":${many('{"token":"a"}')}}`],
    ['logprobs of white space', `"delta":{"content":" "},"logprobs":{"content":${many('{"token":"a"}')}}`],
    ['reasoning_details', `"delta":{"reasoning":"a","reasoning_details":${many('{"index":0,"text":"a"}')}}`],
    ['reasoning_details before reasoning', `"delta":{"reasoning_details":${many('{"index":0,"data":"a"}')}}`],
    ['pieces of a call', `"delta":{"tool_calls":${many('{"index":0,"function":{"name":"f","arguments":"a"}}')}}`],
    ['annotations', `"delta":{"content":"a","annotations":${many('{"type":"url_citation","url":"a"}')}}`],
  ])('do not break a stream, in %s', (_, choice) => {
    const translator = new StreamTranslator(createTestContext({ wantsLogprobs: true, wantsEncryptedReasoning: true }));
    translator.push(JSON.parse(`{"choices":[{"index":0,${choice},"finish_reason":"stop"}]}`));
    expect(translator.finish('done').at(-1)?.type).toBe('response.completed');
  });

  it('fail a JSON answer in words, in tool_calls', () => {
    const calls = many('{"function":{"name":"f","arguments":"{}"}}');
    const body = JSON.parse(`{"choices":[{"index":0,"message":{"tool_calls":${calls}},"finish_reason":"stop"}]}`);
    const { status, error } = translateCompletion(body, context()).response;
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'upstream_response_too_large' });
  });
});
