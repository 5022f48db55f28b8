import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { addDeadCluster } from '../support/envoy-clusters.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { type BodyStep, cut, delta, eventStream, gate, reset, type Script } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({
    edit(config) {
      // A second upstream at a port where nobody listens, and a route with a short timeout.
      addDeadCluster(config);
      const { routes } = findConnectionManager(config).route_config.virtual_hosts[0];
      const shipped = findEnvoyRoute(config, 'responses');
      for (const [header, route] of Object.entries({ dead: { cluster: 'dead' }, short: { timeout: '0.3s' } })) {
        const responses = structuredClone(shipped);
        responses.match['headers'] = [{ name: 'x-test-route', string_match: { exact: header } }];
        responses.route = { ...responses.route, ...route };
        routes.unshift(responses);
      }
    },
  });
});
afterAll(() => mesh.close());

const json = (fields: Record<string, unknown>) => JSON.stringify({ error: fields });
const html = '<html><body><h1>502 Bad Gateway</h1></body></html>';

describe.each([false, true])('an upstream error is the API’s error JSON with its status (stream: %s)', (stream) => {
  test.each<[string, Script, number, Record<string, unknown>]>([
    [
      '400',
      { status: 400, body: [json({ message: 'no', type: 'x', param: 'top_p', code: 'bad' })] },
      400,
      { type: 'invalid_request', code: 'bad', param: 'top_p', message: 'no' },
    ],
    [
      '400 in Chinese: the built program is read as Latin-1',
      { status: 400, body: [json({ message: 'Prompt 超长' })] },
      400,
      { code: 'context_length_exceeded' },
    ],
    [
      '401',
      { status: 401, body: [json({ message: 'wrong key' })] },
      401,
      { type: 'invalid_request', code: 'invalid_api_key' },
    ],
    [
      '404',
      { status: 404, body: [json({ message: 'The model `m` does not exist' })] },
      404,
      { type: 'not_found', code: 'model_not_found' },
    ],
    [
      '429',
      { status: 429, headers: { 'retry-after': '7' }, body: [json({ message: 'slow down' })] },
      429,
      { type: 'too_many_requests' },
    ],
    ['500', { status: 500, body: [json({ message: 'oops' })] }, 500, { type: 'server_error', message: 'oops' }],
    [
      '502 in HTML',
      { status: 502, headers: { 'content-type': 'text/html' }, body: [html] },
      502,
      { type: 'server_error' },
    ],
    ['503 without a body', { status: 503 }, 503, { type: 'server_error' }],
    ['204', { status: 204 }, 502, { type: 'server_error', code: 'invalid_upstream_response' }],
    ['205', { status: 205 }, 502, { type: 'server_error', code: 'invalid_upstream_response' }],
    ['304', { status: 304 }, 502, { type: 'server_error', code: 'upstream_redirect' }],
  ])('%s', async (name, script, status, error) => {
    mesh.upstream.script(`${name} ${stream}`, script);

    const response = await mesh.post({ model: `${name} ${stream}`, input: 'Hi', stream });

    if (stream && error['code'] === 'context_length_exceeded') {
      expect(response.status).toBe(200);
      expect(await response.text()).toMatch(
        /event: error\ndata: .*context_length_exceeded[\s\S]*event: response\.failed\n/,
      );
      return;
    }
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('retry-after')).toBe(script.headers?.['retry-after'] ?? null);
    const text = await response.text();
    expect(text).not.toContain('<');
    expect(JSON.parse(text)).toMatchObject({ error });
  });

  test('connection refused: Envoy’s own 503', async () => {
    const response = await mesh.post({ model: 'm', input: 'Hi', stream }, { headers: { 'x-test-route': 'dead' } });
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/json');
    const message = 'The gateway could not reach the Chat server or responses-extproc. Try again later.';
    expect(await response.json()).toMatchObject({
      error: { type: 'server_error', code: 'upstream_unavailable', message },
    });
  });

  test('no answer within the route’s timeout: Envoy’s own 504', async () => {
    mesh.upstream.script('silent', { body: [60_000] });
    const response = await mesh.post(
      { model: 'silent', input: 'Hi', stream },
      { headers: { 'x-test-route': 'short', 'x-test-script': 'silent' } },
    );
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_timeout' } });
  });

  test('the upstream resets the connection before it answers: Envoy’s own 503, and it is not asked twice', async () => {
    const model = `rude ${stream}`;
    mesh.upstream.script(model, { status: 200, body: [reset] });
    const response = await mesh.post({ model, input: 'Hi', stream });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: {
        code: 'upstream_unavailable',
        message: 'The Chat server closed the connection before it answered. Try again.',
      },
    });
    expect(mesh.upstream.received(model)).toHaveLength(1);
  });
});

test('a JSON answer that the upstream cuts is told as such', async () => {
  const beginning = '{"choices":[{"message":{"content":"Once upon';
  mesh.upstream.script('cut', { headers: { 'content-type': 'application/json' }, body: [beginning, cut] });
  const response = await mesh.post({ model: 'cut', input: 'Hi' });
  expect(response.status).toBe(502);
  expect(await response.json()).toEqual({
    error: {
      type: 'server_error',
      code: 'upstream_stream_truncated',
      param: null,
      message: 'The Chat server closed the connection before its answer was complete. Try again.',
    },
  });
});

describe('an upstream that breaks off in the middle of a stream', () => {
  test('after a clean end without a finish_reason the client is told by response.failed', async () => {
    mesh.upstream.script('short', { headers: eventStream, body: [delta({ content: 'Once upon' })] });
    const response = await mesh.post({ model: 'short', input: 'Hi', stream: true });
    const events = await response.text();
    expect(events).toContain('"delta":"Once upon"');
    expect(events).toMatch(/event: error\ndata: .*upstream_stream_truncated/);
    expect(events).toMatch(/event: response\.failed\n/);
  });

  test.each<[string, BodyStep]>([
    ['closes its connection', cut],
    ['resets its connection', reset],
  ])('when it %s the client’s stream breaks too: Envoy leaves nobody to say why', async (_name, end) => {
    // A reset overtakes what Envoy has not read yet: it comes once the client has the beginning.
    const arrived = gate();
    mesh.upstream.script('broken', {
      headers: eventStream,
      body: [delta({ content: 'Once upon' }), arrived.passed, end],
    });
    const response = await mesh.post({ model: 'broken', input: 'Hi', stream: true });
    arrived.open();
    await expect(response.text()).rejects.toThrow();
  });
});
