import { expect, test } from 'vitest';
import { startTestMesh } from '../support/mesh.ts';
import { delta, done, eventStream, finish } from '../support/upstream.ts';

test('a stream outlives Envoy’s default timeout of 15 s, with silence as long', async () => {
  const mesh = await startTestMesh();
  try {
    mesh.upstream.script('long', {
      headers: eventStream,
      body: [delta({ content: 'Wait' }), 18_000, delta({ content: ' for it.' }), finish('stop'), done],
    });
    const response = await mesh.client.responses.stream({ model: 'long', input: 'Hi' }).finalResponse();
    expect(response).toMatchObject({ status: 'completed', output_text: 'Wait for it.' });
    expect(mesh.upstream.received('long')).toHaveLength(1);
  } finally {
    await mesh.close();
  }
});
