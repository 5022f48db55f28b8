import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecordedProvenance } from '../../../../../src/filter/translate/shared/provenance.ts';
import { requestFields } from '../../../../../src/filter/translate/shared/request-fields.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { isWithin } from '../../../../../src/formats/json/loose.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { profilesWithTools } from '../../../../support/profiles-with-tools.ts';
import { runs } from '../../../../support/property-runs.ts';
import { createTestSettings } from '../../../../support/settings.ts';

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
  guardrails: [['llama_guard']],
  background: [true],
  store: [true],
  include: [['reasoning.encrypted_content'], ['message.output_text.logprobs']],
  tools: [[{ type: 'web_search' }], [{ type: 'mcp' }], [{ type: 'function', name: 'g' }]],
  tool_choice: ['none', 'required', { type: 'function', name: 'f' }, { type: 'web_search' }],
  allowed_tools: [['f'], [{ type: 'function', name: 'f' }]],
  parallel_tool_calls: [false],
  max_output_tokens: [50],
  max_tool_calls: [3],
  max_infer_iters: [3],
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
  prompt_cache_options: [{ mode: 'explicit' }, { ttl: '12h' }, { prewarm: true }],
  generate: [false],
  service_tier: ['auto', 'flex', 'priority', 'scale', 'fast'],
  stream: [true],
  stream_options: [{ include_obfuscation: true }],
  truncation: ['auto'],
  some_field_of_a_vendor: [1],
};

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

describe.each(profilesWithTools)('for %s', (profile) => {
  const cases = Object.entries(telling).flatMap(([name, values]) => values.map((value) => [name, value] as const));

  it.each(cases)('%s does not vanish: %j', (name, value) => {
    expect(outcomeOf({ ...plain, [name]: value }, profile)).not.toBe(outcomeOf(plain, profile));
  });
});

/** The parts of the upstream's request by name, messages and tools one by one, each with what it was recorded to be made of. */
function partsOf(body: object, profile: string | object): Map<string, readonly string[]> | null {
  const provenance = new RecordedProvenance();
  const clock = { now: () => 1, newId: createCountedIds() };
  try {
    translateRequest(body, { ...createTestSettings({ profile }), provenance }, clock);
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
  const { chat, passthrough } = provenance.result ?? { chat: {}, passthrough: new Map() };
  const fields = [...Object.entries(chat), ...passthrough].flatMap(([name, value]) =>
    (name === 'messages' || name === 'tools') && Array.isArray(value)
      ? value.map((element) => [name, element, Object.values(RecordedProvenance.sourcesOf(element)).flat()] as const)
      : [
          [
            name,
            value,
            (RecordedProvenance.sourcesOf(chat)[name] ?? []).concat(
              RecordedProvenance.sourcesOf(passthrough)[name] ?? [],
            ),
          ] as const,
        ],
  );
  return new Map(fields.map(([name, value, sources]) => [`${name}: ${JSON.stringify(value)}`, sources]));
}

/** What is recorded is compared with what happens: a part that is there because of a field says so, and no other does. */
describe.each([...profilesWithTools, { extends: 'openai', guardrails: true }])(
  'for %s, what a part was made of is recorded',
  (profile) => {
    const without = partsOf(plain, profile);
    const cases = Object.entries(telling).flatMap(([name, values]) => values.map((value) => [name, value] as const));

    it.each(cases)('%s: %j', (name, value) => {
      const withField = partsOf({ ...plain, [name]: value }, profile);
      for (const [part, sources] of withField ?? []) {
        const before = without?.get(part);
        // What the profile always sends may be what the field asks for.
        if (before?.length === 0) continue;
        const isOfField = sources.some((source) => isWithin(source, name));
        expect(isOfField, `${part} is recorded as made of ${sources.join(', ') || 'nothing'}`).toBe(
          before === undefined,
        );
      }
      expect(withField === null || withField.size > 0).toBe(true);
    });
  },
);

it('every field that is read is among them', () => {
  const read = [...requestFields].filter(([, { shape }]) => shape !== undefined).map(([name]) => name);
  expect(read.filter((name) => !Object.hasOwn(telling, name))).toEqual([]);
});

/**
 * Below the top level: every text in a request is a mark of its own. A mark reaches the upstream, or its key is named as
 * left out, or its item is, or the request is refused. Clients' own records (`id`, `status`, an
 * assistant's `phase`) are the only exception.
 */
describe('a marked value of a random request', () => {
  const key = fc.constantFrom('alt', 'mood', 'cache_control', 'phase', 'name', 'async', 'x_vendor');
  const extras = fc.uniqueArray(key, { maxLength: 2 });
  const part = fc.record({ kind: fc.constantFrom('input_text', 'input_image', 'input_smell'), extras });
  const item = fc
    .record({
      kind: fc.constantFrom('user', 'assistant', 'call', 'custom', 'shell', 'agent_message', 'hosted', 'unknown'),
      parts: fc.array(part, { minLength: 1, maxLength: 2 }),
      extras,
    })
    .map((one) => (one.kind === 'assistant' ? { ...one, extras: one.extras.filter((name) => name !== 'phase') } : one));
  const request = fc.record({
    profile: fc.constantFrom(...profilesWithTools),
    items: fc.array(item, { minLength: 1, maxLength: 4 }),
    tools: fc.array(extras, { maxLength: 2 }),
  });

  it('is found upstream, named or refused', () => {
    fc.assert(
      fc.property(request, ({ profile, items, tools }) => {
        const marks = new Map<string, string>();
        const body = {
          model: 'm',
          input: [{ role: 'user', content: 'first' }, ...items.flatMap((one, index) => itemsOf(one, index + 1, marks))],
          tools: tools.map((names, index) => ({
            type: 'function',
            name: `f${index}`,
            ...marked(names, `tools[].`, marks),
          })),
        };
        const outcome = translated(body, profile);
        if (outcome === null) return;
        for (const [mark, name] of marks) {
          const isNamed = outcome.dropped.includes(name);
          expect(outcome.upstream.includes(mark) || isNamed, `${mark} (${name}) in ${profile}`).toBe(true);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  /** Values of their own for these keys, each with the name it would be dropped by. */
  function marked(names: readonly string[], path: string, marks: Map<string, string>): Record<string, string> {
    return Object.fromEntries(names.map((name) => [name, mark(`${path}${name}`, marks)]));
  }

  function mark(name: string, marks: Map<string, string>): string {
    const text = `mark${marks.size}.`;
    marks.set(text, name);
    return text;
  }

  function itemsOf(
    { kind, parts, extras: names }: { kind: string; parts: { kind: string; extras: string[] }[]; extras: string[] },
    index: number,
    marks: Map<string, string>,
  ): object[] {
    const at = `input[${index}]`;
    const text = (path: string) => mark(path, marks);
    const content = () =>
      parts.map((one, place) => {
        const partAt = `${at}.content[${place}]`;
        if (one.kind === 'input_image') return { type: one.kind, image_url: `https://x.test/${text(partAt)}` };
        const isUnknown = one.kind === 'input_smell';
        const more = isUnknown ? {} : marked(one.extras, 'input[].content[].', marks);
        return { type: one.kind, text: text(partAt), ...more };
      });
    const more = (allowed: boolean) => (allowed ? marked(names, 'input[].', marks) : {});
    switch (kind) {
      case 'user':
        return [{ role: 'user', content: content(), ...more(true) }];
      case 'assistant':
        return [{ role: 'assistant', content: text(at), ...more(true) }];
      case 'call': {
        const call_id = `c${index}`;
        const known = { type: 'function_call', call_id, name: 'f', arguments: JSON.stringify({ a: text(at) }) };
        const extra = marked(
          names.filter((name) => name !== 'name'),
          'input[].',
          marks,
        );
        return [
          { ...known, ...extra },
          { type: 'function_call_output', call_id, output: text(at) },
        ];
      }
      case 'custom': {
        const call_id = `k${index}`;
        return [
          { type: 'custom_tool_call', call_id, name: 'g', input: text(at) },
          { type: 'custom_tool_call_output', call_id, output: text(at) },
        ];
      }
      case 'shell': {
        const call_id = `s${index}`;
        const stdout = text(at);
        return [
          { type: 'shell_call', call_id, action: { commands: [text(at)] } },
          { type: 'shell_call_output', call_id, output: [{ stdout, stderr: text(at), outcome: { type: 'timeout' } }] },
        ];
      }
      case 'agent_message':
        return [
          { type: kind, author: 'a', recipient: 'b', content: [{ type: 'input_text', text: text(at) }], ...more(true) },
        ];
      case 'hosted':
        return [{ type: 'web_search_call', id: 'ws', action: { query: text(at) } }];
      default:
        return [{ type: 'memo', text: text(at) }];
    }
  }

  function translated(body: object, profile: string): { upstream: string; dropped: readonly string[] } | null {
    try {
      const clock = { now: () => 1, newId: createCountedIds() };
      const { chat, dropped } = translateRequest(body, createTestSettings({ profile }), clock);
      return { upstream: JSON.stringify(chat), dropped };
    } catch (thrown) {
      if (thrown instanceof ApiError) return null;
      throw thrown;
    }
  }
});

/** A client reads in the Response what its answer was made with. */
describe.each(profilesWithTools)(
  'for %s, the Response repeats a field exactly if it is not listed as dropped',
  (profile) => {
    const echoed = (body: object) => {
      const clock = { now: () => 1, newId: createCountedIds() };
      const { context, dropped } = translateRequest({ ...plain, ...body }, createTestSettings({ profile }), clock);
      return { echo: context.echo as unknown as Record<string, unknown>, dropped };
    };
    const without = echoed({}).echo;

    it.each([
      ['safety_identifier', 's'],
      ['user', 'u'],
      ['prompt_cache_key', 'k'],
      ['prompt_cache_retention', 'in_memory'],
      ['prompt_cache_retention', '24h'],
      ['service_tier', 'auto'],
      ['service_tier', 'priority'],
      ['truncation', 'auto'],
      ['temperature', 0.3],
      ['top_p', 0.4],
      ['parallel_tool_calls', false],
    ])('%s: %j', (name, value) => {
      const { echo, dropped } = echoed({ [name]: value });
      expect(echo[name]).toEqual(dropped.includes(name) ? without[name] : value);
    });

    it.each(['low', 'medium'])('text.verbosity: %s', (verbosity) => {
      const { echo, dropped } = echoed({ text: { verbosity } });
      const shown = dropped.includes('text.verbosity')
        ? without['text']
        : { ...(without['text'] as object), verbosity };
      expect(echo['text']).toEqual(shown);
    });
  },
);
