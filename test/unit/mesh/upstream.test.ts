import { afterAll, expect, test } from 'vitest';
import { startEmbeddedUpstream } from '../../../tools/mesh/upstream.ts';

const upstream = await startEmbeddedUpstream();
afterAll(() => upstream.close());

test('the embedded upstream says what is wrong with messages that are no list', async () => {
  const body = JSON.stringify({ model: 'demo', messages: 'hello' });
  const response = await fetch(`http://127.0.0.1:${upstream.port}/v1/chat/completions`, { method: 'POST', body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: 'messages must be an array.' } });
});
