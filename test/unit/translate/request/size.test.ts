import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/schema/api-error.ts';
import { translateRequest } from '../../../../src/translate/request.ts';
import { createCountedIds } from '../../../support/context.ts';
import { growthOf, LINEAR_GROWTH } from '../../../support/growth.ts';
import { createTestSettings } from '../../../support/settings.ts';

const COUNT = 500;
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' });

/** Requests that grow in one direction each, from the indices of so many parts. */
type Shape = readonly [string, (range: readonly number[]) => object];

const shapes: readonly Shape[] = [
  [
    'messages',
    (range) => ({ input: range.map((index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'x' })) }),
  ],
  [
    'calls in one turn',
    (range) => ({ input: [...range.map((index) => call(`c${index}`)), ...range.map((index) => output(`c${index}`))] }),
  ],
  ['turns of one id', (range) => ({ input: range.flatMap(() => [call('call_0'), output('call_0')]) })],
  ['outputs of one call', (range) => ({ input: [call('c'), ...range.map(() => output('c'))] })],
  [
    'reasoning in one turn',
    (range) => ({
      input: [
        ...range.map(() => ({ type: 'reasoning', summary: [], content: [{ text: 'x' }] })),
        { role: 'user', content: 'x' },
      ],
    }),
  ],
  [
    'messages that wait for an output',
    (range) => ({ input: [call('c'), ...range.map(() => ({ role: 'user', content: 'x' })), output('c')] }),
  ],
  [
    'developer messages at the start',
    (range) => ({ input: [...range.map(() => ({ role: 'developer', content: 'x' })), { role: 'user', content: 'x' }] }),
  ],
  [
    'parts of one message',
    (range) => ({ input: [{ role: 'user', content: range.map(() => ({ type: 'input_text', text: 'x' })) }] }),
  ],
  [
    'images of one output',
    (range) => ({
      input: [
        call('c'),
        { ...output('c'), output: range.map(() => ({ type: 'input_image', image_url: 'https://x.test/a.png' })) },
      ],
    }),
  ],
  [
    'reasoning before a second text',
    (range) => ({
      input: [
        { role: 'assistant', content: 'x' },
        ...range.map(() => ({ type: 'reasoning', summary: [], content: [{ text: 'x' }] })),
        { role: 'assistant', content: 'x' },
      ],
    }),
  ],
  ['tools', (range) => ({ input: 'x', tools: range.map((index) => ({ type: 'function', name: `f${index}` })) })],
  ['fields', (range) => ({ input: 'x', ...Object.fromEntries(range.map((index) => [`f${index}`, index])) })],
];

/** Translates a shape of that size; the limits let it through. */
function growthFor(shape: Shape[1], check: (translate: () => unknown) => void): number {
  return growthOf(COUNT, (count) => {
    const body = { model: 'm', ...shape(Array.from({ length: count }, (_, index) => index)) };
    const settings = createTestSettings({ profile: 'sglang', limits: { maxItems: 10 * count, maxTools: count } });
    return () => check(() => translateRequest(body, settings, { now: () => 1, newId: createCountedIds() }));
  });
}

describe('the cost of a request grows with its size, not with the square of it', () => {
  it.each(shapes)('%s', (_name, shape) => {
    const growth = growthFor(shape, (translate) => expect(translate()).toHaveProperty('chat'));
    expect(growth).toBeLessThan(LINEAR_GROWTH);
  });
});

describe('a request that is wrong in many places', () => {
  const wrong: readonly Shape[] = [
    ['metadata', (range) => ({ metadata: Object.fromEntries(range.map((index) => [`k${index}`, index])), input: 'x' })],
    ['include', (range) => ({ include: range, input: 'x' })],
    ['reasoning', (range) => ({ input: [{ type: 'reasoning', content: range }] })],
    ['allowed tools', (range) => ({ input: 'x', tool_choice: { type: 'allowed_tools', tools: range } })],
    ['orphans', (range) => ({ input: range.map((index) => output(`c${index}`)) })],
  ];

  it.each(wrong)('is refused at a cost that grows with its size: %s', (_name, shape) => {
    const growth = growthFor(shape, (translate) => expect(translate).toThrow(ApiError));
    expect(growth).toBeLessThan(LINEAR_GROWTH);
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
