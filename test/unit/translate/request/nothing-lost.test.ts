import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/schema/api-error.ts';
import { createResponseFields } from '../../../../src/schema/create-response.ts';
import { translateRequest } from '../../../../src/translate/request.ts';
import { profileNames } from '../../../../src/upstream/profiles.ts';
import { createCountedIds } from '../../../support/context.ts';
import { createTestSettings } from '../../../support/settings.ts';

/**
 * A field is mapped, repeated, named as left out, or refused. What it may not do is vanish: whoever sets it must be able
 * to see what became of it.
 */
const plain = { model: 'm', input: 'x', tools: [{ type: 'function', name: 'f' }] };

/** Each field with values that differ from what its absence means. */
const telling: Readonly<Record<string, readonly unknown[]>> = {
  model: ['other'],
  input: ['y'],
  instructions: ['i'],
  previous_response_id: ['resp_1'],
  conversation: ['conv_1'],
  prompt: [{ id: 'p' }],
  context_management: [[{ type: 'compaction' }]],
  moderation: [{ model: 'm' }],
  background: [true],
  store: [true],
  include: [['reasoning.encrypted_content'], ['message.output_text.logprobs']],
  tools: [[{ type: 'web_search' }], [{ type: 'mcp' }], [{ type: 'function', name: 'g' }]],
  tool_choice: ['none', 'required', { type: 'function', name: 'f' }, { type: 'web_search' }],
  parallel_tool_calls: [false],
  max_output_tokens: [50],
  max_tool_calls: [3],
  temperature: [0.3],
  top_p: [0.4],
  presence_penalty: [0.5],
  frequency_penalty: [0.5],
  top_logprobs: [3],
  text: [{ format: { type: 'json_object' } }, { verbosity: 'low' }, { verbosity: 'medium' }, { unknown: 1 }],
  reasoning: [
    { effort: 'low' },
    { effort: 'none' },
    { summary: 'auto' },
    { summary: 'concise' },
    { summary: 'detailed' },
    { generate_summary: 'auto' },
    { generate_summary: 'concise' },
    { generate_summary: 'detailed' },
    { mode: 'pro' },
    { unknown: 1 },
  ],
  metadata: [{ a: 'b' }],
  user: ['u'],
  safety_identifier: ['s'],
  prompt_cache_key: ['k'],
  prompt_cache_retention: ['24h'],
  service_tier: ['auto', 'flex', 'priority', 'scale', 'fast'],
  stream: [true],
  stream_options: [{ include_obfuscation: true }],
  truncation: ['auto'],
  some_field_of_a_vendor: [1],
};

/** They choose how a cache is kept, and say nothing about the answer. */
const sparable = ['prompt_cache_options'];

/** All that a client or an operator can see of the request, or the code it is refused with. */
function outcomeOf(body: object, profile: string): string {
  try {
    const clock = { now: () => 1, newId: createCountedIds() };
    const { chat, passthrough, context, dropped } = translateRequest(body, createTestSettings({ profile }), clock);
    const { echo, stream, obfuscate, wantsLogprobs, wantsEncryptedReasoning } = context;
    return JSON.stringify([
      chat,
      [...passthrough],
      echo,
      dropped,
      stream,
      obfuscate,
      wantsLogprobs,
      wantsEncryptedReasoning,
    ]);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown.code ?? '';
    throw thrown;
  }
}

describe.each(profileNames)('for %s', (profile) => {
  const cases = Object.entries(telling).flatMap(([name, values]) => values.map((value) => [name, value] as const));

  it.each(cases)('%s does not vanish: %j', (name, value) => {
    expect(outcomeOf({ ...plain, [name]: value }, profile)).not.toBe(outcomeOf(plain, profile));
  });
});

it('every field there is a rule for is among them', () => {
  const listed = [...Object.keys(telling), ...sparable];
  expect(Object.keys(createResponseFields).filter((name) => !listed.includes(name))).toEqual([]);
});
