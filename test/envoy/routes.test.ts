import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EnvoyRoute, findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({
    edit(config) {
      const { routes } = findConnectionManager(config).route_config.virtual_hosts[0];
      const shipped = findEnvoyRoute(config, 'responses');
      const routeFor = (
        prefix: string,
        metadata: Record<string, string>,
        changes: Partial<EnvoyRoute> = {},
      ): EnvoyRoute => ({
        ...structuredClone(shipped),
        match: { prefix },
        typed_per_filter_config: {
          'envoy.filters.http.ext_proc': {
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute',
            overrides: { grpc_initial_metadata: Object.entries(metadata).map(([key, value]) => ({ key, value })) },
          },
        },
        ...changes,
      });
      routes.unshift(
        routeFor('/ollama/', { 'x-upstream-profile': 'ollama' }),
        routeFor('/hosted/', { 'x-upstream-profile': 'openai' }),
        routeFor('/deployments/', {
          'x-upstream-profile': 'azure',
          'x-upstream-path': '/openai/deployments/{model}/chat/completions?api-version=2024-10-21',
        }),
        routeFor('/plain/', {}),
        routeFor(
          '/retried/',
          {},
          {
            route: { ...shipped.route, retry_policy: { retry_on: '5xx', num_retries: 2 } },
          },
        ),
      );
    },
  });
});
afterAll(() => mesh.close());

const answer = { body: [completion({ content: 'Hi' })] };

describe('a route says what its upstream is', () => {
  test('two routes of one Envoy with different profiles', async () => {
    mesh.upstream.script('profiles', answer);
    const body = { model: 'profiles', input: 'Hi', max_output_tokens: 64 };
    await mesh.post(body, { path: '/ollama/v1/responses' });
    await mesh.post(body, { path: '/hosted/v1/responses' });
    const [ollama, hosted] = mesh.upstream.received('profiles').map((request) => request.json());
    expect(ollama).toMatchObject({ max_tokens: 64 });
    expect(hosted).toMatchObject({ max_completion_tokens: 64 });
    expect(hosted).not.toHaveProperty('max_tokens');
  });

  test('no header of a client can choose the profile or the path', async () => {
    mesh.upstream.script('forged', answer);
    const headers = { 'x-upstream-profile': 'openai', 'x-upstream-path': '/admin' };
    await mesh.post({ model: 'forged', input: 'Hi', max_output_tokens: 64 }, { path: '/ollama/v1/responses', headers });
    const [request] = mesh.upstream.received('forged');
    expect(request?.path).toBe('/ollama/v1/chat/completions');
    expect(request?.json()).toHaveProperty('max_tokens', 64);
  });

  test('x-upstream-path stands in for /v1/responses, with the model and a query', async () => {
    mesh.upstream.script('my-deployment', answer);
    const response = await mesh.post({ model: 'my-deployment', input: 'Hi' }, { path: '/deployments/v1/responses' });
    expect(response.status).toBe(200);
    expect(mesh.upstream.received('my-deployment')[0]?.path).toBe(
      '/deployments/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
    );
  });
});

describe('paths', () => {
  test.each([
    ['/v1/responses', '/v1/chat/completions'],
    ['/v1/responses?api-version=1', '/v1/chat/completions?api-version=1'],
    ['/v1/responses/', '/v1/chat/completions'],
    ['/plain/v1/responses', '/plain/v1/chat/completions'],
    ['/plain/team%20a/v1/responses?x=%2F', '/plain/team%20a/v1/chat/completions'],
    ['/v1/./responses', '/v1/chat/completions'],
    ['/v1/responses?x=1', '/v1/chat/completions'], // a query is for the API that is no longer called
  ])('%s goes upstream as %s', async (path, upstreamPath) => {
    mesh.upstream.script(path, answer);
    const response = await mesh.post({ model: 'm', input: 'Hi' }, { path, headers: { 'x-test-script': path } });
    expect(response.status).toBe(200);
    expect(mesh.upstream.received(path)[0]?.path).toBe(upstreamPath);
  });
});

test('a retry of the router sends the translated body again', async () => {
  mesh.upstream.script('retried', { status: 503 }, { status: 503 }, answer);
  const response = await mesh.post({ model: 'retried', input: 'Hi' }, { path: '/retried/v1/responses' });
  expect(response.status).toBe(200);
  const bodies = mesh.upstream.received('retried').map((request) => request.body.toString());
  expect(bodies).toHaveLength(3);
  expect(new Set(bodies).size).toBe(1);
  expect(JSON.parse(bodies[0] ?? '')).toHaveProperty('messages');
});
