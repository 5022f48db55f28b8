import { describe, expect, test } from 'vitest';
import { delta, eventStream, reset } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import { type Resource, translateForEnvoyGateway } from './envoy-gateway.ts';
import {
  chatService,
  configurationOf,
  type GatewayConfiguration,
  gatewayKinds,
  render,
  withGateway,
} from './gateways.ts';
import { translateForIstio } from './istio.ts';
import { environmentOf, objectOf } from './manifests.ts';

const on = ['webSocket.enabled=true', 'webSocket.forwardTo=http://gateway.example/v1'];

// Here rather than in a test: the first call builds Istio's tool.
const istio = translateForIstio(render('gateway.kind=istio', ...on));

describe('the chart with webSocket.enabled', () => {
  test('gives the service a port and an address of the gateway, and lets both through', () => {
    const objects = render('gateway.kind=istio', ...on);
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({
      WEBSOCKET_LISTEN: '0.0.0.0:50052',
      WEBSOCKET_FORWARD_TO: 'http://gateway.example/v1',
    });
    const service = objectOf(objects, 'Service').spec;
    expect(service.ports.map(({ name, port }: Resource) => [name, port])).toContainEqual(['websocket', 50052]);
    const policy = objectOf(objects, 'NetworkPolicy').spec;
    expect(policy.ingress[0].ports).toContainEqual({ port: 'websocket' });
    expect(policy.egress[0].to).toEqual(policy.ingress[0].from);
    expect(policy.egress[1].ports).toContainEqual({ port: 53, protocol: 'UDP' });
  });

  test('knows where a Gateway of its own is, and asks where it cannot know', () => {
    const forwardTo = (...values: readonly string[]) =>
      environmentOf(objectOf(render('webSocket.enabled=true', ...values), 'Deployment'))['WEBSOCKET_FORWARD_TO'];
    expect(forwardTo('gateway.kind=istio')).toMatch(/^http:\/\/llm-istio\.llm\.svc:80\/v1$/);
    expect(forwardTo('gateway.kind=envoy-gateway')).toMatch(
      /^http:\/\/envoy-llm-llm-[0-9a-f]{8}\.envoy-gateway-system\.svc:80\/v1$/,
    );
    for (const unknown of ['gateway.create=false', 'gateway.tlsSecretName=certificate'])
      expect(() => forwardTo('gateway.kind=envoy-gateway', unknown)).toThrow(/webSocket\.forwardTo: say/);
  });

  test('is off by default: no port, no route', () => {
    const objects = render('gateway.kind=istio');
    expect(environmentOf(objectOf(objects, 'Deployment'))).not.toHaveProperty('WEBSOCKET_LISTEN');
    expect(objects.filter(({ metadata }) => metadata.name.endsWith('-websocket'))).toEqual([]);
  });
});

/** The routes of upgrades must come before the one that they are a part of. Returns the first. */
function expectUpgradeRoute(routes: readonly Resource[], filter: string): Resource {
  const upgrades = routes.filter(({ match }) => match.headers?.some(({ name }: Resource) => name === 'upgrade'));
  expect(upgrades.map(({ match }) => match.path).sort()).toEqual(['/v1/responses', '/v1/responses/']);
  const rest = routes.findIndex(({ match }) => match.pathSeparatedPrefix === '/v1/responses');
  for (const route of upgrades) {
    expect(routes.indexOf(route)).toBeLessThan(rest);
    expect(Object.keys(route['typedPerFilterConfig'] ?? {}).filter((name) => name.includes(filter))).toEqual([]);
  }
  return upgrades[0]?.['route'];
}

test('Envoy Gateway leads upgrades to the service, without the filter, for as long as they live', () => {
  const translated = translateForEnvoyGateway([...render('gateway.kind=envoy-gateway', ...on), ...chatService]);
  const routes: Resource[] = translated.routes.flatMap((config) =>
    config['virtualHosts'].flatMap((host: Resource) => host['routes']),
  );
  const route = expectUpgradeRoute(routes, 'ext_proc');
  expect(route).toMatchObject({ timeout: '0s', idleTimeout: '120s' });
  expect(route['upgradeConfigs']).toEqual([{ upgradeType: 'websocket' }]);
  expect(route['cluster']).toContain('websocket');
});

test('Istio leads upgrades to the service, without the filter, for as long as they live', () => {
  const all: Resource[] = istio.routes.flatMap((config) =>
    config['virtualHosts'].flatMap((host: Resource) => host['routes']),
  );
  const route = expectUpgradeRoute(all, 'responses-extproc');
  expect(route).toMatchObject({ timeout: '0s', idleTimeout: '120s' });
  expect(route['cluster']).toContain('outbound|50052||responses-extproc');
});

/** Nothing of a WebSocket may wait for it: how long it is differs from one gateway to the other. */
function withoutDelayedClose(configuration: GatewayConfiguration): GatewayConfiguration {
  const listener = structuredClone(configuration.controlPlane.listener);
  for (const { filters } of [...(listener['filterChains'] ?? []), listener['defaultFilterChain'] ?? []].flat())
    filters.at(-1).typedConfig.delayedCloseTimeout = '600s';
  return { ...configuration, controlPlane: { ...configuration.controlPlane, listener } };
}

test.each(gatewayKinds)(
  'under %s a turn is told of a reset and is interrupted, and the connection closes, without Envoy’s delayed_close_timeout',
  async (kind) => {
    const configuration = withoutDelayedClose(configurationOf(kind, ...on));
    await withGateway(configuration, async ({ url, chat }) => {
      chat.script('resets', { headers: eventStream, body: [delta({ content: 'a' }), 50, reset] });
      chat.script('stays', { headers: eventStream, body: [delta({ content: 'a' }), () => new Promise(() => {})] });
      const client = await openWebSocket(`${url}/v1/responses`);
      const broken = await client.turn({ model: 'resets', input: 'Hi' });
      expect(broken.at(-1)).toMatchObject({ type: 'error', error: { code: 'upstream_stream_truncated' } });
      client.send({ type: 'response.create', model: 'stays', input: 'Hi' });
      const begun = await client.message(({ type }) => type === 'response.created');
      await client.message(({ type }) => type === 'response.output_text.delta');
      client.send({ type: 'response.interrupt', response_id: begun.response?.id, mode: 'discard_partial_items' });
      const ended = await client.message(({ type }) => type === 'response.incomplete');
      expect(ended).toMatchObject({ response: { incomplete_details: { reason: 'interrupted' } } });
      expect(await chat.received('stays')[0]?.over).toBe(false);
      await client.close();
      expect((await client.closed).code).toBe(1005);
    });
  },
);
