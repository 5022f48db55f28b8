import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainTextOf } from '../../../src/translate/stream/plain-text.ts';
import { createStreamTranslator } from '../../../src/translate/stream.ts';
import { createTestContext } from '../../support/context.ts';

/** Fields of every kind: those that say nothing, those that do, and those of another type than they should be. */
const nothing = fc.constant(null);
const oddity = fc.oneof(nothing, fc.constantFrom(0, 1, '', 'x', false, [], {}));
const text = fc.oneof({ weight: 4, arbitrary: fc.string({ maxLength: 8 }) }, oddity);
const toolCalls = fc.constant([{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a":1}' } }]);

const delta = fc.record(
  {
    content: fc.oneof({ weight: 6, arbitrary: text }, fc.constant([{ type: 'text', text: 'part' }])),
    role: fc.constant('assistant'),
    reasoning_content: fc.oneof({ weight: 6, arbitrary: nothing }, text),
    refusal: fc.oneof({ weight: 6, arbitrary: nothing }, text),
    tool_calls: fc.oneof({ weight: 8, arbitrary: nothing }, toolCalls, oddity),
    annotations: fc.oneof(nothing, oddity),
  },
  { requiredKeys: ['content'] },
);
const choice = fc.record(
  {
    index: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.constantFrom(1, null, '0')),
    delta: fc.oneof({ weight: 12, arbitrary: delta }, oddity),
    logprobs: fc.oneof(nothing, oddity),
    finish_reason: fc.oneof({ weight: 12, arbitrary: nothing }, fc.constantFrom('stop', 'length', 'error')),
    error: fc.oneof({ weight: 12, arbitrary: nothing }, oddity),
  },
  { requiredKeys: ['delta'] },
);
const chunk = fc.record(
  {
    id: fc.string({ maxLength: 4 }),
    object: fc.oneof({ weight: 12, arbitrary: fc.constant('chat.completion.chunk') }, fc.constant('error')),
    model: fc.oneof({ weight: 4, arbitrary: fc.constant('m') }, oddity),
    choices: fc.oneof(
      { weight: 12, arbitrary: fc.array(choice, { minLength: 1, maxLength: 1 }) },
      fc.array(choice),
      oddity,
    ),
    usage: fc.oneof({ weight: 6, arbitrary: nothing }, fc.constant({ prompt_tokens: 1, completion_tokens: 2 })),
    service_tier: fc.oneof(nothing, fc.constantFrom('default', 'flex', 3)),
    system_fingerprint: oddity,
    error: fc.oneof({ weight: 12, arbitrary: nothing }, oddity),
    citations: fc.oneof({ weight: 8, arbitrary: nothing }, fc.constant(['https://example.com'])),
  },
  { requiredKeys: ['choices'] },
);

function eventsOf(chunks: readonly object[], wantsLogprobs: boolean): unknown[] {
  const translator = createStreamTranslator({ ...createTestContext({ toolNames: ['f'] }), wantsLogprobs });
  return [...chunks.flatMap((value) => translator.push(value)), ...translator.finish('done')];
}

describe('the short way for a chunk of text', () => {
  it('gives the events of the long way, whatever stands in the chunks', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), fc.boolean(), (chunks, wantsLogprobs) => {
        // A field nobody knows sends a chunk the long way and changes nothing else.
        const long = chunks.map((value) => ({ ...value, 'x-unknown': 1 }));
        expect(eventsOf(chunks, wantsLogprobs)).toEqual(eventsOf(long, wantsLogprobs));
      }),
      { numRuns: 2000 },
    );
  });

  it('is taken by the chunks of OpenAI, vLLM and llama.cpp', () => {
    const openai = {
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'gpt',
      service_tier: 'default',
      system_fingerprint: 'fp',
      choices: [{ index: 0, delta: { content: 'a' }, logprobs: null, finish_reason: null }],
      usage: null,
      obfuscation: 'xyz',
    };
    expect(plainTextOf(openai, 0, 'default')).toBe('a');
    const vllm = { ...openai, choices: [{ ...openai.choices[0], stop_reason: null, token_ids: null }] };
    expect(plainTextOf(vllm, 0, 'default')).toBe('a');
    const { service_tier: _, usage: __, ...llama } = openai;
    expect(plainTextOf(llama, 0, null)).toBe('a');
  });

  it.each([
    ['usage', { usage: { prompt_tokens: 1 } }],
    ['an error', { object: 'error' }],
    ['another tier', { service_tier: 'flex' }],
    ['a field nobody knows', { timings: {} }],
    [
      'a second choice',
      {
        choices: [
          { index: 0, delta: { content: 'a' } },
          { index: 1, delta: {} },
        ],
      },
    ],
    ['another choice', { choices: [{ index: 1, delta: { content: 'a' } }] }],
    ['a finish reason', { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] }],
    ['a tool call', { choices: [{ index: 0, delta: { content: 'a', tool_calls: [] } }] }],
    ['no text', { choices: [{ index: 0, delta: { content: '' } }] }],
  ])('is not for a chunk with %s', (_what, fields) => {
    const plain = { object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'a' } }] };
    expect(plainTextOf(plain, 0, null)).toBe('a');
    expect(plainTextOf({ ...plain, ...fields }, 0, null)).toBeNull();
  });
});
