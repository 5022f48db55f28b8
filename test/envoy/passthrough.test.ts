import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { delta, done, eventStream } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

test('GET /v1/models passes as it is, headers and bytes', async () => {
  const body = '{ "object":"list",\n  "data":[ ] }';
  const headers = { 'content-type': 'application/json; charset=utf-8', etag: '"v1"', server: 'engine/1' };
  mesh.upstream.script('models', { headers, body: [body] });

  const response = await fetch(`${mesh.url}/v1/models?limit=2`, {
    headers: { 'x-test-script': 'models', 'accept-encoding': 'gzip', authorization: 'Bearer k' },
  });

  expect(await response.text()).toBe(body);
  expect(Object.fromEntries(response.headers)).toMatchObject(headers);
  const [request] = mesh.upstream.received('models');
  expect(request).toMatchObject({ method: 'GET', path: '/v1/models?limit=2' });
  expect(request?.headers).toMatchObject({ 'accept-encoding': 'gzip', authorization: 'Bearer k' });
});

test('what is not translated passes byte for byte in both directions, whatever the bytes', async () => {
  const sent = randomBytes(3_000_000);
  const answered = randomBytes(3_000_000);
  mesh.upstream.script('binary', { headers: { 'content-type': 'application/octet-stream' }, body: [answered] });

  const response = await fetch(`${mesh.url}/v1/chat/completions/bytes`, {
    method: 'POST',
    headers: { 'x-test-script': 'binary', 'content-type': 'application/octet-stream' },
    body: sent,
  });

  expect(Buffer.from(await response.arrayBuffer()).equals(answered)).toBe(true);
  expect(mesh.upstream.received('binary')[0]?.body.equals(sent)).toBe(true);
});

test('POST /v1/chat/completions streams through untranslated', async () => {
  const body = [delta({ content: 'Hi' }), done];
  mesh.upstream.script('chat', { headers: eventStream, body });

  const response = await fetch(`${mesh.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"model":"chat","stream":true}',
  });

  expect(await response.text()).toBe(body.join(''));
  expect(mesh.upstream.received('chat')[0]?.body.toString()).toBe('{"model":"chat","stream":true}');
});

test.each([
  ...['/v1/responsesx', '/v1/responses_log', '/other/v1/responses', '/'],
  // Base URLs without /v1, and with it twice.
  ...['/responses', '/v1/v1/responses', '/V1/Responses'],
])('%s is no path of the API, and reaches nobody; the error names the right one', async (path) => {
  mesh.upstream.script(path, { body: ['theirs'] });
  const response = await mesh.post({ model: 'x', input: 'y' }, { path, headers: { 'x-test-script': path } });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({
    error: {
      code: 'not_found',
      message: expect.stringContaining('The Responses API is at POST /v1/responses.'),
    },
  });
  expect(mesh.upstream.received(path)).toEqual([]);
});

test('OPTIONS on /v1/responses passes: a browser asks the upstream', async () => {
  mesh.upstream.script('preflight', { status: 204, headers: { 'access-control-allow-origin': '*' }, body: [] });
  const response = await fetch(`${mesh.url}/v1/responses`, {
    method: 'OPTIONS',
    headers: { 'x-test-script': 'preflight', 'access-control-request-method': 'POST' },
  });
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  expect(mesh.upstream.received('preflight')[0]).toMatchObject({ method: 'OPTIONS', path: '/v1/responses' });
});

test('HEAD on /v1/responses is a 405 without a body, and passes elsewhere', async () => {
  mesh.upstream.script('head', { headers: { 'content-type': 'application/json' }, body: [] });
  const ours = await fetch(`${mesh.url}/v1/responses`, { method: 'HEAD' });
  const theirs = await fetch(`${mesh.url}/v1/models`, { method: 'HEAD', headers: { 'x-test-script': 'head' } });
  expect([ours.status, ours.headers.get('allow'), await ours.text()]).toEqual([405, 'POST', '']);
  expect([theirs.status, mesh.upstream.received('head')[0]?.method]).toEqual([200, 'HEAD']);
});
