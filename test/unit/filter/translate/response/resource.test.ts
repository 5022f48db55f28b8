import { expect, it } from 'vitest';
import { resourceOf } from '../../../../../src/filter/translate/response/resource.ts';
import { StreamTranslator } from '../../../../../src/filter/translate/stream.ts';
import { createdAt, createTestContext } from '../../../../support/context.ts';

const state = {
  id: 'resp_1',
  output: [],
  usage: null,
  model: null,
  serviceTier: null,
  error: null,
  incompleteReason: null,
  extensions: null,
} as const;
const at = (now: number) => ({ ...createTestContext(), now: () => now });

it('is complete when it ends, and never before it was created: clocks are set back', () => {
  const completedAt = (now: number) => resourceOf(at(now), { ...state, status: 'completed' }).completed_at;
  expect(completedAt(createdAt + 7)).toBe(createdAt + 7);
  expect(completedAt(createdAt - 3600)).toBe(createdAt);
});

it('has no time of completion unless it is complete', () => {
  for (const status of ['in_progress', 'incomplete', 'failed'] as const)
    expect(resourceOf(at(createdAt + 7), { ...state, status }).completed_at).toBeNull();
});

it('a stream that outlives a clock set back is completed when it was created', () => {
  const translator = new StreamTranslator(at(createdAt - 1));
  translator.push({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] });
  expect(translator.finish('done').at(-1)).toMatchObject({
    response: { created_at: createdAt, completed_at: createdAt },
  });
});

it('names the upstream’s model and tier where it gave them', () => {
  const resource = resourceOf(at(createdAt), { ...state, status: 'completed', model: 'real', serviceTier: 'flex' });
  expect(resource).toMatchObject({ model: 'real', service_tier: 'flex' });
  const unnamed = resourceOf(at(createdAt), { ...state, status: 'completed', model: '', serviceTier: '' });
  expect(unnamed).toMatchObject({ model: 'test-model', service_tier: 'default' });
});
