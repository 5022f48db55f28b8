import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager } from '../../mesh/envoy-config.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

/** The request as Codex sends it. */
const recorded: { readonly path: string; readonly headers: Record<string, string> } = JSON.parse(
  readFileSync(new URL('../clients/recorded/codex-catalog.json', import.meta.url), 'utf8'),
);

async function ask(script: string, path = recorded.path): Promise<Response> {
  return await fetch(`${mesh.url}${path}`, { headers: { ...recorded.headers, 'x-test-script': script } });
}

describe('Codex asks for the models', () => {
  test('and gets the catalog beside the upstream’s own list', async () => {
    const body = '{"object":"list","data":[{"id":"qwen3","object":"model","max_model_len":40960}]}';
    const headers = { 'content-type': 'application/json', etag: '"1"', 'x-engine': 'vllm' };
    mesh.upstream.script('list', { headers, body: [body.slice(0, 30), body.slice(30)] });

    const response = await ask('list');
    expect(response.status).toBe(200);
    expect(response.headers.get('etag')).toBeNull();
    expect(response.headers.get('x-engine')).toBe('vllm');
    expect(await response.json()).toMatchObject({
      object: 'list',
      data: [{ id: 'qwen3', max_model_len: 40960 }],
      models: [{ slug: 'qwen3', context_window: 40960, shell_type: 'shell_command' }],
    });
    const [request] = mesh.upstream.received('list');
    expect(request).toMatchObject({ method: 'GET', path: recorded.path });
    expect(request?.headers).toMatchObject({ 'accept-encoding': 'identity' });
  });

  test('and gets what is not a list as it is, headers and bytes', async () => {
    const headers = { 'content-type': 'application/json', etag: '"1"' };
    const body = '{ "detail":  "no such thing" }';
    mesh.upstream.script('no list', { headers: { ...headers, 'content-length': String(body.length) }, body: [body] });
    const response = await ask('no list');
    expect(await response.text()).toBe(body);
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
  });

  test('and gets an error of the upstream as it is', async () => {
    const body = '{"error":{"message":"who are you"}}';
    mesh.upstream.script('refused', { status: 401, headers: { 'content-type': 'application/json' }, body: [body] });
    const response = await ask('refused');
    expect(response.status).toBe(401);
    expect(await response.text()).toBe(body);
  });
});

describe('an upstream that falls silent in the middle of its list', () => {
  let impatient: TestMesh;
  beforeAll(async () => {
    impatient = await startTestMesh({
      environment: { UPSTREAM_IDLE_TIMEOUT_MS: '400', MAX_RESPONSE_BYTES: '1024' },
      edit(config) {
        const { routes } = findConnectionManager(config).route_config.virtual_hosts[0];
        for (const route of routes) if (route.name === 'catalog') route.route = { ...route.route, idle_timeout: '6s' };
      },
    });
  });
  afterAll(() => impatient.close());

  async function halfOf(list: string): Promise<Response> {
    impatient.upstream.script('half', ({ over }) => ({ body: [list.slice(0, list.length / 2), () => over] }));
    return await fetch(`${impatient.url}${recorded.path}`, { headers: { 'x-test-script': 'half' } });
  }

  test('is a 504 while the list is held', async () => {
    const response = await halfOf('{"data":[{"id":"qwen3"}]}');
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ error: { code: 'upstream_timeout' } });
  });

  test('has its transfer broken by Envoy where the list is too large to be held', async () => {
    const response = await halfOf(`{"data":[{"id":"${'x'.repeat(4000)}"}]}`);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });
});

test('without the version of a client the list never reaches the service', async () => {
  const body = '{ "object":"list", "data":[{"id":"m"}] }';
  mesh.upstream.script('plain', { headers: { 'content-type': 'application/json' }, body: [body] });
  const response = await ask('plain', '/v1/models?limit=2');
  expect(await response.text()).toBe(body);
});
