import { expect, it } from 'vitest';
import { StreamTranslator } from '../../../../../../src/filter/translate/chat-to-response/stream.ts';
import type { ResponseResource } from '../../../../../../src/filter/wire/schema/response-resource.ts';
import { createdAt, createTestContext } from '../../../../../support/context.ts';

const at = (now: number) => ({ ...createTestContext(), now: () => now });

/** The Response of a stream of one chunk, by the time at which it ends. */
function responseAt(now: number, finish_reason = 'stop', fields: object = {}): ResponseResource | null {
  const translator = new StreamTranslator(at(now));
  translator.push({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason }], ...fields });
  translator.finish('done');
  return translator.response.final;
}

it('is complete when it ends, and never before it was created: clocks are set back', () => {
  expect(responseAt(createdAt + 7)?.completed_at).toBe(createdAt + 7);
  expect(responseAt(createdAt - 3600)).toMatchObject({ created_at: createdAt, completed_at: createdAt });
});

it('has no time of completion unless it is complete', () => {
  expect(responseAt(createdAt + 7, 'length')).toMatchObject({ status: 'incomplete', completed_at: null });
  expect(responseAt(createdAt + 7, 'error')).toMatchObject({ status: 'failed', completed_at: null });
  const [created] = new StreamTranslator(at(createdAt + 7)).start();
  expect(created).toMatchObject({ response: { status: 'in_progress', completed_at: null } });
});

it('names the upstream’s model and tier where it gave them', () => {
  const given = { model: 'real', service_tier: 'flex' };
  expect(responseAt(createdAt, 'stop', given)).toMatchObject(given);
  const unnamed = responseAt(createdAt, 'stop', { model: '', service_tier: '' });
  expect(unnamed).toMatchObject({ model: 'test-model', service_tier: 'default' });
});
