import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import { envoyVersions } from '../matrix/versions.ts';
import { createAuthority } from '../support/certificates.ts';
import { addClusterLike } from '../support/envoy-clusters.ts';
import { startTestMesh } from '../support/mesh.ts';
import { startRateLimitService } from '../support/rate-limit-service.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';
import { type Resource, translateForEnvoyGateway } from './envoy-gateway.ts';
import { chatService, ofEnvoyGateway, render, runHelmTest, withGateway } from './gateways.ts';
import { liveThrough } from './lifetime.ts';
import { committedManifests, environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { validateBootstrap } from './static-envoy.ts';

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
const [guide, fromZero] = [page('kubernetes.md'), page('guides/kubernetes-from-zero.md')];
const manifests = committedManifests('envoy/gateway');
const translated = translateForEnvoyGateway([...manifests, ...chatService]);
const service = 'envoyextensionpolicy/llm/responses-extproc/extproc/0';
const filterName = `envoy.filters.http.ext_proc/${service}`;
const MiB = 1024 * 1024;

const listener = listenerOf(translated.listeners);
const manager = managerOf(listener);
/** Those that lead to the upstream. */
const routes: Resource[] = translated.routes
  .flatMap((config) => config['virtualHosts'].flatMap((host: Resource) => host['routes'] as Resource[]))
  .filter(({ route }) => route !== undefined);
const environment = environmentOf(objectOf(manifests, 'Deployment'));

function listenerOf(listeners: readonly Resource[]): Resource {
  const found = listeners.find(({ name }) => name === 'llm/llm/http');
  if (found === undefined) throw new Error('no listener llm/llm/http');
  return found;
}

function managerOf(of: Resource): Resource {
  return of['defaultFilterChain'].filters.at(-1).typedConfig;
}

/** The chart with the guide's example of a rate limit of this kind. */
function limitedAsInGuide(kind: 'local' | 'global'): KubernetesObject[] {
  const examples = [...guide.matchAll(/^```yaml\n(gateway:.*?)^```/gms)].map(
    ([, example = '']) => parse(example).gateway,
  );
  const example = examples.find(({ envoyGateway }) => kind in (envoyGateway?.backendTraffic?.rateLimit ?? {}));
  return renderChart([
    ...['--set', 'gateway.kind=envoy-gateway'],
    ...['--set-json', `gateway.envoyGateway=${JSON.stringify(example?.envoyGateway)}`],
  ]).flatMap(({ text }) => parseObjects(text));
}

describe('what Envoy Gateway makes of envoy/gateway', () => {
  test('every route and policy is accepted, and none attaches to nothing', () => {
    const objects = [
      'GatewayClass',
      'HTTPRoute',
      'ClientTrafficPolicy',
      'BackendTrafficPolicy',
      'EnvoyExtensionPolicy',
    ];
    const told = [...translated.conditions].filter(([name]) => objects.includes(name.split('/')[0] ?? ''));
    expect(told.map(([name]) => name).sort()).toEqual([
      'BackendTrafficPolicy/responses-extproc',
      'ClientTrafficPolicy/responses-extproc',
      'EnvoyExtensionPolicy/responses-extproc',
      'GatewayClass/llm-responses-extproc',
      'HTTPRoute/responses-extproc',
      'HTTPRoute/responses-extproc-loop',
      'HTTPRoute/responses-extproc-untouched',
    ]);
    for (const [name, conditions] of told) {
      expect(conditions, name).not.toEqual([]);
      for (const condition of conditions) expect(condition, name).toMatchObject({ status: 'True' });
    }
  });

  test('the filter: modes, trailers, timeout, fail-closed', () => {
    const filter = manager['httpFilters'][0];
    expect(filter).toMatchObject({ name: filterName, disabled: true });
    const { typedConfig } = filter;
    expect(typedConfig.processingMode).toEqual({
      requestHeaderMode: 'SEND',
      requestBodyMode: 'BUFFERED',
      requestTrailerMode: 'SKIP',
      responseHeaderMode: 'SEND',
      responseBodyMode: 'FULL_DUPLEX_STREAMED',
      responseTrailerMode: 'SEND',
    });
    expect(typedConfig.failureModeAllow ?? false).toBe(false);
    expect(typedConfig['metadataOptions']).toEqual({ receivingNamespaces: { untyped: ['responses_extproc'] } });
    expect(typedConfig).toMatchObject({ messageTimeout: '10s', statusOnError: { code: 'ServiceUnavailable' } });
    expect(typedConfig.mutationRules).toBeUndefined(); // the path may be rewritten
  });

  test('it is on for the routes of the API, and for no other', () => {
    const seen = routes.map(({ match, typedPerFilterConfig }) => [
      match.pathSeparatedPrefix ?? match.prefix ?? `${match.path}?${match.queryParameters[0].name}`,
      filterName in (typedPerFilterConfig ?? {}),
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      '/v1/conversations': true,
      '/v1/responses': true,
      '/v1/models?client_version': true,
      '/v1/models': false,
      '/v1/chat/completions': false,
    });
  });

  test('no route ends a long answer, silence does, and nothing that reached the model is sent again', () => {
    expect(routes).toHaveLength(5);
    for (const { route } of routes) {
      expect(route).toMatchObject({ timeout: '0s', idleTimeout: '900s' });
      expect(route.retryPolicy).toMatchObject({
        retryOn: 'connect-failure,refused-stream,reset-before-request',
        numRetries: 2,
      });
      expect(route).not.toHaveProperty('prefixRewrite');
      expect(route).not.toHaveProperty('regexRewrite');
      expect(route.upgradeConfigs).toEqual([{ upgradeType: 'websocket' }]);
    }
  });

  test('Envoy buffers what the service reads, and a quarter more for its Chat form', () => {
    expect(listener['perConnectionBufferLimitBytes']).toBe(27 * MiB);
    expect(environment['MAX_REQUEST_BYTES']).toBe(String(22 * MiB));
  });

  test('the cluster of the service: limits, windows, health', () => {
    const cluster = translated.clusters.find(({ name }) => name === service);
    const most = { maxConnections: 100000, maxPendingRequests: 100000, maxRequests: 100000 };
    expect(cluster).toMatchObject({
      type: 'EDS',
      circuitBreakers: { thresholds: [most] },
      outlierDetection: { consecutive5xx: 3, interval: '1s', baseEjectionTime: '10s', maxEjectionPercent: 50 },
      healthChecks: [{ httpHealthCheck: { path: '/readyz', host: 'localhost' }, interval: '3s', timeout: '1s' }],
    });
    const text = JSON.stringify(cluster);
    expect(text).toContain('LeastRequest');
    expect(text).toMatch(/"initialConnectionWindowSize":1073741824,"initialStreamWindowSize":262144/);
    const endpoints = translated.endpoints.find(({ clusterName }) => clusterName === service);
    expect(JSON.stringify(endpoints)).toContain('"healthCheckConfig":{"portValue":9090}');
  });

  test('the upstream’s cluster closes idle connections before llama.cpp does', () => {
    const cluster = translated.clusters.find(({ name }) => name === 'httproute/llm/responses-extproc/rule/0');
    expect(JSON.stringify(cluster)).toContain('"idleTimeout":"4s"');
    expect(JSON.stringify(cluster)).toContain('"maxRequestsPerConnection":90');
    expect(cluster).toMatchObject({ circuitBreakers: { thresholds: [{ maxRequests: 100000 }] } });
  });
});

test('keys are checked before the service is called, and the guide’s rate limit counts after it', () => {
  const policies = parseObjects(`
apiVersion: v1
kind: Secret
metadata: { name: keys, namespace: llm }
data: { somebody: c2VjcmV0 }
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: { name: keys }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: responses-extproc }]
  apiKeyAuth: { credentialRefs: [{ name: keys }], extractFrom: [{ headers: [x-api-key] }] }
`);
  const other = translateForEnvoyGateway([...limitedAsInGuide('local'), ...chatService, ...policies]);
  const names = managerOf(listenerOf(other.listeners))['httpFilters'].map(({ name }: Resource) => name as string);
  const place = (part: string) => names.findIndex((name: string) => name.includes(part));
  expect(place('api_key_auth')).toBeGreaterThanOrEqual(0);
  expect(place('api_key_auth')).toBeLessThan(place('ext_proc'));
  expect(place('ext_proc')).toBeLessThan(place('local_ratelimit'));
  expect(place('local_ratelimit')).toBeLessThan(place('router'));
});

describe('the guide’s budget of tokens', () => {
  const limited = translateForEnvoyGateway([...limitedAsInGuide('global'), ...chatService]);
  const filters: Resource[] = managerOf(listenerOf(limited.listeners))['httpFilters'];
  const limiterName = 'envoy.filters.http.ratelimit';
  const route: Resource = limited.routes
    .flatMap((config) => config['virtualHosts'].flatMap((host: Resource) => host['routes']))
    .find(({ match }: Resource) => match.pathSeparatedPrefix === '/v1/responses');

  test('a request asks, and the end of its answer takes what the service says that it cost', () => {
    expect(limited.conditions.get('BackendTrafficPolicy/responses-extproc')).toMatchObject([{ status: 'True' }]);
    expect(filters.map(({ name }) => name)).toEqual([filterName, limiterName, 'envoy.filters.http.router']);
    const client = { requestHeaders: { headerName: 'x-client' } };
    expect(route['typedPerFilterConfig'][limiterName].rateLimits).toMatchObject([
      { actions: [{}, client], hitsAddend: { number: '0' } },
      {
        actions: [{}, client],
        hitsAddend: { format: '%DYNAMIC_METADATA(responses_extproc:total_tokens)%' },
        applyOnStreamDone: true,
      },
    ]);
  });

  test('Envoy keeps it: who has used it up gets a 429, and nobody else', async () => {
    const limiter = await startRateLimitService(10);
    const mesh = await startTestMesh({
      edit(config) {
        const envoyYaml = findConnectionManager(config);
        Reflect.deleteProperty(envoyYaml, 'local_reply_config'); // Envoy Gateway has none: the service words the refusal
        const { http_filters, route_config } = envoyYaml;
        const filter = filters.find(({ name }) => name === limiterName) ?? {};
        // Envoy's 20 ms, after which it lets a request pass, are short on a busy machine.
        const typedConfig = { ...filter['typedConfig'], timeout: '60s' };
        (http_filters as unknown[]).splice(-1, 0, { ...filter, typedConfig });
        route_config.virtual_hosts[0]['typed_per_filter_config'] = {
          [limiterName]: route['typedPerFilterConfig'][limiterName],
        };
        const cluster = typedConfig.rateLimitService.grpcService.envoyGrpc.clusterName;
        addClusterLike(config, 'responses_extproc', cluster, { host: '127.0.0.1', port: limiter.port });
        Reflect.deleteProperty(findCluster(config, cluster), 'health_checks');
      },
    });
    try {
      mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] }); // five tokens
      const post = (client: string) => mesh.post({ model: 'm', input: 'Hi' }, { headers: { 'x-client': client } });
      const chat = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
      const untranslated = await fetch(`${mesh.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-client': 'eve' },
        body: JSON.stringify(chat),
      });
      expect(await untranslated.json()).toMatchObject({ usage: { total_tokens: 5 } });
      for (const used of [5, 10]) {
        const answer = await post('ada');
        expect(answer.status).toBe(200);
        await answer.text();
        await expect.poll(() => limiter.used.get('ada')).toBe(used);
      }
      const refused = await post('ada');
      expect(refused.status).toBe(429);
      expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
      expect(mesh.upstream.received('m')).toHaveLength(3);
      expect((await post('bob')).status).toBe(200);
      expect(limiter.used.get('eve')).toBe(0);
    } finally {
      await mesh.close();
      limiter.close();
    }
  });
});

test('the first request of kubernetes.md gets the answer that stands there', async () => {
  const [, command = '', first, last] =
    /^```sh\naddress=.*\n(curl [^`]*)^```$[^`]*You should see events, from `([^`]+)` to `([^`]+)`/m.exec(guide) ?? [];
  expect(command, 'the page’s command and its answer').not.toBe('');
  await withGateway(ofEnvoyGateway(translated, environment), async ({ url, chat }) => {
    const body = [delta({ role: 'assistant', content: '' }), delta({ content: 'Hello!' }), finish('stop'), done];
    chat.script('qwen3-8b', { headers: eventStream, body });
    const answer = await outputOf(`address=${new URL(url).host}\n${command}`);
    const events = answer.match(/(?<=^event: ).*$/gm) ?? [];
    expect([events[0], events.at(-1)]).toEqual([first, last]);
    expect(answer).toMatch(/^data: \[DONE\]$/m);
  });
});

test('and so does that of “Kubernetes from zero”', async () => {
  const [, command = '', shown = ''] = /^```sh\n(curl [^`]*)^```$\n\nYou should see `([^`]+)`/m.exec(fromZero) ?? [];
  expect(command).toContain('http://127.0.0.1:10000/');
  expect(shown).not.toBe('');
  await withGateway(ofEnvoyGateway(translated, environment), async ({ url, chat }) => {
    chat.script('your-model', { body: [completion({ content: 'Hello!' })] });
    const answer = await outputOf(command.replace('http://127.0.0.1:10000', url));
    expect(answer).toContain(shown);
    expect(answer).toContain('Hello!');
  });
});

/** What a command of a page prints. */
function outputOf(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', command], (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
  });
}

test('helm test sends its request through the Gateway, and fails where no answer of the API comes back', async () => {
  const objects = render('gateway.kind=envoy-gateway');
  await withGateway(ofEnvoyGateway(translated, environment), async ({ url, chat }) => {
    chat.script('helm-test', { body: [completion({ content: 'Hi' })] });
    expect(await runHelmTest(objects, url)).toBe(0);
    expect(chat.received('helm-test')).toHaveLength(1);
    expect(await runHelmTest(objects, `${url}/elsewhere`)).not.toBe(0);
  });
});

test('with TLS, Envoy checks the service’s certificate by its name in the cluster', () => {
  const secured = render('gateway.kind=envoy-gateway', 'tls.secretName=tls', 'tls.caConfigMap=ca');
  const authority = createAuthority('of the cluster');
  const data = { 'ca.crt': readFileSync(authority.caFile, 'utf8') };
  authority.remove();
  const authorities = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ca' }, data };
  const other = translateForEnvoyGateway([...secured, ...chatService, authorities]);
  for (const { status, message } of other.conditions.get('EnvoyExtensionPolicy/responses-extproc') ?? [])
    expect(status, message).toBe('True');
  const cluster = other.clusters.find(({ name }) => name === service);
  expect(JSON.stringify(cluster?.['transportSocketMatches'])).toContain('"sni":"responses-extproc.llm.svc"');
  expect(cluster).not.toHaveProperty('healthChecks'); // they would speak TLS to the admin port
});

test('a translator that is not there makes the routes answer 500, not pass', () => {
  const without = manifests.filter(({ kind }: KubernetesObject) => kind !== 'Service');
  const other = translateForEnvoyGateway([...without, ...chatService]);
  const affected = other.routes
    .flatMap((config) => config['virtualHosts'].flatMap((host: Resource) => host['routes']))
    .filter((route: Resource) => String(route['name']).includes('/responses-extproc/'));
  expect(affected).toHaveLength(3);
  for (const route of affected) expect(route.directResponse).toMatchObject({ status: 500 });
});

/** The words of a direct response, which Envoy 1.36 does not know: it ignores the field, but not in a file. */
function withoutBodyFormat(config: Resource[]): Resource[] {
  return JSON.parse(JSON.stringify(config), (key, value) => (key === 'bodyFormat' ? undefined : value));
}

// Side by side: most of it is waiting.
describe.concurrent.each([...envoyVersions])('Envoy %s on this configuration', (version, install) => {
  const configuration = ofEnvoyGateway(
    version.startsWith('1.36.') ? { ...translated, routes: withoutBodyFormat(translated.routes) } : translated,
    environment,
  );

  test('it is valid', () => {
    const ports = { grpc: 50051, admin: 9090 };
    expect(validateBootstrap(install(), { ...configuration, ports, pods: [], upstream: 8000 })).toBe('');
  });

  test('a long stream, a large request, a pod’s death, a new pod and a rolling restart', async ({ expect }) => {
    const figures = await liveThrough({ binary: install(), ...configuration, expect });
    console.log(`Envoy Gateway’s configuration, Envoy ${version}: ${JSON.stringify(figures)}`);
  }, 180_000);
});
