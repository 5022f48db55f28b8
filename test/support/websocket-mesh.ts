import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { startTestMesh, type TestMesh, type TestMeshOptions } from './mesh.ts';
import { delta, done, eventStream, finish, type Script, usage } from './upstream.ts';
import type { WebSocketClient } from './websocket-client.ts';

/** Envoy's time-outs for requests that do not end and for the route of upgrades; neither applies to a WebSocket. */
const requestSeconds = 5;

/** A mesh that accepts WebSockets, with short time-outs for requests. */
export function startWebSocketMesh(
  options: Pick<TestMeshOptions, 'envoy' | 'environment' | 'edit'> = {},
): Promise<TestMesh> {
  return startTestMesh({
    ...options,
    webSocket: true,
    edit(config) {
      const manager = config.static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
      manager['request_timeout'] = `${requestSeconds}s`;
      // Nothing may wait for it.
      manager['delayed_close_timeout'] = '600s';
      const { routes } = manager.route_config.virtual_hosts[0];
      const route = routes.find(({ name }) => name === 'websocket');
      if (route === undefined) throw new Error('the configuration has no route for WebSockets');
      route.route['timeout'] = `${requestSeconds}s`;
      options.edit?.(config);
    },
  });
}

/** Resolves when those time-outs have passed for whatever is running: Envoy has ended a request that began after it. */
export async function outlastTimeouts({ url }: TestMesh): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n');
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /);
}

/** An upstream that streams these pieces of text. */
export function says(...pieces: readonly string[]): Script {
  const deltas = pieces.map((content) => delta({ content }));
  return {
    headers: eventStream,
    body: [delta({ role: 'assistant', content: '' }), ...deltas, finish('stop'), usage(3, 2), done],
  };
}

/** The client of an answer without end disconnects in the middle of it, and the upstream notices. */
export async function expectEndAtUpstream(mesh: TestMesh, client: WebSocketClient): Promise<void> {
  mesh.upstream.script('endless', {
    headers: eventStream,
    body: (function* () {
      for (;;) {
        yield delta({ content: 'x' });
        yield 20;
      }
    })(),
  });
  client.send({ type: 'response.create', model: 'endless', input: 'Hi' });
  await client.message(({ type }) => type === 'response.output_text.delta');
  client.socket.terminate();
  expect(await mesh.upstream.received('endless')[0]?.over).toBe(false);
}
