import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvoyConfig, findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import { findFreePort, waitUntilListening } from '../../mesh/ports.ts';
import { type Child, startChild } from '../../mesh/processes.ts';
import { addClusterLike } from '../support/envoy-clusters.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { toolPath } from './tools.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'envoy/README.md'), 'utf8');

/** The part of envoy/README.md about the body-based router: its arguments, and its filter. */
const [, plugin = '', block = ''] = /--streaming --plugin '([^']+)'`.*?^```yaml\n(.*?)^```$/ms.exec(readme) ?? [];

let router: Child;
let hosted: ScriptedUpstream;
let mesh: TestMesh;
let folder: string;
beforeAll(async () => {
  const [grpc, health, metrics] = [await findFreePort(), await findFreePort(), await findFreePort()];
  // It asks for an API server's address, and with this plugin alone it asks the server nothing.
  folder = mkdtempSync(join(tmpdir(), 'responses-extproc-bbr-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const cluster = '{ name: none, cluster: { server: "http://127.0.0.1:1" } }';
  const context = '{ name: none, context: { cluster: none } }';
  writeFileSync(kubeconfig, `{ clusters: [${cluster}], contexts: [${context}], current-context: none }`);
  const ports = ['--grpc-port', `${grpc}`, '--grpc-health-port', `${health}`, '--metrics-port', `${metrics}`];
  router = startChild(
    'bbr',
    toolPath('bbr'),
    [
      ...ports,
      '--streaming',
      '--secure-serving=false',
      '--tracing=false',
      '--metrics-endpoint-auth=false',
      '--plugin',
      plugin,
    ],
    { environment: { ...process.env, KUBECONFIG: kubeconfig } },
  );
  const over = new AbortController();
  const ended = router.ended.then((how) => Promise.reject(new Error(`bbr ended: ${how}`)));
  await Promise.race([waitUntilListening(grpc, over.signal), ended]).finally(() => over.abort());
  hosted = await startScriptedUpstream();
  process.env['PROVIDER_API_KEY'] = 'sk-of-the-provider';
  mesh = await startTestMesh({
    configFile: join(root, 'envoy/recipes/route-by-model.yaml'),
    edit: (config) => useRouter(config, grpc),
  });
});
afterAll(async () => {
  Reflect.deleteProperty(process.env, 'PROVIDER_API_KEY');
  await Promise.all([mesh?.close(), hosted?.close(), router?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** The router's filter in the place of the script, on the routes too; the hosted upstream here, without TLS. */
function useRouter(config: EnvoyConfig, port: number): void {
  const [filter] = parse(block) as [{ name: string }];
  const manager = findConnectionManager(config);
  const lua = (manager.http_filters as unknown as { name: string }[]).findIndex(({ name }) => name.endsWith('.lua'));
  manager.http_filters.splice(lua, 1, filter as never);
  for (const route of manager.route_config.virtual_hosts[0].routes) {
    const filters = Object(route.typed_per_filter_config);
    if (!('envoy.filters.http.lua' in filters)) continue;
    filters[filter.name] = filters['envoy.filters.http.lua'];
    delete filters['envoy.filters.http.lua'];
  }
  addClusterLike(config, 'responses_extproc', 'body_based_router', { host: '127.0.0.1', port });
  const router = findCluster(config, 'body_based_router');
  delete router['health_checks'];
  delete router['outlier_detection'];
  const upstream = findCluster(config, 'hosted');
  delete upstream.transport_socket;
  upstream.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address = {
    socket_address: { address: '127.0.0.1', port_value: hosted.port },
  };
}

test('the body-based router chooses the upstream as the script does, for a large request too', async () => {
  for (const [model, size] of [
    ['gpt-5', 2],
    ['qwen3', 2],
    ['gpt-large', 3_000_000],
  ] as const) {
    for (const upstream of [hosted, mesh.upstream]) upstream.script(model, { body: [completion({ content: 'Hi' })] });
    const response = await mesh.post({ input: 'x'.repeat(size), model, max_output_tokens: 64 });
    expect([model, response.status, await response.json()]).toMatchObject([model, 200, { status: 'completed' }]);
    const where = model === 'qwen3' ? mesh.upstream : hosted;
    const [request, ...others] = [...hosted.received(model), ...mesh.upstream.received(model)];
    expect([where.received(model)[0], others]).toEqual([request, []]);
    expect(request?.json()).toHaveProperty(model === 'qwen3' ? 'max_tokens' : 'max_completion_tokens', 64);
    expect(request?.headers.authorization).toBe(model === 'qwen3' ? undefined : 'Bearer sk-of-the-provider');
  }
});
