import { expect, test } from 'vitest';
import { buildAddress, type EnvoyConfig, findCluster } from '../../mesh/envoy-config.ts';
import { startTestMesh } from '../support/mesh.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import { says } from '../support/websocket-mesh.ts';

/** Has the upstream's address lead to another Envoy, or to this one. */
function leadTo(config: EnvoyConfig, port = config.static_resources.listeners[0].address.socket_address.port_value) {
  const [{ lb_endpoints: endpoints }] = findCluster(config, 'chat').load_assignment.endpoints;
  endpoints[0].endpoint.address = buildAddress({ host: '127.0.0.1', port });
}

test('an upstream whose address leads back gets each request three times, and the client a 508 that says so', async () => {
  const mesh = await startTestMesh({ edit: leadTo, webSocket: true });
  const error = {
    type: 'server_error',
    code: 'loop_detected',
    message: expect.stringMatching(/is the gateway itself/),
  };
  const json = { 'content-type': 'application/json' };
  const chat = { method: 'POST', body: '{"model":"m","messages":[]}', headers: json };
  const answers = [
    await mesh.post({ model: 'm', input: 'Hi' }),
    await mesh.post({ model: 'm', input: 'Hi', stream: true }),
    await fetch(`${mesh.url}/v1/chat/completions`, chat),
    await fetch(`${mesh.url}/v1/models`, { headers: { 'x-request-id': 'round-and-round' } }),
  ];
  for (const answer of answers) {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([508, 'application/json']);
    expect(await answer.json()).toMatchObject({ error });
  }
  const socket = await openWebSocket(`${mesh.url}/v1/responses`);
  expect((await socket.turn({ model: 'm', input: 'Hi' })).at(-1)).toMatchObject({ status: 508, error });
  await socket.close();
  const passes: unknown[] = [];
  // The outermost pass ends last.
  await mesh.accessLog((line) => {
    if (line['request_id'] === 'round-and-round') passes.push(line['route']);
    return passes.length === 4;
  });
  expect(passes).toEqual(['loop', 'untouched_models', 'untouched_models', 'untouched_models']);
  await mesh.close();
});

test('gateways may follow one another, a WebSocket included', async () => {
  const second = await startTestMesh();
  const first = await startTestMesh({
    edit: (config) => leadTo(config, Number(new URL(second.url).port)),
    webSocket: true,
  });
  second.upstream.script('m', says('Hello'));
  const socket = await openWebSocket(`${first.url}/v1/responses`, { 'cdn-loop': 'a-cdn; loops=1' });
  expect((await socket.turn({ model: 'm', input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
  expect(second.upstream.received('m')[0]?.headers['cdn-loop']).toBe(
    'a-cdn; loops=1,responses-extproc,responses-extproc,responses-extproc',
  );
  await socket.close();
  await Promise.all([first.close(), second.close()]);
});
