import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/schema/api-error.ts';
import { translateRequest } from '../../../../src/translate/request.ts';
import { createCountedIds } from '../../../support/context.ts';
import { createTestSettings } from '../../../support/settings.ts';

/** Shapes whose size grows in one direction each. At this size anything quadratic takes minutes. */
const count = 150_000;
const range = Array.from({ length: count }, (_, index) => index);
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' });

const shapes: readonly (readonly [string, object])[] = [
  ['messages', { input: range.map((index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'x' })) }],
  [
    'calls in one turn',
    { input: [...range.map((index) => call(`c${index}`)), ...range.map((index) => output(`c${index}`))] },
  ],
  ['turns of one id', { input: range.flatMap(() => [call('call_0'), output('call_0')]) }],
  ['outputs of one call', { input: [call('c'), ...range.map(() => output('c'))] }],
  [
    'reasoning in one turn',
    {
      input: [
        ...range.map(() => ({ type: 'reasoning', summary: [], content: [{ text: 'x' }] })),
        { role: 'user', content: 'x' },
      ],
    },
  ],
  [
    'messages that wait for an output',
    { input: [call('c'), ...range.map(() => ({ role: 'user', content: 'x' })), output('c')] },
  ],
  [
    'developer messages at the start',
    { input: [...range.map(() => ({ role: 'developer', content: 'x' })), { role: 'user', content: 'x' }] },
  ],
  [
    'parts of one message',
    { input: [{ role: 'user', content: range.map(() => ({ type: 'input_text', text: 'x' })) }] },
  ],
  [
    'images of one output',
    {
      input: [
        call('c'),
        { ...output('c'), output: range.map(() => ({ type: 'input_image', image_url: 'https://x.test/a.png' })) },
      ],
    },
  ],
  [
    'reasoning before a second text',
    {
      input: [
        { role: 'assistant', content: 'x' },
        ...range.map(() => ({ type: 'reasoning', summary: [], content: [{ text: 'x' }] })),
        { role: 'assistant', content: 'x' },
      ],
    },
  ],
  ['tools', { input: 'x', tools: range.map((index) => ({ type: 'function', name: `f${index}` })) }],
  ['fields', { input: 'x', ...Object.fromEntries(range.map((index) => [`f${index}`, index])) }],
];

describe(`the time for ${count}`, () => {
  it.each(shapes)('%s is not quadratic', (_name, body) => {
    const limits = { maxItems: 10 * count, maxTools: count };
    const settings = createTestSettings({ profile: 'sglang', limits });
    const startedAt = performance.now();
    translateRequest({ model: 'm', ...body }, settings, { now: () => 1, newId: createCountedIds() });
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });
});

describe('a request that is wrong in many places', () => {
  const wrong: readonly (readonly [string, object])[] = [
    ['metadata', { metadata: Object.fromEntries(range.map((index) => [`k${index}`, index])), input: 'x' }],
    ['include', { include: range, input: 'x' }],
    ['reasoning', { input: [{ type: 'reasoning', content: range }] }],
    ['allowed tools', { input: 'x', tool_choice: { type: 'allowed_tools', tools: range } }],
    ['orphans', { input: range.map((index) => output(`c${index}`)) }],
  ];

  it.each(wrong)('is refused as fast: %s', (_name, body) => {
    const settings = createTestSettings({ limits: { maxItems: 10 * count } });
    const startedAt = performance.now();
    const translate = () =>
      translateRequest({ model: 'm', ...body }, settings, { now: () => 1, newId: createCountedIds() });
    expect(translate).toThrow(ApiError);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  const long = 'x'.repeat(1_000_000);
  it.each<readonly [string, object]>([
    ['a field', { [long]: 1 }],
    ['a role', { input: [{ role: long, content: 'x' }] }],
    ['an item’s type', { input: [{ type: long }] }],
    ['a vendor’s type', { input: [{ type: `a:${long}` }] }],
    ['a part’s type', { input: [{ role: 'user', content: [{ type: long }] }] }],
    ['a tool’s type', { tools: [{ type: long }] }],
    ['a tool’s name', { tools: [{ type: 'function', name: long }] }],
    ['a call’s id', { input: [output(long)] }],
    ['a reference’s id', { input: [{ type: 'item_reference', id: long }] }],
    ['a choice', { tool_choice: long }],
    ['a choice’s name', { tool_choice: { type: 'function', name: long } }],
    ['a choice’s type', { tool_choice: { type: long } }],
    ['an effort', { reasoning: { effort: long } }],
    ['an include', { include: [long] }],
    ['a key of metadata', { metadata: { [long]: 'x' } }],
    ['a previous response', { previous_response_id: long }],
    ['a form', { text: { format: { type: long } } }],
    ['a file’s type', { input: [{ role: 'user', content: [{ type: 'input_file', file_data: `data:${long},` }] }] }],
  ])('is not repeated at length in the error: %s', (_name, body) => {
    const settings = createTestSettings({ unknownFields: 'reject' });
    try {
      translateRequest({ model: 'm', input: 'x', ...body }, settings, { now: () => 1, newId: createCountedIds() });
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ApiError);
      expect((thrown as ApiError).toJson().length).toBeLessThan(1_000);
      return;
    }
    throw new Error('nothing was thrown');
  });

  it('names what it leaves out at no length, and in letters a header can hold', () => {
    const settings = createTestSettings({ unknownFields: 'ignore' });
    const clock = { now: () => 1, newId: createCountedIds() };
    const { dropped } = translateRequest({ model: 'm', input: 'x', 'a\r\nb, ü': 1, [long]: 1 }, settings, clock);
    expect(dropped).toEqual(['a??b???', long.slice(0, 100)]);
  });
});
