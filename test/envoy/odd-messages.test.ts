import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

test('JSON becomes a stream for a client that asked for one', async () => {
  mesh.upstream.script('json', { body: [completion({ content: 'All at once.' })] });
  const response = await mesh.client.responses.stream({ model: 'json', input: 'Hi' }).finalResponse();
  expect(response).toMatchObject({ status: 'completed', output_text: 'All at once.' });
});

test('a stream becomes JSON for a client that did not ask for one', async () => {
  const body = [delta({ content: 'Bit ' }), delta({ content: 'by bit.' }), finish('stop'), done];
  mesh.upstream.script('stream', { headers: eventStream, body });
  const response = await mesh.client.responses.create({ model: 'stream', input: 'Hi' });
  expect(response).toMatchObject({ status: 'completed', output_text: 'Bit by bit.' });
});

test('a stream that ends too soon is an error to a client that asked for JSON', async () => {
  mesh.upstream.script('short', { headers: eventStream, body: [delta({ content: 'Once upon' })] });
  const answer = await mesh.post({ model: 'short', input: 'Hi' });
  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({ error: { code: 'upstream_stream_truncated' } });
});

test.each([false, true])('a compressed error is read (stream: %s)', async (stream) => {
  const body = gzipSync('{"error":{"message":"The model `m` does not exist"}}');
  mesh.upstream.script('gzip', { status: 404, headers: { 'content-encoding': 'gzip' }, body: [body] });
  const answer = await mesh.post({ model: 'gzip', input: 'Hi', stream });
  expect(answer.status).toBe(404);
  expect(answer.headers.get('content-encoding')).toBeNull();
  expect(await answer.json()).toMatchObject({ error: { code: 'model_not_found' } });
});

test.each([520, 529, 599])('an error status that no standard knows is one the API has: %i', async (status) => {
  mesh.upstream.script('odd', { status });
  const answer = await mesh.post({ model: 'odd', input: 'Hi' });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(await answer.json()).toMatchObject({ error: { type: 'server_error' } });
});

test('where a redirect leads stays inside', async () => {
  mesh.upstream.script('moved', { status: 307, headers: { location: 'http://10.0.0.1/' } });
  const answer = await mesh.post({ model: 'moved', input: 'Hi' }, { redirect: 'manual' });
  expect(answer.status).toBe(502);
  expect(answer.headers.has('location')).toBe(false);
});

test('GET /v1/responses, the list of what is stored, is a 404 that says so', async () => {
  const answer = await fetch(`${mesh.url}/v1/responses`);
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('not stored here') } });
});

test.each(['PUT', 'DELETE'])('%s /v1/responses is a 405 that names the method', async (method) => {
  const answer = await fetch(`${mesh.url}/v1/responses`, { method });
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('POST');
  expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
});

test.each(['', '{}', '[]', 'null', '"text"'])('a body that is not a request is a 400: %j', async (body) => {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${mesh.url}/v1/responses`, { method: 'POST', headers, body });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request' } });
});

test('a compressed request is read, one of another type is refused', async () => {
  mesh.upstream.script('packed', { body: [completion({ content: 'Unpacked.' })] });
  const send = (headers: Record<string, string>) => {
    const body = gzipSync('{"model":"packed","input":"Hi"}');
    return fetch(`${mesh.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-encoding': 'gzip', ...headers },
      body,
    });
  };
  expect((await send({ 'content-type': 'application/json' })).status).toBe(200);
  expect(mesh.upstream.received('packed')[0]?.headers['content-encoding']).toBeUndefined();
  expect((await send({ 'content-type': 'text/plain' })).status).toBe(415);
});
