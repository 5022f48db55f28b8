import { describe, expect, test } from 'vitest';
import { type Resource, translateForEnvoyGateway } from './envoy-gateway.ts';
import { chatService, gatewayKinds, render } from './gateways.ts';
import { translateForIstio } from './istio.ts';
import { type KubernetesObject, objectOf } from './manifests.ts';

const MiB = 1024 * 1024;

function inNamespace(namespace: string, objects: readonly KubernetesObject[]): KubernetesObject[] {
  return objects.map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));
}

describe('under Envoy Gateway', () => {
  const own = render('gateway.kind=envoy-gateway', 'gateway.allowedRoutes.namespaces.from=All');
  const gatewayElsewhere = [
    objectOf(own, 'GatewayClass'),
    ...inNamespace('ingress', [objectOf(own, 'Gateway'), objectOf(own, 'EnvoyProxy')]),
  ];

  test('a Gateway in another namespace takes bodies as large as the service does', () => {
    const release = render('gateway.kind=envoy-gateway', 'gateway.create=false', 'gateway.namespace=ingress');
    const made = translateForEnvoyGateway([...gatewayElsewhere, ...release, ...chatService]);
    for (const name of ['ClientTrafficPolicy', 'HTTPRoute', 'EnvoyExtensionPolicy', 'BackendTrafficPolicy']) {
      const conditions = made.conditions.get(`${name}/responses-extproc`) ?? [];
      expect(conditions, name).not.toEqual([]);
      for (const { status, message } of conditions) expect(status, `${name}: ${message}`).toBe('True');
    }
    const listener = made.listeners.find(({ name }) => name === 'ingress/llm/http');
    expect(listener?.['perConnectionBufferLimitBytes']).toBe(27 * MiB);
  });

  test('a GatewayClass of others runs the Gateway as the chart’s own does', () => {
    const objects = render('gateway.kind=envoy-gateway', 'gateway.className=shared');
    expect(objects.filter(({ kind }) => kind === 'GatewayClass')).toEqual([]);
    expect(objectOf(objects, 'EnvoyProxy')).toEqual(objectOf(render('gateway.kind=envoy-gateway'), 'EnvoyProxy'));
    const { group, kind, name } = objectOf(objects, 'Gateway').spec.infrastructure.parametersRef;
    expect([group, kind, name]).toEqual(['gateway.envoyproxy.io', 'EnvoyProxy', 'responses-extproc']);
    const shared = { ...objectOf(own, 'GatewayClass'), metadata: { name: 'shared' } };
    const { conditions } = translateForEnvoyGateway([shared, ...objects, ...chatService]);
    expect(conditions.get('HTTPRoute/responses-extproc')).toMatchObject([{ status: 'True' }, { status: 'True' }]);
  });
});

test.each(gatewayKinds)('under %s the Gateway takes routes of other namespaces where it is asked to', (kind) => {
  const routesOf = (...values: readonly string[]) => {
    const stranger = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'stranger', namespace: 'other' },
      spec: {
        parentRefs: [{ name: 'llm', namespace: 'llm' }],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/stranger' } }],
            filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'stranger.example' } }],
          },
        ],
      },
    };
    const objects = [...render(`gateway.kind=${kind}`, ...values), stranger];
    const made = kind === 'istio' ? translateForIstio(objects) : translateForEnvoyGateway([...objects, ...chatService]);
    return JSON.stringify(made.routes);
  };
  expect(routesOf()).not.toContain('stranger.example');
  expect(routesOf('gateway.allowedRoutes.namespaces.from=All')).toContain('stranger.example');
});

describe('a Chat server in another namespace', () => {
  const values = ['gateway.upstream.namespace=models'];

  test('under Envoy Gateway is reached by the routes, which a ReferenceGrant there allows', () => {
    const objects = render('gateway.kind=envoy-gateway', ...values);
    const elsewhere = inNamespace('models', chatService);
    const leads = (others: readonly KubernetesObject[]) =>
      translateForEnvoyGateway([...others, ...elsewhere])
        .routes.flatMap((config) => config['virtualHosts'] as Resource[])
        .flatMap(({ routes }) => routes as Resource[])
        .filter(({ name }) => String(name).startsWith('httproute/llm/responses-extproc/'))
        .map(({ route }) => route?.cluster);
    expect(new Set(leads(objects))).toEqual(new Set(['httproute/llm/responses-extproc/rule/0']));
    expect(objectOf(objects, 'ReferenceGrant').metadata.namespace).toBe('models');
    expect(new Set(leads(objects.filter(({ kind }) => kind !== 'ReferenceGrant')))).toEqual(new Set([undefined]));
  });

  test('under Istio is reached too, with the same limits', () => {
    const made = translateForIstio([...render('gateway.kind=istio', ...values), ...inNamespace('models', chatService)]);
    const cluster = made.clusters.find(({ name }) => name === 'outbound|8000||llm.models.svc.cluster.local');
    expect(cluster).toMatchObject({ perConnectionBufferLimitBytes: 262144 });
    expect(JSON.stringify(cluster)).toContain('"maxRequestsPerConnection":90');
    expect(JSON.stringify(made.routes)).toContain('outbound|8000||llm.models.svc.cluster.local');
  });
});
