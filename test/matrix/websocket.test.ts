import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestMesh } from '../support/mesh.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import { expectEndAtUpstream, outlastTimeouts, says, startWebSocketMesh } from '../support/websocket-mesh.ts';
import { envoyVersions } from './versions.ts';

/** What Envoy does with an upgrade: its match, the filter that is off, its timeouts, a reset that reaches the upstream. */
describe.each([...envoyVersions])('WebSockets through Envoy %s', (_version, install) => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startWebSocketMesh({ envoy: install() });
  });
  afterAll(() => mesh.close());
  const open = () => openWebSocket(`${mesh.url}/v1/responses`);

  test('a turn, its continuation, and an end only when the client wants it', async () => {
    mesh.upstream.script('chain', says('Hello'));
    const client = await open();
    const first = (await client.turn({ model: 'chain', input: 'Hi' })).at(-1);
    expect(first?.type).toBe('response.completed');
    await outlastTimeouts(mesh);
    const next = await client.turn({ model: 'chain', previous_response_id: first?.response?.id, input: 'And?' });
    expect(next.at(-1)?.type).toBe('response.completed');
    expect(mesh.upstream.received('chain').at(-1)?.json().messages).toHaveLength(3);
    await client.close();
  });

  test('a client that disconnects ends its turn at the upstream', async () => {
    await expectEndAtUpstream(mesh, await open());
  });

  test('a refusal of the translation is a message, with its status', async () => {
    const client = await open();
    expect(await client.turn({ model: 'm', store: true, input: 'Hi' })).toMatchObject([
      { type: 'error', status: 400, error: { code: 'unsupported_value', param: 'store' } },
    ]);
    await client.close();
  });
});
