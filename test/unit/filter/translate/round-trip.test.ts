import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../src/filter/translate/chat-to-response/stream.ts';
import type { ResponseContext } from '../../../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import type { ChatMessage } from '../../../../src/filter/wire/schema/chat-request.ts';
import type { OutputItem } from '../../../../src/filter/wire/schema/response-resource.ts';
import { createCountedIds } from '../../../support/context.ts';
import { profilesWithTools } from '../../../support/profiles-with-tools.ts';
import { createTestSettings } from '../../../support/settings.ts';

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

interface ClaudeMessage {
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly thinking_blocks: readonly object[];
  readonly tool_calls: readonly object[];
}

/** What LiteLLM makes of a turn of Claude: the message, and the deltas of the same. */
const claudeTurn = fc
  .record({
    blocks: fc.array(fc.oneof(text, fc.constant(null)), { minLength: 1, maxLength: 3 }),
    content: fc.option(text),
    id: fc.stringMatching(/^call_[a-z0-9]{12}$/),
    size: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ blocks, content, id, size }) => {
    const thinking_blocks = blocks.map((thinking, index) =>
      thinking === null
        ? { type: 'redacted_thinking', data: `data ${index}` }
        : { type: 'thinking', thinking, signature: `signature ${index}` },
    );
    const reasoning = blocks.join('');
    const tool_calls = [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }];
    const message: ClaudeMessage = {
      content,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      thinking_blocks,
      tool_calls,
    };
    const deltas: object[] = thinking_blocks.flatMap((block): object[] => {
      if (!('thinking' in block)) return [{ thinking_blocks: [block] }];
      const { thinking = '', signature } = block;
      const pieces = thinking.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      return [
        ...pieces.map((piece) => ({
          reasoning_content: piece,
          thinking_blocks: [{ type: 'thinking', thinking: piece, signature: null }],
        })),
        { reasoning_content: '', thinking_blocks: [{ type: 'thinking', thinking: '', signature }] },
      ];
    });
    if (content !== null) deltas.push({ content });
    deltas.push({ tool_calls: tool_calls.map((call, index) => ({ index, ...call })) });
    return { id, message, deltas };
  });

describe('a client that sends all output back, as the SDKs do', () => {
  const answers = [
    { content: 'Well.' },
    { refusal: 'No.' },
    { content: 'I look.', tool_calls: [callOf('look')] },
    { content: null, tool_calls: [callOf('patch'), callOf('files__read')] },
  ];
  const reasoning = [
    { reasoning_content: 'Hm.', content: 'Well.' },
    { reasoning_content: 'Hm.', content: null, tool_calls: [callOf('look')] },
  ];

  it.each([
    ['generic', answers],
    ['openai', answers],
    // Servers that take reasoning back; elsewhere it is left out and named.
    ['vllm', [...answers, ...reasoning]],
    ['openrouter', [...answers, ...reasoning]],
    ['deepseek', [...answers, ...reasoning]],
  ] as const)('loses nothing that is named in ten turns, behind %s', (profile, said) => {
    const settings = createTestSettings({ profile });
    const clock = { now: () => 1, newId: createCountedIds() };
    const input: object[] = [question];
    for (let turn = 0; turn < 10; turn++) {
      const { context, dropped } = translateRequest({ ...request, input }, settings, clock);
      expect(dropped).toEqual([]);
      const message = said[turn % said.length];
      const { output } = JSON.parse(JSON.stringify(translateCompletion({ choices: [{ message }] }, context).response));
      input.push(...output, ...outputsOf(output), question);
    }
  });
});

function callOf(name: string): object {
  const args = name === 'patch' ? { input: 'x' } : { payload: 'x' };
  return { id: `call_${name}`, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

/** Anthropic's refusal, as LiteLLM passes it on: of a turn with calls that lacks its thinking, or has it changed. */
function refusalOfClaude(messages: readonly ChatMessage[], said: readonly ClaudeMessage[]): string | null {
  const assistants = messages.filter(({ role }) => role === 'assistant');
  for (const [index, { thinking_blocks }] of said.entries()) {
    const blocks = assistants[index]?.thinking_blocks;
    const at = `messages.${index}.content.0`;
    if (blocks === undefined) return `Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\` (${at})`;
    if (JSON.stringify(blocks) !== JSON.stringify(thinking_blocks))
      return `\`thinking\` or \`redacted_thinking\` blocks cannot be modified (${at})`;
  }
  return null;
}

function outputOfStream(deltas: readonly object[], context: ResponseContext): readonly OutputItem[] {
  const translator = new StreamTranslator(context);
  for (const delta of deltas) translator.push({ choices: [{ index: 0, delta }] });
  translator.push({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
  const end = translator.finish('done').at(-1);
  if (end === undefined || !('response' in end)) throw new Error('the stream did not end in a response');
  return end.response.output;
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

  const wrapping = profilesWithTools.filter(
    (name) => builtInProfiles.get(name)?.profile.customTools !== 'native' && name !== 'mistral',
  );
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

  it.each(['generic', 'vllm', 'openai', 'sglang', 'mistral'])(
    'gives Claude its signed thinking back over two turns, however it was cut, behind %s',
    (profile) => {
      fc.assert(
        fc.property(
          fc.uniqueArray(claudeTurn, { minLength: 2, maxLength: 2, selector: ({ id }) => id }),
          fc.boolean(),
          (turns, isStream) => {
            const settings = createTestSettings({ profile });
            const clock = { now: () => 1, newId: createCountedIds() };
            const input: object[] = [question];
            // The server's own memory of what it said, against which it holds what it is sent.
            const said: readonly ClaudeMessage[] = turns.map(({ message }) => message);
            for (const [index, { message, deltas }] of turns.entries()) {
              const { chat, context } = translateRequest({ ...request, include: [], input }, settings, clock);
              expect(refusalOfClaude(chat.messages, said.slice(0, index))).toBeNull();
              const output = isStream
                ? outputOfStream(deltas, context)
                : translateCompletion({ choices: [{ message }] }, context).response.output;
              const items = JSON.parse(JSON.stringify(output));
              input.push(...items, ...outputsOf(items));
            }
            const { chat } = translateRequest({ ...request, input }, settings, clock);
            expect(refusalOfClaude(chat.messages, said)).toBeNull();
            // The guard can refuse: without what the envelope carries the same history is a 400.
            const bare = input.filter((item) => !('type' in item && item.type === 'reasoning'));
            const refused = translateRequest({ ...request, input: bare }, settings, clock).chat.messages;
            expect(refusalOfClaude(refused, said)).toMatch(/^Expected `thinking` or `redacted_thinking`/);
          },
        ),
        { numRuns: 40 },
      );
    },
  );

  it('gives LiteLLM the fields of its calls back, each with its call', () => {
    const signed = (id: string, signature: string) => ({
      id,
      type: 'function',
      function: { name: 'look', arguments: '{}' },
      provider_specific_fields: { thought_signature: signature },
    });
    const tool_calls = [signed('a', 's1'), signed('b', 's2')];
    for (const profile of ['generic', 'gemini']) {
      const messages = nextTurn({ content: null, tool_calls }, profile);
      expect(messages.find(({ role }) => role === 'assistant')?.tool_calls).toEqual(tool_calls);
    }
  });

  it('gives one server’s details and signatures to no other', () => {
    const settings = createTestSettings({ profile: 'openrouter' });
    const clock = { now: () => 1, newId: createCountedIds() };
    const { context } = translateRequest({ ...request, input: [question] }, settings, clock);
    const message = {
      content: 'b',
      reasoning: 'a',
      reasoning_details: [{ type: 'reasoning.text', text: 'a', signature: 's' }],
      thinking_blocks: [{ type: 'thinking', thinking: 'a', signature: 's' }],
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
      expect(JSON.stringify(chat)).not.toContain('thinking_blocks');
    }
  });
});
