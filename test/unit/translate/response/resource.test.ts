import { expect, it } from 'vitest';
import { resourceOf } from '../../../../src/translate/response/resource.ts';
import { StreamTranslator } from '../../../../src/translate/stream.ts';
import { CREATED_AT, createTestContext } from '../../../support/context.ts';

const state = {
  id: 'resp_1',
  output: [],
  usage: null,
  model: null,
  serviceTier: null,
  error: null,
  incompleteReason: null,
} as const;
const at = (now: number) => ({ ...createTestContext(), now: () => now });

it('is complete when it ends, and never before it was created: clocks are set back', () => {
  const completedAt = (now: number) => resourceOf(at(now), { ...state, status: 'completed' }).completed_at;
  expect(completedAt(CREATED_AT + 7)).toBe(CREATED_AT + 7);
  expect(completedAt(CREATED_AT - 3600)).toBe(CREATED_AT);
});

it('has no time of completion unless it is complete', () => {
  for (const status of ['in_progress', 'incomplete', 'failed'] as const)
    expect(resourceOf(at(CREATED_AT + 7), { ...state, status }).completed_at).toBeNull();
});

it('a stream that outlives a clock set back is completed when it was created', () => {
  const translator = new StreamTranslator(at(CREATED_AT - 1));
  translator.push({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] });
  expect(translator.finish('done').at(-1)).toMatchObject({
    response: { created_at: CREATED_AT, completed_at: CREATED_AT },
  });
});

it('names the upstream’s model and tier where it gave them', () => {
  const resource = resourceOf(at(CREATED_AT), { ...state, status: 'completed', model: 'real', serviceTier: 'flex' });
  expect(resource).toMatchObject({ model: 'real', service_tier: 'flex' });
  const unnamed = resourceOf(at(CREATED_AT), { ...state, status: 'completed', model: '', serviceTier: '' });
  expect(unnamed).toMatchObject({ model: 'test-model', service_tier: 'default' });
});
