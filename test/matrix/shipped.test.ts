import { spawnSync } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../mesh/processes.ts';
import { addDeadCluster } from '../support/envoy-clusters.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, eventStream, finish } from '../support/upstream.ts';
import { envoyVersions } from './versions.ts';

/** What Envoy itself decides, and may decide otherwise in the next version. */
describe.each([...envoyVersions])('Envoy %s on the shipped configuration', (version, install) => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh({
      envoy: install(),
      edit(config) {
        addDeadCluster(config);
        const { routes } = findConnectionManager(config).route_config.virtual_hosts[0];
        const shipped = findEnvoyRoute(config, 'responses');
        for (const [prefix, route] of Object.entries({ '/dead/': { cluster: 'dead' }, '/short/': { timeout: '0.3s' } }))
          routes.unshift({ ...shipped, match: { prefix }, route: { ...shipped.route, ...route } });
      },
    });
  });
  afterAll(() => mesh.close());

  test('it is valid, and no setting is deprecated', () => {
    const { stderr, status } = spawnSync(install().path, ['--mode', 'validate', '-c', shippedEnvoyConfig], {
      encoding: 'utf8',
    });
    expect(stderr).not.toMatch(/deprecated|\[(warning|error|critical)\]/i);
    expect(status).toBe(0);
  });

  test.each([false, true])('connection refused is a 503 in the API’s form (stream: %s)', async (stream) => {
    const answer = await mesh.post({ model: 'm', input: 'Hi', stream }, { path: '/dead/v1/responses' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
  });

  test('an error of Envoy’s own costs no tokens where Envoy shows it to the service', async () => {
    const headers = { 'x-request-id': 'refused' };
    await (await mesh.post({ model: 'm', input: 'Hi' }, { path: '/dead/v1/responses', headers })).text();
    const { tokens_from } = await mesh.accessLog(({ request_id }) => request_id === 'refused');
    expect(tokens_from).toBe(version.startsWith('1.36.') ? 'estimate' : 'none');
  });

  test('a route timeout is a 504 in the API’s form', async () => {
    mesh.upstream.script('silent', { body: [60_000] });
    const answer = await mesh.post({ model: 'silent', input: 'Hi' }, { path: '/short/v1/responses' });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_timeout' } });
  });

  test('a body over Envoy’s limit is a 413 in the API’s form', async () => {
    const answer = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }; // no length: only Envoy can find out
      const request = httpRequest(`${mesh.url}/v1/responses`, { method: 'POST', headers }, async (response) => {
        let body = '';
        for await (const piece of response) body += piece;
        resolve({ status: response.statusCode, body });
      });
      request.once('error', reject);
      for (let index = 0; index < 66; index += 1) request.write(Buffer.alloc(1024 * 1024, 'a'));
      request.end();
    });
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { type: 'invalid_request', code: 'request_too_large' } });
  });

  test('a WebSocket upgrade is a 426', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      };
      httpRequest(`${mesh.url}/v1/responses`, { headers }, (response) => resolve(response.statusCode))
        .once('error', reject)
        .end();
    });
    expect(status).toBe(426);
  });

  test.each([false, true])('model and tokens are in the access log (stream: %s)', async (stream) => {
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}\n\n';
    mesh.upstream.script('counted', { headers: eventStream, body: [delta({ content: 'Hi' }), finish('stop'), usage] });
    const id = `counted-${stream}`;
    const answer = await mesh.post({ model: 'counted', input: 'Hi', stream }, { headers: { 'x-request-id': id } });
    await answer.text();
    const line = await mesh.accessLog(({ request_id }) => request_id === id);
    expect(line).toMatchObject({ outcome: 'completed', model: 'counted', input_tokens: 11, output_tokens: 7 });
  });

  test('2,000 short requests over a few connections all succeed', async () => {
    mesh.upstream.script('short', { body: [completion({ content: 'Hi' })] });
    const statuses = new Set<number>();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let index = 0; index < 250; index += 1) {
          const answer = await mesh.post({ model: 'short', input: 'Hi' });
          await answer.arrayBuffer();
          statuses.add(answer.status);
        }
      }),
    );
    expect([...statuses]).toEqual([200]);
  });

  test('while the service is down nothing passes untranslated', async () => {
    mesh.upstream.script('down', { body: [completion({ content: 'Never.' })] });
    await mesh.service.kill();
    const answer = await mesh.post({ model: 'down', input: 'Hi' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
    expect(mesh.upstream.received('down')).toEqual([]);
  });
});
