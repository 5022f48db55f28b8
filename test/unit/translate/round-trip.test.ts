import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/schema/chat-request.ts';
import type { OutputItem } from '../../../src/schema/response-resource.ts';
import { translateCompletion } from '../../../src/translate/completion.ts';
import { translateRequest } from '../../../src/translate/request.ts';
import { profileOf } from '../../../src/upstream/profiles.ts';
import { createCountedIds } from '../../support/context.ts';
import { profilesWithTools } from '../../support/profiles-with-tools.ts';
import { createTestSettings } from '../../support/settings.ts';

/**
 * What the upstream said in one turn is what it is told it said in the next, after a client has only carried
 * the output from one request to the other.
 */
const request = {
  model: 'test-model',
  include: ['reasoning.encrypted_content'],
  tools: [
    { type: 'function', name: 'look' },
    { type: 'custom', name: 'patch' },
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
  ],
};
const question = { role: 'user', content: 'Hi' };

const text = fc.string({ minLength: 1 }).filter((value) => value.trim() !== '');
const calls = fc
  .uniqueArray(
    fc.record({
      id: fc.stringMatching(/^call_[a-z0-9]{1,8}$/),
      name: fc.constantFrom('look', 'files__read', 'patch'),
      payload: fc.string(),
    }),
    { maxLength: 4, selector: ({ id }) => id },
  )
  .map((given) =>
    given.map(({ id, name, payload }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: JSON.stringify(name === 'patch' ? { input: payload } : { payload }) },
    })),
  );

function nextTurn(message: object, profile: string): readonly ChatMessage[] {
  const settings = createTestSettings({ profile });
  const clock = { now: () => 1, newId: createCountedIds() };
  const { context } = translateRequest({ ...request, input: [question] }, settings, clock);
  // As on the wire: the client sees JSON and sends JSON.
  const { output } = JSON.parse(JSON.stringify(translateCompletion({ choices: [{ message }] }, context).response));
  const input = [question, ...output, ...outputsOf(output), question];
  return translateRequest({ ...request, input }, settings, clock).chat.messages;
}

function outputsOf(output: readonly OutputItem[]): object[] {
  return output.flatMap((item) => {
    if (item.type !== 'function_call' && item.type !== 'custom_tool_call') return [];
    return [{ type: `${item.type}_output`, call_id: item.call_id, output: 'done' }];
  });
}

describe('the output of one turn as the input of the next', () => {
  it.each(['sglang', 'vllm', 'deepseek'])('gives %s its own message back: content, reasoning, calls', (profile) => {
    fc.assert(
      fc.property(text, fc.option(text), calls, (content, reasoning, tool_calls) => {
        const said = { content, ...(reasoning !== null && { reasoning_content: reasoning }), tool_calls };
        const messages = nextTurn(said, profile);
        const assistants = messages.filter(({ role }) => role === 'assistant');
        expect(assistants).toHaveLength(1);
        expect(assistants[0]?.content).toBe(content);
        expect(assistants[0]?.tool_calls ?? []).toEqual(tool_calls);
        if (reasoning !== null) expect(assistants[0]?.reasoning_content).toBe(reasoning);
        const answered = messages.filter(({ role }) => role === 'tool').map(({ tool_call_id }) => tool_call_id);
        expect(answered).toEqual(tool_calls.map(({ id }) => id));
      }),
    );
  });

  const wrapping = profilesWithTools.filter((name) => profileOf(name)?.customTools !== 'native' && name !== 'mistral');
  it.each(wrapping)('gives %s its words and its calls back, whatever it does with reasoning', (profile) => {
    fc.assert(
      fc.property(text, fc.option(text), calls, (content, reasoning, tool_calls) => {
        const said = { content, ...(reasoning !== null && { reasoning_content: reasoning }), tool_calls };
        const assistants = nextTurn(said, profile).filter(({ role }) => role === 'assistant');
        expect(assistants).toHaveLength(1);
        expect(assistants[0]?.content).toBe(content);
        // Gemini's calls bear a mark that they were never signed.
        const back = assistants[0]?.tool_calls?.map(({ extra_content: _mark, ...call }) => call) ?? [];
        expect(back).toEqual(tool_calls);
      }),
      { numRuns: 30 },
    );
  });

  it('gives Mistral its thinking, its words and its calls back, under ids it takes', () => {
    fc.assert(
      fc.property(text, fc.option(text), calls, (content, reasoning, tool_calls) => {
        const said = { content, ...(reasoning !== null && { reasoning_content: reasoning }), tool_calls };
        const messages = nextTurn(said, 'mistral');
        const [assistant] = messages.filter(({ role }) => role === 'assistant');
        const thinking = { type: 'thinking', thinking: [{ type: 'text', text: reasoning }] };
        expect(assistant?.content).toEqual(reasoning === null ? content : [thinking, { type: 'text', text: content }]);
        expect(assistant?.tool_calls?.map((call) => (call.type === 'function' ? call.function : null)) ?? []).toEqual(
          tool_calls.map((call) => call.function),
        );
        const answered = messages.filter(({ role }) => role === 'tool').map(({ tool_call_id }) => tool_call_id);
        expect(answered).toEqual(assistant?.tool_calls?.map(({ id }) => id) ?? []);
        for (const id of answered) expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
      }),
    );
  });

  it.each(['openai', 'azure'])('gives %s its custom calls and its refusals back in its own form', (profile) => {
    fc.assert(
      fc.property(text, fc.string(), (refusal, input) => {
        const [refused] = nextTurn({ content: null, refusal }, profile).filter(({ role }) => role === 'assistant');
        expect(refused).toEqual({ role: 'assistant', content: null, refusal });
        const tool_calls = [{ id: 'call_1', type: 'custom', custom: { name: 'patch', input } }];
        const [called] = nextTurn({ content: null, tool_calls }, profile).filter(({ role }) => role === 'assistant');
        expect(called).toEqual({ role: 'assistant', content: null, tool_calls });
      }),
    );
  });

  it('gives OpenRouter its reasoning details back, as they were', () => {
    const details = [
      { type: 'reasoning.text', text: 'a', signature: 's', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'x', id: 'r1', index: 1 },
    ];
    const messages = nextTurn({ content: 'b', reasoning: 'a', reasoning_details: details }, 'openrouter');
    expect(messages.find(({ role }) => role === 'assistant')).toMatchObject({
      content: 'b',
      reasoning_details: details,
    });
  });

  it('gives Gemini its thought signatures back, each with its call', () => {
    const signed = (id: string, signature: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: '{}' },
      extra_content: { google: { thought_signature: signature } },
    });
    const tool_calls = [signed('a', 's1'), signed('b', 's2')];
    const messages = nextTurn({ content: null, tool_calls }, 'gemini');
    expect(messages.find(({ role }) => role === 'assistant')?.tool_calls).toEqual(tool_calls);
  });

  it('gives one server’s details and signatures to no other', () => {
    const settings = createTestSettings({ profile: 'openrouter' });
    const clock = { now: () => 1, newId: createCountedIds() };
    const { context } = translateRequest({ ...request, input: [question] }, settings, clock);
    const message = {
      content: 'b',
      reasoning: 'a',
      reasoning_details: [{ type: 'reasoning.text', text: 'a', signature: 's' }],
    };
    const { output } = translateCompletion({ choices: [{ message }] }, context).response;
    for (const profile of ['sglang', 'gemini', 'openai']) {
      const { chat } = translateRequest(
        { ...request, input: [question, ...output, question] },
        createTestSettings({ profile }),
        clock,
      );
      expect(JSON.stringify(chat)).not.toContain('signature');
      expect(JSON.stringify(chat)).not.toContain('reasoning_details');
    }
  });
});
