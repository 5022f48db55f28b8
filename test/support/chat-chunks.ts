import fc from 'fast-check';
import { codePoint } from './code-point.ts';

/**
 * Chunks that no server should send: the fields that are read, in any order and combination, each with a valid value
 * or one of the wrong type.
 */
const text = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '\n',
      'a',
      'Hello',
      '<think>',
      '</think>',
      '{"a":',
      '1}',
      '{}',
      '\ud83d',
      '\ude00',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: codePoint, maxLength: 8 }) },
);

const wrong = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, '', 'x', [], {}, [[]], [null], { a: null }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Mostly valid: a stream in which every field is wrong soon produces no events. */
const mostly = (right: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: wrong });

const some = (fields: Record<string, fc.Arbitrary<unknown>>) => fc.record(fields, { requiredKeys: [] });

const names = fc.constantFrom('', 'f', 'get', 'get_weather', '_weather', 'p', 'search', 'forbidden', 'ns__f');
const signature = some({ google: some({ thought_signature: text }) });

const toolCall = some({
  id: mostly(fc.constantFrom('', 'a', 'b', 'c')),
  index: mostly(fc.constantFrom(0, 0, 1, 2)),
  type: fc.constantFrom('function', 'custom'),
  function: mostly(
    some({ name: mostly(names), arguments: mostly(fc.oneof(text, fc.constantFrom('{"input":"', '"}', '\\', 'u00'))) }),
  ),
  custom: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: some({ name: names, input: text }) },
  ),
  extra_content: mostly(signature),
  provider_specific_fields: mostly(some({ thought_signature: text })),
});

const citation = some({
  type: fc.constant('url_citation'),
  url: fc.constantFrom('https://a.test', 'https://b.test', ''),
  title: text,
  start_index: mostly(fc.nat(3)),
  end_index: mostly(fc.nat(3)),
});

const contentPart = some({
  type: fc.constantFrom('text', 'thinking', 'refusal', 'image_url', 'reference'),
  text: mostly(text),
  thinking: mostly(fc.oneof(text, fc.array(some({ type: fc.constant('text'), text })))),
  refusal: text,
});

const delta = some({
  role: fc.constantFrom('assistant', 'tool'),
  content: mostly(
    fc.oneof({ weight: 4, arbitrary: text }, { weight: 1, arbitrary: fc.array(contentPart, { maxLength: 3 }) }),
  ),
  refusal: mostly(text),
  reasoning_content: mostly(text),
  reasoning: mostly(fc.oneof(text, some({ text }))),
  reasoning_details: mostly(
    fc.array(
      some({
        type: fc.constantFrom('reasoning.text', 'reasoning.encrypted'),
        text,
        data: text,
        index: fc.nat(2),
        signature: text,
      }),
      { maxLength: 2 },
    ),
  ),
  thinking_blocks: mostly(
    fc.array(
      some({
        type: fc.constantFrom('thinking', 'thinking', 'redacted_thinking'),
        thinking: text,
        signature: fc.constantFrom(null, '', 's'),
        data: text,
      }),
      { maxLength: 2 },
    ),
  ),
  tool_calls: mostly(fc.array(mostly(toolCall), { maxLength: 3 })),
  function_call: mostly(some({ name: names, arguments: text })),
  annotations: mostly(fc.array(citation, { maxLength: 2 })),
  audio: mostly(some({ transcript: text })),
  extra_content: mostly(signature),
});

const token = some({
  token: text,
  logprob: mostly(fc.double()),
  bytes: mostly(fc.constant([97])),
  top_logprobs: mostly(fc.constant([])),
});

const choice = some({
  index: mostly(fc.constantFrom(0, 0, 0, 1)),
  delta: mostly(delta),
  message: mostly(delta),
  finish_reason: mostly(
    fc.constantFrom(
      null,
      null,
      null,
      '',
      'stop',
      'length',
      'tool_calls',
      'content_filter',
      'error',
      'abort',
      'because',
    ),
  ),
  logprobs: mostly(some({ content: mostly(fc.array(mostly(token), { maxLength: 2 })) })),
  error: fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: wrong }),
});

const usage = some({
  prompt_tokens: mostly(fc.nat(9)),
  completion_tokens: mostly(fc.nat(9)),
  total_tokens: mostly(fc.nat(20)),
  prompt_tokens_details: mostly(some({ cached_tokens: mostly(fc.nat(9)) })),
  completion_tokens_details: mostly(some({ reasoning_tokens: mostly(fc.nat(9)) })),
});

/** One JSON value of a stream, in most cases a chunk. */
export const chunks: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 1, arbitrary: wrong },
  {
    weight: 30,
    arbitrary: some({
      id: mostly(text),
      model: mostly(text),
      service_tier: mostly(text),
      choices: mostly(fc.array(mostly(choice), { minLength: 1, maxLength: 2 })),
      usage: mostly(usage),
      citations: mostly(fc.array(fc.constantFrom('https://a.test', 'https://b.test'), { maxLength: 2 })),
    }),
  },
  { weight: 1, arbitrary: some({ error: wrong, object: fc.constantFrom('error', 'chunk'), message: text }) },
);

/** Settings of a context, in all combinations that change a stream's events. */
export const contexts = fc.record({
  toolNames: fc.constantFrom(['f', 'get', 'get_weather'], []),
  restoredTools: fc.constantFrom(
    {},
    {
      p: { kind: 'custom' as const, name: 'p' },
      search: { kind: 'tool_search' as const },
      get: { kind: 'shell' as const },
      ns__f: { kind: 'function' as const, name: 'f', namespace: 'ns' },
    },
  ),
  wantsEncryptedReasoning: fc.boolean(),
  wantsLogprobs: fc.boolean(),
  obfuscate: fc.boolean(),
  reasoningEvents: fc.constantFrom(
    'summary' as const,
    'summary_and_content' as const,
    'reasoning_text' as const,
    'reasoning' as const,
  ),
  profileFlags: fc.record({
    thinkTags: fc.constantFrom('off', 'auto', 'on'),
    implicitThink: fc.boolean(),
    dedupeTail: fc.boolean(),
    cumulativeDeltas: fc.boolean(),
    reasoningTokensExtra: fc.boolean(),
  }),
});

type StreamSettings = typeof contexts extends fc.Arbitrary<infer Settings> ? Settings : never;

/** One of them, for a case that a property once failed for. */
export const plainSettings: StreamSettings = {
  toolNames: [],
  restoredTools: {},
  wantsEncryptedReasoning: false,
  wantsLogprobs: false,
  obfuscate: false,
  reasoningEvents: 'summary',
  profileFlags: {
    thinkTags: 'on',
    implicitThink: true,
    dedupeTail: false,
    cumulativeDeltas: false,
    reasoningTokensExtra: false,
  },
};
