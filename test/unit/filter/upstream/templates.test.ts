import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { createCountedIds } from '../../../support/context.ts';
import { goldenRequests } from '../../../support/golden.ts';
import { createTestSettings, type SettingsOverrides } from '../../../support/settings.ts';
import { refusalOf, type TemplateGuard, templateGuards } from '../../../support/template-guards.ts';

/** Profiles of servers that run the template of the model itself. */
const selfHosted = [
  'generic',
  'vllm',
  'sglang',
  'llama.cpp',
  'ollama',
  'lmstudio',
  'tgi',
  'together',
  'fireworks',
  'nim',
  'huggingface',
  'llama-cpp-python',
];

const requests = goldenRequests();

describe.each(templateGuards)('the template of $model', (guard) => {
  const profiles = guard.api === undefined ? selfHosted : [...selfHosted, guard.api];

  it.each(profiles)('takes every golden request, as %s sends it', (profile) => {
    const checked = requests.flatMap(({ where, request }) => {
      const sent = sentFor({ ...request, model: guard.model }, { profile });
      if (sent === null || (guard.withoutTools && hasCalls(sent.messages))) return [];
      return [{ where, sent, refusal: refusalOf(() => guard.check(sent.messages, sent.hasTools)) }];
    });
    expect(checked.filter(({ refusal }) => refusal !== null)).toEqual([]);
    expect(checked.length).toBeGreaterThan(100);
  });

  it('takes any conversation, by any of these profiles', () => {
    fc.assert(
      fc.property(
        conversation,
        fc.constantFrom(...profiles),
        fc.option(fc.string()),
        fc.boolean(),
        (input, profile, instructions, withTools) => {
          const sent = sentFor(
            { model: guard.model, input, instructions, ...(withTools ? { tools } : {}) },
            { profile },
          );
          // Drawn again where nothing is sent; where nearly nothing ever is, `maxSkipsPerRun` fails the test.
          if (sent === null || (guard.withoutTools && hasCalls(sent.messages))) return fc.pre(false);
          expect(refusalOf(() => guard.check(sent.messages, sent.hasTools))).toBeNull();
        },
      ),
      { numRuns: 100, maxSkipsPerRun: 1000 },
    );
  });
});

describe('the guards themselves', () => {
  const user = { role: 'user', content: 'x' };
  const assistant = { role: 'assistant', content: 'x' };
  const calls = (...ids: string[]) => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  });
  const tool = { role: 'tool', tool_call_id: 'aB3dE6gH9', content: 'x' };
  const system = { role: 'system', content: 'x' };
  const cut = {
    ...calls(),
    tool_calls: [{ id: 'aB3dE6gH9', type: 'function', function: { name: 'f', arguments: '"Oslo"' } }],
  };

  it.each([
    ['nemo', [user, user], /must alternate/],
    ['nemo', [user, calls('call_1'), { ...tool, tool_call_id: 'call_1' }], /length 9/],
    ['nemo', [user, assistant, system], /must alternate/],
    ['nemo', [user, calls('aB3dE6gH9'), tool, user], /must alternate/],
    ['Devstral', [user, user], /must alternate/],
    ['Devstral', [user, { role: 'assistant', content: '' }], /must have a string/],
    ['Mistral-Small', [user, calls('aB3dE6gH9'), tool, user], /Unexpected role 'user' after role 'tool'/],
    ['Mistral-Small', [user, assistant, system], /Unexpected role 'system' after role 'assistant'/],
    ['Mistral-Small', [assistant], /must start with/],
    ['Mistral-Small', [user, calls('call_1'), { ...tool, tool_call_id: 'call_1' }], /length of 9/],
    ['Mistral-Small', [user, calls('aB3dE6gH9'), assistant], /same number/],
    ['Devstral', [user, calls('aB3dE6gH9'), tool], /no len/],
    ['Devstral', [user, system], /got system/],
    ['gemma', [system, user, user], /must alternate/],
    ['with-tools', [user, calls('a'), { ...tool, content: 'x' }], /Invalid content type/],
    ['with-tools', [user, { ...calls('a'), content: '' }, tool, user], /must alternate/],
    ['Qwen3-32B', [user, cut, tool], /mapping/],
    ['Qwen3.5', [user, system], /must be at the beginning/],
    ['Qwen3.5', [system, assistant], /No user query/],
    ['Qwen3.5', [{ role: 'user', content: '<tool_response>\n4\n</tool_response>' }], /No user query/],
    ['Llama', [user, calls('a', 'b')], /single tool-calls/],
    ['Llama', [system], /no first user message/],
    ['DeepSeek', [{ role: 'user', content: null }], /concatenate/],
    ['gpt-oss', [user, tool], /no previous assistant message/],
    ['gpt-oss', [user, { ...calls('a'), content: '' }, tool, assistant, tool], /no previous assistant message/],
    ['gpt-oss', [user, calls('a'), tool], /not iterable/],
    ['gpt-oss', [{ role: 'assistant', content: '<|channel|>final<|message|>Hi' }], /channel/],
  ])('refuse what the template of %s refuses', (name, messages, complaint) => {
    const guard = templateGuards.find(({ model }) => model.includes(name));
    expect(() => guard?.check(messages, true)).toThrow(complaint);
  });
});

type Messages = Parameters<TemplateGuard['check']>[0];

/** What the upstream gets; null for a request that is refused. */
function sentFor(request: object, overrides: SettingsOverrides): { messages: Messages; hasTools: boolean } | null {
  const settings = createTestSettings({ ...overrides, orphanOutputs: 'synthesize', missingOutputs: 'synthesize' });
  try {
    const { chat } = translateRequest(request, settings, { now: () => 1, newId: createCountedIds() });
    return { messages: JSON.parse(JSON.stringify(chat.messages)), hasTools: chat.tools !== undefined };
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
}

function hasCalls(messages: Messages): boolean {
  return messages.some(({ role, tool_calls }) => role === 'tool' || tool_calls !== undefined);
}

const tools = [{ type: 'function', name: 'f' }];
const callId = fc.constantFrom('call_0', 'call_1', 'aB3dE6gH9');
const image = fc.constant({ type: 'input_image', image_url: 'https://x.test/a.png' });
const text = (type: string) => fc.record({ type: fc.constant(type), text: fc.string() });
const item = fc.oneof(
  fc.record({
    role: fc.constantFrom('user', 'user', 'assistant', 'developer', 'system'),
    content: fc.string(),
  }),
  fc.record({ role: fc.constant('user'), content: fc.array(fc.oneof(text('input_text'), image), { maxLength: 3 }) }),
  fc.record({ role: fc.constant('assistant'), content: fc.array(text('output_text'), { maxLength: 2 }) }),
  fc.record({
    type: fc.constant('reasoning'),
    summary: fc.constant([]),
    content: fc.array(text('reasoning_text'), { maxLength: 2 }),
  }),
  fc.record({
    type: fc.constant('function_call'),
    call_id: callId,
    name: fc.constant('f'),
    arguments: fc.oneof(fc.json(), fc.string()),
  }),
  fc.record({
    type: fc.constant('function_call_output'),
    call_id: callId,
    output: fc.oneof(fc.string(), fc.array(fc.oneof(text('input_text'), image), { maxLength: 2 })),
  }),
  fc.record({ type: fc.constant('custom_tool_call'), call_id: callId, name: fc.constant('c'), input: fc.string() }),
);
const conversation = fc.array(item, { minLength: 1, maxLength: 12 });
