import { expect, test } from 'vitest';
import { StreamTranslator } from '../../../../../../src/filter/translate/chat-to-response/stream.ts';
import { createTestContext } from '../../../../../support/context.ts';

const call = (index: number, fields: object) => ({
  choices: [{ index: 0, delta: { tool_calls: [{ index, ...fields }] } }],
});

test('events that wait for an earlier call are counted while they wait, and no longer', () => {
  const text = JSON.stringify({ text: 'x'.repeat(100_000) });
  const translator = new StreamTranslator(createTestContext({ toolNames: ['f', 'g'] }));
  translator.push(call(0, { id: 'a', function: { name: 'f', arguments: '{' } }));
  translator.push(call(1, { id: 'b', function: { name: 'g', arguments: '' } }));
  const before = translator.holds();
  expect(translator.push(call(1, { function: { arguments: text } }))).toEqual([]);
  // The arguments, which the terminal event repeats, and the event that waits with them.
  const waiting = translator.holds() - before;
  expect(waiting).toBeGreaterThan(200_000);
  const types = translator.push(call(0, { function: { arguments: '}' } })).map(({ type }) => type);
  expect(types.filter((type) => type === 'response.output_item.added')).toHaveLength(1);
  // Once more only: what is said when the call is done.
  expect(translator.holds() - before).toBeLessThan(waiting - 90_000);
});

test('calls are counted, also of nothing but an index', () => {
  const translator = new StreamTranslator(createTestContext());
  for (let index = 0; index < 1000; index += 1) translator.push(call(index, {}));
  expect(translator.holds()).toBeGreaterThan(300_000);
});

test.each(['function', 'custom'] as const)('deltas of a %s call that waits become one', (kind) => {
  const restoredTools = { g: { kind, name: 'g' } };
  const translator = new StreamTranslator(createTestContext({ toolNames: ['f'], restoredTools }));
  translator.push(call(0, { id: 'a', function: { name: 'f', arguments: '{' } }));
  translator.push(call(1, { id: 'b', function: { name: 'g', arguments: '{"input":"a' } }));
  translator.push(call(1, { function: { arguments: 'b' } }));
  translator.push(call(1, { function: { arguments: 'c' } }));
  const events = translator.push(call(0, { function: { arguments: '}' } }));
  const deltas = events.filter((event) => 'delta' in event && event.output_index === 1);
  expect(deltas).toMatchObject([{ delta: kind === 'custom' ? 'abc' : '{"input":"abc' }]);
});
