import { describe, expect, test } from 'vitest';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import { envoyVersions } from '../matrix/versions.ts';
import type { Resource } from './envoy-gateway.ts';
import { ofIstio, render } from './gateways.ts';
import { type IstioGateway, translateForIstio, withInferencePool } from './istio.ts';
import { liveThrough } from './lifetime.ts';
import { committedManifests, environmentOf, objectOf, parseObjects } from './manifests.ts';
import { validateBootstrap } from './static-envoy.ts';

const manifests = committedManifests('envoy/istio');
const gateway = translateForIstio(manifests);
const environment = environmentOf(objectOf(manifests, 'Deployment'));
const service = 'outbound|50051||responses-extproc.llm.svc.cluster.local';
const filterName = 'responses-extproc/llm/responses-extproc';

const [listener = {}] = gateway.listeners;
const [routeConfig = {}] = gateway.routes;
const manager: Resource = listener['filterChains'][0].filters.at(-1).typedConfig;
/** Those that lead to the upstream. */
const routes: Resource[] = routeConfig['virtualHosts']
  .flatMap((host: Resource) => host['routes'])
  .filter(({ route }: Resource) => route !== undefined);

describe('what Istio makes of envoy/istio', () => {
  test('one listener, with the service’s filter behind authorization and before the router', () => {
    expect(gateway.listeners).toHaveLength(1);
    const names = manager['httpFilters'].map(({ name }: Resource) => name);
    expect(names.filter((name: string) => name === filterName)).toHaveLength(1);
    expect(names.indexOf(filterName)).toBeLessThan(names.indexOf('envoy.filters.http.grpc_stats'));
    expect(names.at(-1)).toBe('envoy.filters.http.router');
  });

  test('the filter: modes, trailers, timeout, fail-closed', () => {
    const filter = manager['httpFilters'].find(({ name }: Resource) => name === filterName);
    expect(filter.disabled).toBe(true);
    const { typedConfig } = filter;
    expect(typedConfig).toMatchObject({
      grpcService: { envoyGrpc: { clusterName: service, authority: 'responses-extproc' } },
      messageTimeout: '10s',
      metadataOptions: { receivingNamespaces: { untyped: ['responses_extproc'] } },
      statusOnError: { code: 'ServiceUnavailable' },
      processingMode: {
        requestHeaderMode: 'SEND',
        requestBodyMode: 'BUFFERED',
        requestTrailerMode: 'SKIP',
        responseHeaderMode: 'SEND',
        responseBodyMode: 'FULL_DUPLEX_STREAMED',
        responseTrailerMode: 'SEND',
      },
    });
    expect(typedConfig.failureModeAllow ?? false).toBe(false);
    expect(typedConfig.grpcService).not.toHaveProperty('timeout');
  });

  test('it is on for the routes of the API, which take more than the service, and for no other', () => {
    const seen = routes.map(({ match, typedPerFilterConfig = {}, requestBodyBufferLimit }) => [
      match.pathSeparatedPrefix ?? match.prefix ?? `${match.path}?${match.queryParameters[0].name}`,
      [filterName in typedPerFilterConfig, requestBodyBufferLimit],
    ]);
    const limit = `${27 * 1024 * 1024}`; // of MAX_REQUEST_BYTES, and a quarter more for the Chat form
    expect(Object.fromEntries(seen)).toEqual({
      '/v1/conversations': [true, limit],
      '/v1/responses': [true, limit],
      '/v1/models?client_version': [true, limit],
      '/v1/models': [false, undefined],
      '/v1/chat/completions': [false, undefined],
    });
  });

  test('no route ends a long answer, silence does, and nothing that reached the model is sent again', () => {
    expect(manager['streamIdleTimeout']).toBe('900s');
    expect(manager['upgradeConfigs']).toEqual([{ upgradeType: 'websocket' }]);
    expect(routes).toHaveLength(5);
    for (const { route } of routes) {
      expect(route).toMatchObject({ timeout: '0s', idleTimeout: '900s' });
      expect(route.retryPolicy).toMatchObject({
        retryOn: 'connect-failure,refused-stream,reset-before-request',
        numRetries: 2,
      });
      expect(route.retryPolicy.retriableStatusCodes ?? []).toEqual([]);
      expect(route).not.toHaveProperty('prefixRewrite');
    }
  });

  test('the cluster of the service: HTTP/2, spreading, limits, health', () => {
    const cluster = gateway.clusters.find(({ name }) => name === service);
    expect(cluster).toMatchObject({
      type: 'EDS',
      lbPolicy: 'LEAST_REQUEST',
      circuitBreakers: { thresholds: [{ maxConnections: 100000, maxRequests: 100000 }] },
      outlierDetection: { consecutive5xx: 3, interval: '1s', baseEjectionTime: '10s', maxEjectionPercent: 50 },
      healthChecks: [{ grpcHealthCheck: { authority: 'responses-extproc' }, noTrafficInterval: '3s' }],
      upstreamConnectionOptions: { tcpKeepalive: { keepaliveTime: 30 } },
    });
    expect(JSON.stringify(cluster)).toContain('"explicitHttpConfig":{"http2ProtocolOptions"');
  });

  test('the upstream’s cluster closes idle connections before llama.cpp does', () => {
    const cluster = gateway.clusters.find(({ name }) => name === 'outbound|8000||llm.llm.svc.cluster.local');
    expect(cluster).toMatchObject({ circuitBreakers: { thresholds: [{ maxRequests: 100000 }] } });
    expect(JSON.stringify(cluster)).toContain('"idleTimeout":"4s"');
    expect(JSON.stringify(cluster)).toContain('"maxRequestsPerConnection":90');
  });
});

test('beside an endpoint picker, the service sees a request first, and the picker sees Chat Completions', () => {
  const pool = ['kind=InferencePool', 'group=inference.networking.k8s.io', 'port=null', 'name=models'];
  const objects = render('gateway.kind=istio', ...pool.map((setting) => `gateway.upstream.${setting}`));
  const beside = translateForIstio(withInferencePool(objects));
  const [first = {}] = beside.listeners;
  const { httpFilters } = first['filterChains'][0].filters.at(-1).typedConfig;
  const names = httpFilters.map(({ name }: Resource) => name);
  const place = names.indexOf(filterName);
  expect(place).toBeGreaterThanOrEqual(0);
  expect(names[place + 1]).toBe('envoy.filters.http.ext_proc');
  const translated: Resource[] = beside.routes
    .flatMap((config) => config['virtualHosts'].flatMap((host: Resource) => host['routes'] ?? []))
    .filter((route: Resource) => route['name'] === 'llm.responses-extproc.0');
  expect(translated).toHaveLength(3);
  for (const { typedPerFilterConfig, route } of translated) {
    expect(Object.keys(typedPerFilterConfig).sort()).toEqual(['envoy.filters.http.ext_proc', filterName]);
    expect(route.cluster).toMatch(/^outbound\|54321\|\|models-ip-/);
  }
});

test('beside an endpoint picker, bodies stream in both directions, and nothing is sent twice', () => {
  const pool = ['kind=InferencePool', 'group=inference.networking.k8s.io', 'port=null', 'name=models'];
  const objects = render('gateway.kind=istio', ...pool.map((setting) => `gateway.upstream.${setting}`));
  const beside = translateForIstio(withInferencePool(objects));
  const filter = filtersOf(beside).find(({ name }) => name === filterName);
  expect(filter?.['typedConfig'].processingMode).toMatchObject({
    requestBodyMode: 'FULL_DUPLEX_STREAMED',
    requestTrailerMode: 'SEND',
  });
  expect(filter?.['typedConfig'].grpcService).not.toHaveProperty('retryPolicy');
  for (const { route } of routesOf(beside).filter(({ name }) => name === 'llm.responses-extproc.0'))
    expect(route.retryPolicy.retryOn).toBe('none');
});

test('two releases on one Gateway translate each its own routes', () => {
  const shared = ['gateway.kind=istio', 'gateway.name=llm'];
  const first = render(...shared, 'gateway.hostnames={a.example}');
  const second = renderChart(
    [...shared, 'gateway.create=false', 'gateway.hostnames={b.example}'].flatMap((setting) => ['--set', setting]),
    'other',
  ).flatMap(({ text }) => parseObjects(text));
  const both = translateForIstio([...first, ...second]);
  const names = filtersOf(both).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([filterName, 'responses-extproc/llm/other-responses-extproc']));
  const filterOf = (host: string) =>
    both.routes
      .flatMap((config) => config['virtualHosts'] as Resource[])
      .filter(({ domains }) => domains.includes(host))
      .flatMap(({ routes: own }) => own as Resource[])
      .filter(({ match }) => match.pathSeparatedPrefix === '/v1/responses')
      .flatMap(({ typedPerFilterConfig }) => Object.keys(typedPerFilterConfig));
  expect(filterOf('a.example')).toEqual([filterName]);
  expect(filterOf('b.example')).toEqual(['responses-extproc/llm/other-responses-extproc']);
});

test('a Gateway that others use keeps its own limits of time', () => {
  const shared = render('gateway.kind=istio', 'gateway.create=false');
  const own = objectOf(manifests, 'Gateway');
  const [first = {}] = translateForIstio([own, ...shared]).listeners;
  const connections: Resource = first['filterChains'][0].filters.at(-1).typedConfig;
  for (const field of ['streamIdleTimeout', 'requestTimeout', 'localReplyConfig'])
    expect([field, connections[field]]).not.toEqual([field, manager[field]]);
});

test('the windows that bound what a client that does not read keeps in Envoy', () => {
  const windows = JSON.stringify(gateway.clusters.find(({ name }) => name === service));
  expect(windows).toContain('"initialStreamWindowSize":262144');
  const upstream = gateway.clusters.find(({ name }) => name === 'outbound|8000||llm.llm.svc.cluster.local');
  expect(upstream).toMatchObject({ perConnectionBufferLimitBytes: 262144 });
});

/** Envoy 1.36 lets no route take a larger body than its connection (1 MiB); Istio has 1.37 since 1.29. */
const envoys = [...envoyVersions].filter(([version]) => !version.startsWith('1.36.'));

// Side by side: most of it is waiting.
describe.concurrent.each(envoys)('Envoy %s on this configuration', (version, install) => {
  const configuration = ofIstio(gateway, environment);

  test('it is valid', () => {
    const options = { ...configuration, ports: { grpc: 50051 }, pods: [], upstream: 8000 };
    expect(validateBootstrap(install(), options)).toBe('');
  });

  test('a long stream, a large request, a pod’s death, a new pod and a rolling restart', async ({ expect }) => {
    const figures = await liveThrough({ binary: install(), ...configuration, expect });
    console.log(`Istio’s configuration, Envoy ${version}: ${JSON.stringify(figures)}`);
  }, 180_000);
});

function filtersOf({ listeners: [first = {}] }: IstioGateway): Resource[] {
  return first['filterChains'][0].filters.at(-1).typedConfig.httpFilters;
}

function routesOf(of: IstioGateway): Resource[] {
  return of.routes.flatMap((config) => config['virtualHosts'].flatMap((host: Resource) => host['routes'] ?? []));
}
