import { expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/** Every value of the API's enumerations, by the field it stands in. */
const accepted: Readonly<Record<string, readonly [values: readonly string[], bodyOf: (value: string) => object]>> = {
  role: [['user', 'assistant', 'system', 'developer'], (role) => ({ input: [{ role, content: 'x' }] })],
  detail: [
    ['low', 'high', 'auto', 'original'],
    (detail) => ({
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x.test/a.png', detail }] }],
    }),
  ],
  'part type': [
    ['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'],
    (type) => ({ input: [{ role: 'user', content: [{ type, text: 'x' }] }] }),
  ],
  truncation: [['auto', 'disabled'], (truncation) => ({ truncation })],
  service_tier: [
    ['auto', 'default', 'flex', 'priority', 'scale', 'fast', 'ultrafast', 'standard'],
    (service_tier) => ({ service_tier }),
  ],
  'text.verbosity': [['low', 'medium', 'high'], (verbosity) => ({ text: { verbosity } })],
  'text.format.type': [['text', 'json_object'], (type) => ({ text: { format: { type } } })],
  'reasoning.effort': [
    ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    (effort) => ({ reasoning: { effort } }),
  ],
  'reasoning.summary': [['auto', 'concise', 'detailed'], (summary) => ({ reasoning: { summary } })],
  'reasoning.generate_summary': [
    ['auto', 'concise', 'detailed'],
    (generate_summary) => ({ reasoning: { generate_summary } }),
  ],
  tool_choice: [
    ['auto', 'none', 'required'],
    (tool_choice) => ({ tool_choice, tools: [{ type: 'function', name: 'f' }] }),
  ],
};
const cases = Object.entries(accepted).flatMap(([field, [values, bodyOf]]) =>
  values.map((value) => [field, value, bodyOf(value)] as const),
);

it.each(cases)('%s takes %s', (_field, _value, body) => {
  const clock = { now: () => 1, newId: createCountedIds() };
  const { chat } = translateRequest({ model: 'm', input: 'x', ...body }, createTestSettings(), clock);
  expect(chat.messages).toHaveLength(1);
});

/** Parts by the roles that may not have them. */
const misplaced = ['input_image', 'input_file', 'input_video'].flatMap((type) =>
  ['system', 'developer', 'assistant'].map((role) => [type, role] as const),
);

it.each([
  ...misplaced,
  ...['system', 'developer', 'assistant'].map((role) => ['input_audio', role] as const),
  ...['system', 'developer', 'user'].map((role) => ['refusal', role] as const),
])('a part of type %s is refused in a message of role %s', (type, role) => {
  const clock = { now: () => 1, newId: createCountedIds() };
  const input = [{ role, content: [{ type }] }];
  expect(() => translateRequest({ model: 'm', input }, createTestSettings(), clock)).toThrow(
    expect.objectContaining({ code: 'invalid_value', param: 'input[0].content[0].type' }),
  );
});
