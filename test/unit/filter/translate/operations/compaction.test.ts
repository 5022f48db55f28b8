import { describe, expect, test } from 'vitest';
import { encodeReasoningEnvelope } from '../../../../../src/filter/translate/shared/envelopes.ts';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { defaultCompactionPrompt } from '../../../../../src/service/settings/operator-texts.ts';
import { createCountedIds, createdAt } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

const clock = { now: () => createdAt, newId: createCountedIds() };

/** A conversation of calls with these outputs, and a trigger. */
function compacted(
  outputs: readonly string[],
  contextWindow: number | null,
  question = 'Go.',
  name = 'read',
  thoughts: readonly object[] = [],
) {
  const settings = createTestSettings({ compaction: { contextWindow, maxTokens: 1000 } });
  const input = [
    { role: 'user', content: question },
    ...thoughts.map((thought) => ({ type: 'reasoning', summary: [], ...thought })),
    ...outputs.flatMap((output, index) => [
      { type: 'function_call', call_id: `c${index}`, name, arguments: '{}' },
      { type: 'function_call_output', call_id: `c${index}`, output },
    ]),
    { type: 'compaction_trigger' },
  ];
  const { chat, dropped } = translateRequest({ model: 'm', input }, settings, clock);
  const texts = chat.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  return { chat, dropped, texts };
}

const long = (letter: string, length: number) => `${letter}-begin ${letter.repeat(length)} ${letter}-end`;

describe('a conversation for a window that is known', () => {
  test('that fits is sent as it is', () => {
    const outputs = [long('a', 9000), long('b', 9000)];
    const { texts, dropped } = compacted(outputs, 100_000);
    expect(texts).toEqual(outputs);
    expect(dropped).toEqual([]);
  });

  test('that does not fit has its oldest tool outputs shortened first, and named', () => {
    const outputs = [long('a', 30_000), long('b', 30_000), long('c', 12_000)];
    const { texts, dropped } = compacted(outputs, 12_000);
    expect(dropped).toEqual(['input[2].output', 'input[4].output']);
    expect(texts[0]).toMatch(/^a-begin a+\n\[… \d+ characters left out …\]\na+ a-end$/);
    expect(texts[1]).toMatch(/^b-begin/);
    expect(texts[1]?.length).toBeLessThan(2200);
    expect(texts[2]).toBe(outputs[2]);
  });

  test('that does not fit because of the names of its calls is shortened as well', () => {
    const outputs = [long('a', 9000), ...Array.from({ length: 40 }, () => 'done')];
    expect(compacted(outputs, 5500).dropped).toEqual([]);
    expect(compacted(outputs, 5500, 'Go.', 'r'.repeat(120)).dropped).toEqual(['input[2].output']);
  });

  const thought = 't'.repeat(9000);
  test.each([
    ['text', { content: [{ type: 'reasoning_text', text: thought }] }],
    ['summary', { summary: [thought, 'b'].map((text) => ({ type: 'summary_text', text })) }],
    ['envelope', { encrypted_content: encodeReasoningEnvelope({ t: thought }) }],
  ])('that does not fit because of its reasoning is shortened as well: a %s', (_kind, reasoning) => {
    const outputs = [long('a', 9000)];
    expect(compacted(outputs, 5500).dropped).toEqual([]);
    expect(compacted(outputs, 5500, 'Go.', 'read', [reasoning]).dropped).toContain('input[3].output');
  });

  test('whose messages alone are too long has those shortened too', () => {
    const { chat, dropped } = compacted(['short'], 4000, long('q', 60_000));
    expect(dropped).toEqual(['input[].content']);
    expect(String(chat.messages[0]?.content).length).toBeLessThan(2200);
    expect(chat.messages[0]?.role).toBe('user');
    expect(chat.messages.at(-1)?.content).toBe('Sum up.');
  });

  test('that cannot be made to fit keeps its calls, and what is short', () => {
    const { chat, texts, dropped } = compacted(['short', long('a', 9000)], 1100, long('q', 60_000));
    expect(texts.map((text) => text.length < 2200)).toEqual([true, true]);
    expect(texts[0]).toBe('short');
    expect(chat.messages.flatMap(({ tool_calls }) => tool_calls ?? [])).toHaveLength(2);
    expect(dropped).toEqual(['input[4].output', 'input[].content']);
  });

  test('leaves room for the summary, which takes a quarter of a small window at most', () => {
    expect(compacted(['x'], 2000).chat.max_tokens).toBe(500);
    expect(compacted(['x'], 100_000).chat.max_tokens).toBe(1000);
  });
});

/** An output of 3,000 tokens, where three bytes are one. */
const output = long('a', 8986);
const call = { type: 'function_call', call_id: 'c', name: 'read', arguments: '{}' };
const answered = [call, { type: 'function_call_output', call_id: 'c', output }];
const image = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' };
// Each message takes eight tokens more: with `Go.`, `read` and `{}` that is 3,028 here, 3 for the prompt, 1,000 for the summary.
test.each<[string, { readonly input?: readonly object[]; readonly instructions?: string }, number]>([
  ['texts and calls', {}, 4031],
  ['instructions', { instructions: 'x'.repeat(31) }, 4031 + 11],
  ['an image', { input: [{ role: 'user', content: [image] }] }, 4031 + 8 + 1500],
  ['a refusal', { input: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'Never!!' }] }] }, 4031 + 8 + 3],
])('%s are counted to the token', (_, { input = [], ...more }, tokens) => {
  const droppedIn = (contextWindow: number) => {
    const settings = createTestSettings({ compaction: { contextWindow, maxTokens: 1000 } });
    const items = [{ role: 'user', content: 'Go.' }, ...answered, ...input, { type: 'compaction_trigger' }];
    return translateRequest({ model: 'm', ...more, input: items }, settings, clock).dropped;
  };
  expect(droppedIn(tokens)).toEqual([]);
  expect(droppedIn(tokens - 1)).toEqual(['input[2].output']);
});

test.each([
  [null, 16_000],
  [4030, 1000],
])('in a window of %s tokens %d characters are kept at each end, and how many are left out is said', (window, kept) => {
  const text = Array.from({ length: 40_000 }, (_, index) => String(index % 7)).join('');
  expect(compacted([text], window).texts).toEqual([
    `${text.slice(0, kept)}\n[… ${40_000 - 2 * kept} characters left out …]\n${text.slice(-kept)}`,
  ]);
});

test('for a window that is not known each tool output is limited, wherever it stands', () => {
  const outputs = [long('a', 20_000), long('b', 40_000), long('c', 20_000)];
  const { texts, dropped } = compacted(outputs, null);
  expect(dropped).toEqual(['input[4].output']);
  expect(texts.map((text) => text.length < 33_000)).toEqual([true, true, true]);
  expect(texts[1]).toMatch(/b-end$/);
});

test('a text that would hardly become shorter is not cut', () => {
  const limit = 2 * 16_000 + 100;
  const { texts } = compacted(['x'.repeat(limit), 'y'.repeat(limit + 1)], null);
  expect(texts.map((text) => text.length < limit)).toEqual([false, true]);
});

test('a text is never cut inside a character of two halves', () => {
  const { texts } = compacted([`x${'😀'.repeat(30_000)}`], null);
  expect(texts[0]).not.toMatch(/\p{Surrogate}/u);
});

test('the default request asks for what an agent needs to go on', () => {
  for (const word of ['Goal', 'Decisions', 'Files', 'Open work', 'Identifiers'])
    expect(defaultCompactionPrompt).toContain(word);
});
