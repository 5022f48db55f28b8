import { connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import type { BodyMode } from '../../src/filter/exchange/types.ts';
import { startTestMesh, type TestMesh, type TestMeshOptions } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';

const checksum = { 'x-checksum': 'abc' };
const meshes: TestMesh[] = [];
afterAll(() => Promise.all(meshes.map((mesh) => mesh.close())));

interface Changes extends Pick<TestMeshOptions, 'edit' | 'environment' | 'http2Upstream'> {
  readonly trailers?: 'SEND' | 'SKIP';
}

/** What docs/body-modes.md says is lost where the modes are not the shipped ones. */
async function startMesh(request: BodyMode, response: BodyMode, { trailers = 'SKIP', edit, ...more }: Changes) {
  const mesh = await startTestMesh({
    ...more,
    edit(config) {
      const mode = findConnectionManager(config).http_filters[0].typed_config.processing_mode;
      mode['request_body_mode'] = request;
      mode['response_body_mode'] = response;
      mode['request_trailer_mode'] = trailers;
      mode['response_trailer_mode'] = response === 'FULL_DUPLEX_STREAMED' ? 'SEND' : trailers;
      edit?.(config);
    },
  });
  meshes.push(mesh);
  return mesh;
}

/** Over HTTP/2, with trailers behind the body. */
async function sendWithTrailers(mesh: TestMesh, fields: object): Promise<{ status: number; text: string }> {
  const session = connect(mesh.url);
  const headers = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
  const call = session.request(headers, { waitForTrailers: true });
  call.on('wantTrailers', () => call.sendTrailers(checksum));
  let status = 0;
  call.on('response', (given) => {
    status = Number(given[':status']);
  });
  call.end(JSON.stringify(fields));
  let text = '';
  for await (const bytes of call) text += bytes;
  session.close();
  return { status, text };
}

const codeOf = (text: string): unknown => JSON.parse(text).error.code;

describe('response body mode BUFFERED', () => {
  test.each([
    ['of the route', true, 200],
    ['of the connection', false, 500],
  ])(
    'answers have to fit the buffer %s as they leave, and events are larger than JSON',
    async (_name, route, status) => {
      const mesh = await startMesh('BUFFERED', 'BUFFERED', {
        edit(config) {
          const responses = findEnvoyRoute(config, 'responses');
          if (!route) delete responses['request_body_buffer_limit'];
        },
      });
      mesh.upstream.script('long', { body: [completion({ content: 'x'.repeat(300_000) })] });
      expect((await mesh.post({ model: 'long', input: 'Hi' })).status).toBe(200);
      const streamed = await mesh.post({ model: 'long', input: 'Hi', stream: true });
      const text = await streamed.text();
      expect(streamed.status).toBe(status);
      if (route) expect(text.length).toBeGreaterThan(4 * 300_000);
      else expect(JSON.parse(text)).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
    },
  );
});

describe('BUFFERED_PARTIAL both ways', () => {
  test('takes trailers for a body that was cut', async () => {
    const mesh = await startMesh('BUFFERED_PARTIAL', 'BUFFERED_PARTIAL', { trailers: 'SEND', http2Upstream: true });
    mesh.upstream.script('m', { body: [completion({ content: 'Hi' })], trailers: checksum });
    const request = await sendWithTrailers(mesh, { model: 'm', input: 'Hi' });
    expect([request.status, codeOf(request.text)]).toEqual([413, 'request_too_large']);
    const answer = await mesh.post({ model: 'm', input: 'Hi' });
    expect([answer.status, codeOf(await answer.text())]).toEqual([502, 'upstream_response_too_large']);
  });
});

describe('request body mode STREAMED', () => {
  test('a request with trailers is refused', async () => {
    const mesh = await startMesh('STREAMED', 'FULL_DUPLEX_STREAMED', { trailers: 'SEND' });
    const { status, text } = await sendWithTrailers(mesh, { model: 'm', input: 'Hi' });
    expect([status, codeOf(text)]).toEqual([400, 'unsupported_trailers']);
  });

  test('a request with trailers that nobody shows the service goes on without its body', async () => {
    const mesh = await startMesh('STREAMED', 'FULL_DUPLEX_STREAMED', { trailers: 'SKIP' });
    const noBody = { status: 400, body: ['{"error":{"message":"no body"}}'] };
    mesh.upstream.script('/v1/chat/completions', noBody);
    expect((await sendWithTrailers(mesh, { model: 'm', input: 'Hi' })).status).toBe(400);
    expect(mesh.upstream.all.map(({ body }) => body.length)).toEqual([0]);
  });
});

describe('response body mode STREAMED', () => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startMesh('BUFFERED', 'STREAMED', { trailers: 'SEND', http2Upstream: true });
  });

  test('an error in the stream stays under the 200 that has left', async () => {
    mesh.upstream.script('fails', { headers: eventStream, body: ['data: {"error":{"message":"no","code":429}}\n\n'] });
    const answer = await mesh.post({ model: 'fails', input: 'Hi', stream: true });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/event: response\.failed\n/);
  });

  test('a silent upstream is waited for', async () => {
    const environment = { UPSTREAM_IDLE_TIMEOUT_MS: '300' };
    const mesh = await startMesh('BUFFERED', 'STREAMED', { environment });
    mesh.upstream.script('silent', {
      headers: eventStream,
      body: [delta({ content: 'Hi' }), 2500, finish('stop'), done],
    });
    const text = await (await mesh.post({ model: 'silent', input: 'Hi', stream: true })).text();
    expect(text).toMatch(/event: response\.completed\n/);
  });

  test('a whole answer survives trailers, one that is cut before them is lost', async () => {
    mesh.upstream.script('whole', { body: [completion({ content: 'Hi' })], trailers: checksum });
    mesh.upstream.script('cut', { body: ['{"choices":'], trailers: checksum });
    expect((await mesh.client.responses.create({ model: 'whole', input: 'Hi' })).output_text).toBe('Hi');
    const lost = await mesh.post({ model: 'cut', input: 'Hi' });
    expect([lost.status, await lost.text()]).toEqual([200, '']);
  });
});
