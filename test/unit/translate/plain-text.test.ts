import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTextTemplate, plainTextOf } from '../../../src/translate/stream/plain-text.ts';
import { createStreamTranslator } from '../../../src/translate/stream.ts';
import { createTestContext } from '../../support/context.ts';

type Place = 'chunk' | 'choice' | 'delta';

/** A field a server may put into a chunk of text: one that says nothing, one that does, or one of the wrong type. */
const field = (place: Place, name: string, ...telling: unknown[]) =>
  fc.record({
    place: fc.constant(place),
    name: fc.constant(name),
    value: fc.constantFrom(null, 0, '', 'x', false, [], {}, ...telling),
  });
const fields = fc.oneof(
  field('chunk', 'id'),
  field('chunk', 'object', 'error', 'chat.completion.chunk'),
  field('chunk', 'type', 'error'),
  field('chunk', 'model'),
  field('chunk', 'service_tier', 'default', 'flex'),
  field('chunk', 'system_fingerprint'),
  field('chunk', 'usage', { prompt_tokens: 1, completion_tokens: 2 }),
  field('chunk', 'x_groq', { usage: { prompt_tokens: 1 } }),
  field('chunk', 'error', { message: 'no' }),
  field('chunk', 'citations', ['https://example.com']),
  field(
    'chunk',
    'choices',
    [0, 1].map((index) => ({ index, delta: { content: 'two' } })),
  ),
  field('choice', 'index', 1),
  field('choice', 'finish_reason', 'stop', 'length', 'error'),
  field('choice', 'logprobs', { content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }] }),
  field('choice', 'error', { message: 'no' }),
  field('choice', 'delta'),
  field('choice', 'message', { content: 'whole' }),
  field('delta', 'role', 'assistant'),
  field('delta', 'content', [{ type: 'text', text: 'part' }]),
  field('delta', 'reasoning_content', 'hm'),
  field('delta', 'refusal', 'no'),
  field('delta', 'tool_calls', [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }]),
  field('delta', 'annotations', [{ type: 'url_citation', url: 'https://example.com' }]),
);

/** Mostly plain text: one chunk in two has a field or two more. */
const chunk = fc
  .tuple(
    fc.string({ minLength: 1, maxLength: 8 }),
    fc.oneof(fc.constant([]), fc.array(fields, { minLength: 1, maxLength: 2 })),
  )
  .map(([content, extra]) => {
    const delta: Record<string, unknown> = { content };
    const choice: Record<string, unknown> = { index: 0, delta, finish_reason: null };
    const whole: Record<string, unknown> = { object: 'chat.completion.chunk', model: 'm', choices: [choice] };
    for (const { place, name, value } of extra) ({ chunk: whole, choice, delta })[place][name] = value;
    return whole;
  });

function eventsOf(chunks: readonly object[], wantsLogprobs: boolean): unknown[] {
  const translator = createStreamTranslator({ ...createTestContext({ toolNames: ['f'] }), wantsLogprobs });
  return [...chunks.flatMap((value) => translator.push(value)), ...translator.finish('done')];
}

/** The same from the chunks' JSON, as `write` writes it, which is parsed only where it must be. */
function eventsOfJson(chunks: readonly object[], write: (chunk: object) => string): unknown[] {
  const translator = createStreamTranslator(createTestContext({ toolNames: ['f'] }));
  const events = chunks.flatMap((value) => {
    const json = write(value);
    return translator.pushText(json) ?? translator.push(JSON.parse(json), null, json);
  });
  return [...events, ...translator.finish('done')];
}

describe('the JSON around a chunk of text', () => {
  const ascii = (value: object) =>
    JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const writers = [JSON.stringify, ascii, (value: object) => JSON.stringify(value, null, 1)];

  it('gives the events of parsing it, whatever stands in the chunks', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), fc.constantFrom(...writers), (chunks, write) => {
        expect(eventsOfJson(chunks, write)).toEqual(eventsOf(chunks, false));
      }),
      { numRuns: 2000 },
    );
  });

  const plain = (content: string, id: unknown = 'c') =>
    JSON.stringify({ id, model: 'm', choices: [{ index: 0, delta: { content } }] });
  const read = (value: object) => plainTextOf(value as Record<string, unknown>, 0, null);

  it('is parsed once', () => {
    const template = createTextTemplate();
    template.learn(plain('one'), 'one', read);
    for (const text of ['two', 'quotes " and \\ and \n', '漢字 😀']) expect(template.match(plain(text))).toBe(text);
    template.forget();
    expect(template.match(plain('two'))).toBeNull();
  });

  it('matches nothing that differs elsewhere, or is no string', () => {
    const template = createTextTemplate();
    template.learn(plain('one'), 'one', read);
    const [head, tail] = plain('|').split('|');
    const others = [`${head}a","b":"c${tail}`, `${head}\\${tail}`, `${head}\n${tail}`, `${head}${tail}`.slice(1), ''];
    for (const json of [plain('two', 'd'), plain(''), ...others]) expect(template.match(json)).toBeNull();
  });

  it('is not taken from another place with the same letters', () => {
    const template = createTextTemplate();
    template.learn(plain('one', { content: 'one' }), 'one', read);
    expect(template.match(plain('one', { content: 'two' }))).toBeNull();
  });

  it('is given up on where it is never the same', () => {
    const template = createTextTemplate();
    for (let id = 0; id < 16; id++) template.learn(plain('one', id), 'one', read);
    template.forget();
    template.learn(plain('one'), 'one', read);
    expect(template.match(plain('two'))).toBeNull();
  });
});

describe('the short way for a chunk of text', () => {
  it('is taken after the thinking, where think tags are read', () => {
    const translator = createStreamTranslator(createTestContext({ profileFlags: { thinkTags: true } }));
    const json = (content: string) => JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content } }] });
    const push = (content: string) => translator.push(JSON.parse(json(content)), null, json(content));
    for (const content of ['<think>', 'hm', 'hm', '</think>', 'An', ' answer']) {
      expect(translator.pushText(json(content))).toBeNull();
      push(content);
    }
    expect(translator.pushText(json(' <think>'))).toEqual([
      expect.objectContaining({ type: 'response.output_text.delta', delta: ' <think>' }),
    ]);
  });

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
