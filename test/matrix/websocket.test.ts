import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { delta, done, eventStream, finish, usage } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import { envoyVersions } from './versions.ts';

/** What Envoy does with an upgrade: its match, the filter that is off, its timeouts, a reset that reaches the upstream. */
describe.each([...envoyVersions])('WebSockets through Envoy %s', (_version, install) => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh({
      envoy: install(),
      webSocket: true,
      edit(config) {
        const manager = config.static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
        manager['request_timeout'] = '1s';
        const { routes } = manager.route_config.virtual_hosts[0];
        const route = routes.find(({ name }) => name === 'websocket');
        if (route !== undefined) route.route['timeout'] = '1s';
      },
    });
  });
  afterAll(() => mesh.close());
  const open = () => openWebSocket(`${mesh.url}/v1/responses`);

  test('a turn, its continuation, and an end only when the client wants it', async () => {
    mesh.upstream.script('chain', {
      headers: eventStream,
      body: [delta({ content: 'Hello' }), finish('stop'), usage(3, 2), done],
    });
    const client = await open();
    const first = (await client.turn({ model: 'chain', input: 'Hi' })).at(-1);
    expect(first?.type).toBe('response.completed');
    await new Promise((resolve) => setTimeout(resolve, 2500)); // both timeouts are 1 s here
    const next = await client.turn({ model: 'chain', previous_response_id: first?.response?.id, input: 'And?' });
    expect(next.at(-1)?.type).toBe('response.completed');
    expect(mesh.upstream.received('chain').at(-1)?.json().messages).toHaveLength(3);
    await client.close();
  });

  test('a client that disconnects ends its turn at the upstream', async () => {
    mesh.upstream.script('endless', {
      headers: eventStream,
      body: (function* () {
        for (;;) {
          yield delta({ content: 'x' });
          yield 20;
        }
      })(),
    });
    const client = await open();
    client.send({ type: 'response.create', model: 'endless', input: 'Hi' });
    await client.message(({ type }) => type === 'response.output_text.delta');
    client.socket.terminate();
    expect(await mesh.upstream.received('endless')[0]?.over).toBe(false);
  });

  test('a refusal of the translation is a message, with its status', async () => {
    const client = await open();
    expect(await client.turn({ model: 'm', store: true, input: 'Hi' })).toMatchObject([
      { type: 'error', status: 400, error: { code: 'unsupported_value', param: 'store' } },
    ]);
    await client.close();
  });
});
