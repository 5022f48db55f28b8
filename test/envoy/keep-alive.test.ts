import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

/** Sends on a connection that is kept; gives the status, whether Envoy closes it, and the port it came from. */
function send(mesh: TestMesh, agent: Agent, fields: object): Promise<[status: number, closes: boolean, port: number]> {
  const headers = { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${mesh.url}/v1/responses`, { method: 'POST', headers, agent });
    request.once('response', (response: IncomingMessage) => {
      const port = response.socket.localPort ?? 0;
      response.resume().once('end', () => {
        resolve([response.statusCode ?? 0, response.headers.connection === 'close', port]);
      });
    });
    request.once('error', reject).end(JSON.stringify({ model: 'm', input: 'Hi', ...fields }));
  });
}

describe('a client that keeps its HTTP/1.1 connection', () => {
  let mesh: TestMesh;
  let permissive: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh();
    permissive = await startTestMesh({
      edit(config) {
        const [manager] = config.static_resources.listeners[0].filter_chains[0].filters;
        Object.assign(manager.typed_config, { stream_error_on_invalid_http_message: true });
      },
    });
    for (const { upstream } of [mesh, permissive]) {
      upstream.script('m', { body: [completion({ content: 'Hi' })] });
      upstream.script('wrong', { status: 400, body: ['{"error":{"message":"no"}}'] });
    }
  });
  afterAll(() => Promise.all([mesh.close(), permissive.close()]));

  test('keeps it over answers and the upstream’s errors, and is told that a 400 of ours closes it', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const [first, error, refused, next] = [
      await send(mesh, agent, {}),
      await send(mesh, agent, { model: 'wrong' }),
      await send(mesh, agent, { store: true }),
      await send(mesh, agent, {}),
    ];
    agent.destroy();
    expect([first, error, refused, next].map(([status, closes]) => [status, closes])).toEqual([
      [200, false],
      [400, false],
      [400, true],
      [200, false],
    ]);
    expect(error[2]).toBe(first[2]);
    expect(next[2]).not.toBe(first[2]);
  });

  test('keeps it over refusals too with stream_error_on_invalid_http_message', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number>();
    for (const fields of [{}, { store: true }, { model: 7 }, {}]) {
      const [, closes, port] = await send(permissive, agent, fields);
      expect(closes).toBe(false);
      ports.add(port);
    }
    agent.destroy();
    expect(ports.size).toBe(1);
  });
});
