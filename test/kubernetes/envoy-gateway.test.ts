import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderChart } from '../../scripts/kubernetes-render.ts';
import { envoyVersions } from '../matrix/versions.ts';
import { createAuthority } from '../support/certificates.ts';
import { type Resource, translateForEnvoyGateway } from './envoy-gateway.ts';
import { liveThrough } from './lifetime.ts';
import { committedManifests, environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { validateBootstrap } from './static-envoy.ts';

const upstream = parseObjects(`
apiVersion: v1
kind: Service
metadata: { name: llm }
spec: { ports: [{ name: http, port: 8000 }] }
`);
const guide = readFileSync(join(import.meta.dirname, '../../docs/kubernetes.md'), 'utf8');
const manifests = committedManifests('envoy/gateway');
const translated = translateForEnvoyGateway([...manifests, ...upstream]);
const service = 'envoyextensionpolicy/llm/responses-extproc/extproc/0';
const filterName = `envoy.filters.http.ext_proc/${service}`;
const MiB = 1024 * 1024;

const listener = listenerOf(translated.listeners);
const manager = managerOf(listener);
const routes: Resource[] = translated.routes.flatMap((config) =>
  config['virtualHosts'].flatMap((host: Resource) => host['routes']),
);
const environment = environmentOf(objectOf(manifests, 'Deployment'));

function listenerOf(listeners: readonly Resource[]): Resource {
  const found = listeners.find(({ name }) => name === 'llm/llm/http');
  if (found === undefined) throw new Error('no listener llm/llm/http');
  return found;
}

function managerOf(of: Resource): Resource {
  return of['defaultFilterChain'].filters.at(-1).typedConfig;
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
      'GatewayClass/responses-extproc',
      'HTTPRoute/responses-extproc',
      'HTTPRoute/responses-extproc-models',
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
    expect(typedConfig).toMatchObject({ messageTimeout: '10s', statusOnError: { code: 'ServiceUnavailable' } });
    expect(typedConfig.mutationRules).toBeUndefined(); // the path may be rewritten
  });

  test('it is on for the routes of the API, and for no other', () => {
    const seen = routes.map(({ match, typedPerFilterConfig }) => [
      match.pathSeparatedPrefix ?? match.prefix,
      filterName in (typedPerFilterConfig ?? {}),
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      '/v1/conversations': true,
      '/v1/responses': true,
      '/v1/models': false,
      '/': false,
    });
  });

  test('no route ends a long answer, silence does, and nothing that reached the model is sent again', () => {
    expect(routes).toHaveLength(4);
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

  test('Envoy buffers as much as the service reads', () => {
    expect(listener['perConnectionBufferLimitBytes']).toBe(22 * MiB);
    expect(environment['MAX_REQUEST_BYTES']).toBe(String(22 * MiB));
  });

  test('the cluster of the service: limits, windows, health', () => {
    const cluster = translated.clusters.find(({ name }) => name === service);
    const most = { maxConnections: 100000, maxPendingRequests: 100000, maxRequests: 100000 };
    expect(cluster).toMatchObject({
      type: 'EDS',
      circuitBreakers: { thresholds: [most] },
      outlierDetection: { consecutive5xx: 3, interval: '1s', baseEjectionTime: '10s', maxEjectionPercent: 50 },
      healthChecks: [
        { httpHealthCheck: { path: '/readyz', host: 'responses-extproc' }, interval: '3s', timeout: '1s' },
      ],
    });
    const text = JSON.stringify(cluster);
    expect(text).toContain('LeastRequest');
    expect(text).toContain('"initialConnectionWindowSize":16777216');
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
  const [, example = ''] = /^```yaml\n(gateway:[\s\S]*?)^```/m.exec(guide) ?? [];
  const values = [
    'gateway.kind=envoy-gateway',
    `gateway.envoyGateway=${JSON.stringify(parse(example).gateway.envoyGateway)}`,
  ];
  const limited = renderChart(values.flatMap((value, index) => [index === 0 ? '--set' : '--set-json', value]));
  const other = translateForEnvoyGateway([
    ...limited.flatMap(({ text }) => parseObjects(text)),
    ...upstream,
    ...policies,
  ]);
  const names = managerOf(listenerOf(other.listeners))['httpFilters'].map(({ name }: Resource) => name as string);
  const place = (part: string) => names.findIndex((name: string) => name.includes(part));
  expect(place('api_key_auth')).toBeGreaterThanOrEqual(0);
  expect(place('api_key_auth')).toBeLessThan(place('ext_proc'));
  expect(place('ext_proc')).toBeLessThan(place('local_ratelimit'));
  expect(place('local_ratelimit')).toBeLessThan(place('router'));
});

test('with TLS, Envoy checks the service’s certificate by its name in the cluster', () => {
  const settings = ['gateway.kind=envoy-gateway', 'tls.secretName=tls', 'tls.caConfigMap=ca'];
  const secured = renderChart(settings.flatMap((setting) => ['--set', setting])).flatMap(({ text }) =>
    parseObjects(text),
  );
  const authority = createAuthority('of the cluster');
  const data = { 'ca.crt': readFileSync(authority.caFile, 'utf8') };
  authority.remove();
  const authorities = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ca' }, data };
  const other = translateForEnvoyGateway([...secured, ...upstream, authorities]);
  for (const { status, message } of other.conditions.get('EnvoyExtensionPolicy/responses-extproc') ?? [])
    expect(status, message).toBe('True');
  const cluster = other.clusters.find(({ name }) => name === service);
  expect(JSON.stringify(cluster?.['transportSocketMatches'])).toContain('"sni":"responses-extproc.llm.svc"');
  expect(cluster).not.toHaveProperty('healthChecks'); // they would speak TLS to the admin port
});

test('a translator that is not there makes the routes answer 500, not pass', () => {
  const without = manifests.filter(({ kind }: KubernetesObject) => kind !== 'Service');
  const other = translateForEnvoyGateway([...without, ...upstream]);
  const affected = other.routes
    .flatMap((config) => config['virtualHosts'].flatMap((host: Resource) => host['routes']))
    .filter((route: Resource) => String(route['name']).includes('/responses-extproc/'));
  expect(affected).toHaveLength(2);
  for (const route of affected) expect(route.directResponse).toMatchObject({ status: 500 });
});

describe.each([...envoyVersions])('Envoy %s on this configuration', (version, install) => {
  const [routeConfig = {}] = translated.routes;
  const controlPlane = { listener, routes: routeConfig, clusters: translated.clusters };

  test('it is valid', () => {
    const ports = { grpc: 50051, admin: 9090 };
    expect(validateBootstrap(install(), { controlPlane, service, ports, pods: [], upstream: 8000 })).toBe('');
  });

  test('a long stream, a large request, a pod’s death, a new pod and a rolling restart', async () => {
    const figures = await liveThrough({ binary: install(), controlPlane, service, checks: 'admin', environment });
    console.log(`Envoy Gateway’s configuration, Envoy ${version}: ${JSON.stringify(figures)}`);
  }, 180_000);
});
