import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import { completion } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import { says } from '../support/websocket-mesh.ts';
import { translateForEnvoyGateway } from './envoy-gateway.ts';
import {
  chatService,
  type GatewayConfiguration,
  type GatewayKind,
  ofEnvoyGateway,
  ofIstio,
  type RunningGateway,
  render,
  runHelmTest,
  withGateway,
} from './gateways.ts';
import { type Ask, routedSpellings, statusesOf, waysToName } from './host-spellings.ts';
import { translateForIstio } from './istio.ts';
import { committedManifests, environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { type RouteSample, samplesOf, statusOf } from './route-samples.ts';
import { startTokenIssuer, type TokenIssuer } from './token-issuer.ts';

/** A limit on what hangs: each of these starts several control planes and Envoys. */
const timeout = 900_000;

let clients: TokenIssuer;
let strangers: TokenIssuer;
beforeAll(async () => {
  clients = await startTokenIssuer('https://issuer.example/');
  strangers = await startTokenIssuer('https://other.example');
});
afterAll(() => {
  clients.close();
  strangers.close();
});

type Auth = 'apiKey' | 'jwt';
const guards: readonly (readonly [GatewayKind, Auth])[] = [
  ['envoy-gateway', 'apiKey'],
  ['envoy-gateway', 'jwt'],
  ['istio', 'jwt'],
];

/** The values that require a key or a token of `clients`. */
function valuesOf(auth: Auth): string[] {
  if (auth === 'apiKey') return ['gateway.auth.apiKey.secretName=keys'];
  return [`gateway.auth.jwt.issuer=${clients.issuer}`, `gateway.auth.jwt.jwksUri=${clients.jwksUri}`];
}

function credentialsFor(auth: Auth): string {
  return `Bearer ${auth === 'apiKey' ? 'sk-ada' : clients.token('llm')}`;
}

/** What a gateway makes of these objects, with the keys that they name. */
function configurationOf(kind: GatewayKind, objects: readonly KubernetesObject[]): GatewayConfiguration {
  const environment = environmentOf(objectOf(objects, 'Deployment', 'responses-extproc'));
  if (kind === 'istio') return ofIstio(translateForIstio(withKeys(objects)), environment);
  const keys = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' }, data: { ada: btoa('sk-ada') } };
  const port = Number(new URL(clients.jwksUri).port);
  return {
    ...ofEnvoyGateway(translateForEnvoyGateway([...objects, ...chatService, keys]), environment),
    endpoints: { [`127_0_0_1_${port}`]: [{ address: '127.0.0.1', port }] }, // the issuer, as Envoy Gateway names it
  };
}

/** Istio's control plane gets an issuer's keys itself; here they are given to it. */
function withKeys(objects: readonly KubernetesObject[]): KubernetesObject[] {
  return objects.map((object) => {
    if (object.kind !== 'RequestAuthentication') return object;
    const jwtRules = object.spec.jwtRules.map(({ jwksUri, ...rule }: { jwksUri: string }) => ({
      ...rule,
      jwks: [clients, strangers].find((issuer) => issuer.jwksUri === jwksUri)?.jwks,
    }));
    return { ...object, spec: { ...object.spec, jwtRules } };
  });
}

function answer({ chat }: RunningGateway): void {
  for (const model of ['m', 'helm-test']) chat.script(model, { body: [completion({ content: 'Hi' })] });
  chat.script('/v1/models', { body: ['{"object":"list","data":[]}'] });
}

function nameOf({ host, method, path, headers }: RouteSample): string {
  const how = 'upgrade' in headers ? ', as a WebSocket' : 'cdn-loop' in headers ? ', come back' : '';
  return `${method} ${path} of ${host}${how}`;
}

/** One that the chart does not create. */
const othersGateway = objectOf(committedManifests('envoy/istio'), 'Gateway');
const webSocket = ['webSocket.enabled=true', 'webSocket.forwardTo=http://gateway.example/v1'];

describe.each(guards)('under %s with gateway.auth.%s', { timeout }, (kind, auth) => {
  const made = new Map<string, { objects: KubernetesObject[]; configuration: GatewayConfiguration }>();
  /** The chart with WebSockets and these values, and what the gateway makes of it; made once. */
  const withValues = (...values: readonly string[]) => {
    const key = values.join();
    const objects = made.get(key)?.objects ?? render(`gateway.kind=${kind}`, ...webSocket, ...values);
    const one = made.get(key) ?? { objects, configuration: configurationOf(kind, objects) };
    made.set(key, one);
    return one;
  };

  test('no route is open without a key, the WebSocket’s neither', async () => {
    const walk = async (values: readonly string[], ...authorizations: readonly (string | undefined)[]) => {
      const { objects, configuration } = withValues(...values);
      const walks = authorizations.map(() => new Map<string, number>());
      await withGateway(configuration, async (gateway) => {
        answer(gateway);
        for (const [index, authorization] of authorizations.entries()) {
          const before = gateway.chat.all.length;
          for (const sample of samplesOf(configuration.controlPlane.routes))
            walks[index]?.set(nameOf(sample), await statusOf(gateway.url, sample, authorization));
          if (values.length > 0 && refused.includes(authorization)) expect(gateway.chat.all).toHaveLength(before);
        }
        // Each of them was a request for a route.
        expect(await gateway.envoy.admin('/stats?filter=no_route')).toMatch(/no_route: 0\b/);
        expect(await gateway.envoy.admin('/stats?filter=no_route')).not.toMatch(/no_route: [1-9]/);
        expect(await runHelmTest(objects, gateway.url)).toBe(0);
      });
      return walks;
    };
    const refused = [undefined, 'Bearer sk-eve', `Bearer ${strangers.token('llm')}`];
    const [open = new Map()] = await walk([], undefined);
    const [withKey, ...without] = await walk(valuesOf(auth), credentialsFor(auth), ...refused);
    for (const [name, status] of open)
      console.log(`${kind}, ${auth}, ${name}: ${status}, then ${without[0]?.get(name)}`);
    expect(open.get('GET /v1/responses of any.example, as a WebSocket')).toBe(101);
    expect(open.get('GET /below of any.example, come back')).toBe(508);
    expect([...open].filter(([, status]) => status === 401 || status === 403)).toEqual([]);
    for (const statuses of without) {
      expect([...statuses.keys()]).toEqual([...open.keys()]);
      expect([...statuses].filter(([, status]) => status !== 401)).toEqual([]);
    }
    expect(withKey).toEqual(open);
  });

  test('a WebSocket’s turns have the key of its handshake, which the upstream never sees', async () => {
    await withGateway(withValues(...valuesOf(auth)).configuration, async ({ url, chat }) => {
      chat.script('m', says('Hi'));
      const authorization = credentialsFor(auth);
      await expect(openWebSocket(`${url}/v1/responses`)).rejects.toMatchObject({ name: 'HandshakeError' });
      const client = await openWebSocket(`${url}/v1/responses`, { authorization });
      expect((await client.turn({ model: 'm', input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
      await client.close();
      expect(chat.received('m')).toHaveLength(1);
      expect(chat.received('m')[0]?.headers).toMatchObject({ 'x-client': 'ada' });
      if (kind === 'istio' || auth === 'apiKey')
        expect(chat.received('m')[0]?.headers).not.toHaveProperty('authorization');
    });
  });

  test('a refusal of the gateway is the API’s, one of the upstream stays what it is', async () => {
    await withGateway(withValues(...valuesOf(auth)).configuration, async ({ url, chat, pod }) => {
      await expectRefusal(`${url}/v1/responses`);
      chat.script('theirs', { status: 401, body: ['{"error":{"message":"Not for you","code":"theirs"}}'] });
      const answer = await fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: credentialsFor(auth) },
        body: JSON.stringify({ model: 'theirs', input: 'Hi' }),
      });
      expect([answer.status, await answer.json()]).toMatchObject([401, { error: { message: 'Not for you' } }]);
      const ended = (outcome: string) => pod.metric('responses_extproc_exchanges_total', { outcome });
      await expect.poll(() => Promise.all(['local_reply', 'upstream_error'].map(ended))).toEqual([1, 1]);
      expect(await pod.metric('responses_extproc_upstream_errors_total')).toBe(1);
      const logged = await pod.logged(({ outcome }) => outcome === 'local_reply');
      expect(logged).toMatchObject({ status: 401, upstream_status: null, method: 'GET', path: '/v1/responses' });
      expect(logged['request_id']).toMatch(/./);
    });
  });

  test('where the upstream leads back, the second pass is refused if it has no key, and the fourth if it has', async () => {
    await withGateway(
      withValues(...valuesOf(auth)).configuration,
      async ({ url }) => {
        const sample = { host: 'any.example', method: 'GET', path: '/v1/models', headers: {} };
        const expected = kind === 'istio' || auth === 'apiKey' ? 401 : 508;
        expect(await statusOf(url, sample, credentialsFor(auth))).toBe(expected);
      },
      { leadsBack: true },
    );
  });
});

/** The API's answer to a request without a token. */
async function expectRefusal(url: string, host = 'any.example'): Promise<void> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { headers: { host } }, resolve).once('error', reject).end();
  });
  expect(answer.statusCode).toBe(401);
  expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
  expect(await new Response(Readable.toWeb(answer) as ReadableStream).json()).toMatchObject({
    error: { type: 'invalid_request', code: 'invalid_api_key' },
  });
}

/** Short ones: an edit within a long label is like any other there, and each is a request. */
const hosts: readonly (readonly [string, string, readonly string[]])[] = [
  ['of one host', 'a.bc.d', ['gateway.hostnames={a.bc.d}']],
  ['of a wildcard', 'a.bc.d', ['gateway.hostnames={*.bc.d}']],
  ['of all hosts', 'a.bc.d', []],
];
const shared = ['gateway.create=false', 'gateway.auth.jwt.wholeGateway=true', 'gateway.istio.connection=true'];

test.each([
  ...guards.flatMap((guard) => hosts.map((one) => [...guard, ...one] as const)),
  ...hosts.map(
    ([of, host, more]) => ['istio', 'jwt', `${of}, on others’ Gateway,`, host, [...more, ...shared]] as const,
  ),
])(
  'under %s with gateway.auth.%s routes %s ask for a key in every spelling that Envoy routes',
  { timeout },
  async (kind, auth, of, host, values) => {
    const others = values.includes('gateway.create=false') ? [othersGateway] : [];
    const objects = [...others, ...render(`gateway.kind=${kind}`, ...values, ...valuesOf(auth))];
    await withGateway(configurationOf(kind, objects), async (gateway) => {
      answer(gateway);
      const key = credentialsFor(auth);
      const spellings = await routedSpellings(gateway.url, [host, `${host}:80`], key);
      const named: { ask: Ask; one: string; how: string }[] = [];
      for (const [way, ask] of waysToName)
        for (const one of [host, `${host}:8080`, host.toUpperCase()])
          if ((await ask(gateway.url, one, key)) === 200) named.push({ ask, one, how: `${way}: ${one}` });
      console.log(`${kind}, ${auth}, ${of}: ${spellings.length} spellings, ${named.map(({ how }) => how).join(', ')}`);
      expect(spellings).toEqual(expect.arrayContaining([host, `${host}:80`, `${host}:8`, `A${host.slice(1)}`]));
      const asked = ['HTTP/1.0', 'HTTP/2', 'the target'].map((way) => `${way}: ${host}`);
      expect(named.map(({ how }) => how)).toEqual(expect.arrayContaining(asked));

      const before = gateway.chat.all.length;
      const statuses = await statusesOf(gateway.url, spellings);
      const got = spellings.map((one, index) => [one, statuses[index] ?? 0] as const);
      for (const { ask, one, how } of named) got.push([how, await ask(gateway.url, one)]);
      expect(got.filter(([, status]) => status !== 401)).toEqual([]);
      expect(gateway.chat.all).toHaveLength(before);
    });
  },
);

const denialOfOthers = `
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: others }
spec:
  selector: { matchLabels: { gateway.networking.k8s.io/gateway-name: llm } }
  action: DENY
  rules: [{ to: [{ operation: { paths: [/v1/models/private] } }] }]
`;

test('on a Gateway that several use under Istio, a token opens the hosts that it is for, and no other', {
  timeout,
}, async () => {
  const release = (name: string, ...values: readonly string[]) =>
    renderChart(
      ['gateway.kind=istio', 'gateway.create=false', `gateway.hostnames={${name}.example}`, ...values].flatMap(
        (value) => ['--set', value],
      ),
      name,
    ).flatMap(({ text }) => parseObjects(text));
  const tokensOf = ({ issuer, jwksUri }: TokenIssuer, audience: string) => [
    ...[`gateway.auth.jwt.issuer=${issuer}`, `gateway.auth.jwt.jwksUri=${jwksUri}`],
    ...[`gateway.auth.jwt.audiences={${audience}}`, 'gateway.auth.jwt.wholeGateway=true'],
  ];
  const configuration = configurationOf('istio', [
    othersGateway,
    ...release('responses-extproc', ...tokensOf(clients, 'llm')),
    ...release('second', ...tokensOf(clients, 'second')),
    ...release('third', ...tokensOf(strangers, 'third')),
    ...release('open'),
    ...parseObjects(denialOfOthers),
  ]);
  const unknown = await startTokenIssuer('https://unknown.example');
  unknown.close();
  const tokens = {
    none: undefined,
    'of the first': clients.token('llm'),
    'of the second': clients.token('second'),
    'of both': clients.token('llm', 'second'),
    'of the third': strangers.token('third'),
    'of an unknown issuer': unknown.token('llm'),
  };
  await withGateway(configuration, async (gateway) => {
    answer(gateway);
    const statuses = async (host: string) => {
      const sample = { host, method: 'GET', path: '/v1/models', headers: {} };
      const found: Record<string, number> = {};
      for (const [name, token] of Object.entries(tokens))
        found[name] = await statusOf(gateway.url, sample, token === undefined ? undefined : `Bearer ${token}`);
      return Object.values(found);
    };
    expect(Object.keys(tokens)).toHaveLength(6);
    expect(await statuses('responses-extproc.example')).toEqual([401, 200, 401, 200, 401, 401]);
    expect(await statuses('responses-extproc.example:80')).toEqual([401, 200, 401, 200, 401, 401]);
    expect(await statuses('second.example')).toEqual([401, 401, 200, 200, 401, 401]);
    expect(await statuses('third.example')).toEqual([401, 401, 401, 401, 200, 401]);
    await expectRefusal(`${gateway.url}/v1/models`, 'second.example');
    const ofOthers = { host: 'open.example', method: 'GET', path: '/v1/models/private', headers: {} };
    expect(await statusOf(gateway.url, ofOthers)).toBe(403);
    // What values.yaml says of `wholeGateway`.
    expect(await statuses('open.example')).toEqual([200, 200, 200, 200, 200, 401]);
  });
});
