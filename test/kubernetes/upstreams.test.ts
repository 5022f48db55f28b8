import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import { envoyVersions } from '../matrix/versions.ts';
import { type CertificateAuthority, createAuthority } from '../support/certificates.ts';
import { completion, type Received, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import type { Resource } from './envoy-gateway.ts';
import {
  configurationFrom,
  type GatewayConfiguration,
  type GatewayKind,
  gatewayKinds,
  type RunningGateway,
  withGateway,
} from './gateways.ts';
import { environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';

const answer = { body: [completion({ content: 'Hi' })] };
const keys = {
  ...{ alpha: 'sk-alpha', beta: 'key-beta', openai: 'sk-openai' },
  // As secret stores have them: as the provider gives them, or as another program wanted them.
  ...{ raw: 'sk-raw', schemed: 'Bearer sk-schemed', azure: 'key-azure', own: 'key-own' },
} as const;

/** Profiles with the value of the header by which each upstream has to see the key of its name. */
const providers = [
  { name: 'raw', profile: 'openai', seen: { authorization: 'Bearer sk-raw' } },
  { name: 'schemed', profile: 'openai', seen: { authorization: 'Bearer sk-schemed' } },
  { name: 'azure', profile: 'azure', seen: { 'api-key': 'key-azure' } },
  { name: 'own', profile: 'mine', seen: { 'api-key': 'key-own' } },
] as const;

/** Two hosted APIs with keys of their own, one of them at another path, name and header, and a server in the cluster. */
const upstreams = [
  {
    ...{ name: 'alpha', host: 'api.alpha.example', port: 443, profile: 'openai', models: ['alpha-1', 'gpt-*'] },
    ...{ tls: { caSecret: 'authority' }, apiKey: { name: 'alpha' } },
  },
  {
    ...{ name: 'beta', host: 'beta.example.com', port: 8443, profile: 'mistral', models: ['beta/*'] },
    ...{ path: '/openai/v1/chat/completions', apiKey: { name: 'beta', header: 'api-key' } },
    ...{ tls: { caSecret: 'authority', sni: 'edge.beta.example', subjectAltNames: ['edge.beta.example'] } },
  },
  { name: 'own', service: { name: 'llm' }, port: 8000, profile: 'vllm' },
];

let authority: CertificateAuthority;
let alpha: ScriptedUpstream;
let beta: ScriptedUpstream;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'responses-extproc-keys-'));
  authority = createAuthority('authority of the test');
  alpha = await startScriptedUpstream({ tls: authority.issue('alpha', 'DNS:api.alpha.example,DNS:api.openai.com') });
  beta = await startScriptedUpstream({ tls: authority.issue('beta', 'DNS:edge.beta.example') });
  for (const [name, key] of Object.entries(keys)) {
    mkdirSync(join(folder, `responses-extproc-${name}`));
    writeFileSync(join(folder, `responses-extproc-${name}`, 'credential'), key);
  }
});
afterAll(async () => {
  await Promise.all([alpha.close(), beta.close()]);
  authority.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** What the cluster has besides: the server's Service, and Secrets. */
function surroundings(): KubernetesObject[] {
  const secret = (name: string, data: Record<string, string>) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name } },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  });
  return [
    ...parseObjects('{ apiVersion: v1, kind: Service, metadata: { name: llm }, spec: { ports: [{ port: 8000 }] } }'),
    secret('authority', { 'ca.crt': readFileSync(authority.caFile, 'utf8') }),
    ...Object.entries(keys).map(([name, credential]) => secret(name, { credential })),
  ];
}

function rendered(kind: GatewayKind, values: readonly object[] = upstreams, ...settings: string[]): KubernetesObject[] {
  return renderChart([
    ...['--set', `gateway.kind=${kind}`, '--set', 'gateway.envoyGateway.patchPolicy=true'],
    ...['--set-json', `gateway.upstreams=${JSON.stringify(values)}`],
    ...settings.flatMap((setting) => ['--set', setting]),
  ]).flatMap(({ text }) => parseObjects(text));
}

/** The gateway's configuration, with the hosted APIs at their addresses here. */
function configured(kind: GatewayKind, objects: readonly KubernetesObject[]): GatewayConfiguration {
  const made = configurationFrom(kind, kind === 'istio' ? objects : [...objects, ...surroundings()]);
  const places = {
    ...{ 'api.alpha.example': alpha, 'api.openai.com': alpha, 'beta.example.com': beta },
    ...Object.fromEntries(providers.map(({ name }) => [`${name}.provider.example`, alpha])),
  };
  const endpoints = made.controlPlane.clusters.flatMap((cluster: Resource) =>
    Object.entries(places)
      .filter(([host]) => JSON.stringify([cluster['name'], cluster['loadAssignment']]).includes(host))
      .map(([, { port }]) => [cluster['name'], [{ address: '127.0.0.1', port }]]),
  );
  expect(endpoints.length).toBeGreaterThan(0);
  const secrets = (name: string): Resource => {
    const [, key] = Object.entries(keys).find(([of]) => name.endsWith(`-${of}-key`)) ?? [];
    return key === undefined
      ? { validationContext: { trustedCa: { filename: authority.caFile } } }
      : { genericSecret: { secret: { inlineString: key } } };
  };
  return { ...made, endpoints: Object.fromEntries(endpoints), secrets };
}

/** What Istio's agent adds to the bootstrap, with the keys where they are here. */
function bootstrapOf(objects: readonly KubernetesObject[]): string | undefined {
  const overload = objects.find(({ metadata }) => metadata.name === 'responses-extproc-overload');
  return overload?.data?.['bootstrap.yaml']?.replaceAll('/etc/istio/keys', folder);
}

const byKind = (kind: GatewayKind) => {
  const objects = rendered(kind);
  const configYaml = kind === 'istio' ? bootstrapOf(objects) : undefined;
  return { configuration: configured(kind, objects), options: { configYaml } };
};

/** Sends a request of a client with a key; resolves with the status, and which upstream has seen what of it. */
async function send(
  { url, chat }: RunningGateway,
  script: string,
  body: object,
  { path = '/v1/responses', headers = {} } = {},
): Promise<{ status: number; seen: Record<'alpha' | 'beta' | 'own', readonly Received[]> }> {
  for (const upstream of [alpha, beta, chat]) upstream.script(script, answer);
  const before = { alpha: alpha.received(script), beta: beta.received(script), own: chat.received(script) };
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'x-test-script': script },
      ...{ authorization: 'Bearer of-the-client', 'api-key': 'of-the-client' },
      ...headers,
    },
    body: JSON.stringify(body),
  });
  await response.text();
  const since = (name: keyof typeof before, { received }: ScriptedUpstream) =>
    received(script).slice(before[name].length);
  return {
    status: response.status,
    seen: { alpha: since('alpha', alpha), beta: since('beta', beta), own: since('own', chat) },
  };
}

/** Envoy 1.36 lets no route take a larger body than its connection; both gateways have newer ones. */
const envoys = [...envoyVersions].filter(([version]) => !version.startsWith('1.36.'));

describe.each(gatewayKinds)('under %s', (kind) => {
  test('two hosted APIs and a server of one’s own are behind one URL, each with its models, its key and its profile', async () => {
    const { configuration, options } = byKind(kind);
    await withGateway(
      configuration,
      async (gateway) => {
        const ask = (model: string) => ({ model, input: 'Hi', max_output_tokens: 64 });
        const cases = [
          ['alpha-1', 'alpha'],
          ['gpt-5', 'alpha'],
          ['beta/large', 'beta'],
          ['alpha-10', 'own'],
          ['qwen3', 'own'],
        ] as const;
        for (const [model, where] of cases) {
          const { status, seen } = await send(gateway, `responses ${model}`, ask(model));
          expect([model, status]).toEqual([model, 200]);
          const counts = Object.entries(seen).map(([name, requests]) => [name, requests.length]);
          expect([model, Object.fromEntries(counts)]).toEqual([
            model,
            { ...{ alpha: 0, beta: 0, own: 0 }, [where]: 1 },
          ]);
          const [request] = seen[where];
          console.log(`${kind}: ${model} → ${where}: ${JSON.stringify(summaryOf(request))}`);
          expect(request?.headers).not.toHaveProperty('x-gateway-model-name');
          if (where === 'alpha') {
            expect(request).toMatchObject({ path: '/v1/chat/completions', serverName: 'api.alpha.example' });
            expect(request?.headers).toMatchObject({
              authorization: `Bearer ${keys.alpha}`,
              host: 'api.alpha.example',
            });
            expect(request?.json()).toHaveProperty('max_completion_tokens', 64); // profile openai
          } else if (where === 'beta') {
            expect(request).toMatchObject({ path: '/openai/v1/chat/completions', serverName: 'edge.beta.example' });
            expect(request?.headers).toMatchObject({ 'api-key': keys.beta, host: 'beta.example.com' });
            expect(request?.headers).not.toHaveProperty('authorization');
            expect(request?.json()).toHaveProperty('max_tokens', 64); // profile mistral
          } else {
            expect(request).toMatchObject({ path: '/v1/chat/completions', serverName: undefined });
            expect(request?.headers).toMatchObject({ authorization: 'Bearer of-the-client' });
          }
          if (where !== 'own') expect(JSON.stringify(request?.headers)).not.toContain('of-the-client');
          for (const [name, key] of Object.entries(keys))
            if (name !== where) expect(JSON.stringify(request?.headers)).not.toContain(key);
        }
        // Chat Completions that are not translated go where Responses go, with the same keys.
        const chatOf = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hi' }] });
        const path = '/v1/chat/completions';
        const untouched = await send(gateway, 'untouched', chatOf('beta/large'), { path });
        expect(untouched.seen.beta[0]).toMatchObject({ path: '/openai/v1/chat/completions' });
        expect(untouched.seen.beta[0]?.headers).toMatchObject({ 'api-key': keys.beta });
        expect((await send(gateway, 'untouched', chatOf('gpt-5'), { path })).seen.alpha).toHaveLength(1);
        expect((await send(gateway, 'untouched', chatOf('qwen3'), { path })).seen.own).toHaveLength(1);
        // A client’s word for the model is not the body’s.
        const forged = await send(gateway, 'forged', ask('qwen3'), { headers: { 'x-gateway-model-name': 'gpt-5' } });
        expect([forged.seen.alpha, forged.seen.own.length]).toEqual([[], 1]);
        // A large request waits for its model too.
        const text = 'x'.repeat(3_000_000);
        const input = [{ role: 'user', content: [{ type: 'input_text', text }] }];
        expect((await send(gateway, 'large', { input, model: 'gpt-5' })).seen.alpha).toHaveLength(1);
        // What has no body is the default’s.
        gateway.chat.script('/v1/models', { body: ['{"object":"list","data":[]}'] });
        expect((await fetch(`${gateway.url}/v1/models`, { headers: { 'x-gateway-model-name': 'gpt-5' } })).status).toBe(
          200,
        );
        // And what comes round is noticed before any of it.
        const loops = { 'cdn-loop': 'responses-extproc, responses-extproc, responses-extproc' };
        expect((await send(gateway, 'loop', ask('gpt-5'), { headers: loops })).status).toBe(508);
      },
      options,
    );
  });

  test('a certificate for another name gets no request', async () => {
    const [first = {}, ...others] = upstreams;
    const objects = rendered(kind, [{ ...first, tls: { caSecret: 'authority', sni: 'other.example' } }, ...others]);
    await withGateway(
      configured(kind, objects),
      async (gateway) => {
        const { status, seen } = await send(gateway, 'impostor', { model: 'gpt-5', input: 'Hi' });
        expect(status).toBeGreaterThanOrEqual(500);
        expect(seen).toEqual({ alpha: [], beta: [], own: [] });
      },
      { configYaml: kind === 'istio' ? bootstrapOf(objects) : undefined },
    );
  });

  test('one hosted API alone needs no models, and no more of the gateway than that', async () => {
    const [hosted] = upstreams;
    const objects = rendered(kind, [{ ...hosted, models: [] }], 'gateway.envoyGateway.patchPolicy=false');
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({ UPSTREAM_PROFILE: 'openai' });
    expect(JSON.stringify(objects)).not.toContain('envoy_on_request');
    await withGateway(
      configured(kind, objects),
      async (gateway) => {
        const { status, seen } = await send(gateway, 'alone', { model: 'whatever', input: 'Hi' });
        expect(status).toBe(200);
        expect(seen.alpha[0]?.headers).toMatchObject({
          authorization: `Bearer ${keys.alpha}`,
          host: 'api.alpha.example',
        });
      },
      { configYaml: kind === 'istio' ? bootstrapOf(objects) : undefined },
    );
  });

  test('a key in a Secret, with or without a scheme, is one header of its profile', async () => {
    const key = kind === 'istio' ? 'token' : 'credential'; // Envoy Gateway reads no other
    const hosted = providers.map(({ name, profile }) => ({
      ...{ name, profile, host: `${name}.provider.example`, port: 443, path: '/v1/chat/completions' },
      ...{ models: name === 'raw' ? [] : [name], apiKey: { name, key } },
      tls: { caSecret: 'authority', sni: 'api.alpha.example' },
    }));
    const objects = rendered(kind, hosted, 'profiles.mine.extends=azure');
    if (kind === 'istio') expect(JSON.stringify(objects)).toContain('key: token, path: credential');
    const file = join(folder, 'profiles.json');
    const profiles = objects.find(({ metadata }) => metadata.name === 'responses-extproc-profiles');
    writeFileSync(file, profiles?.data?.['profiles.json'] ?? '');
    const configuration = configured(kind, objects);
    await withGateway(
      { ...configuration, environment: { ...configuration.environment, UPSTREAM_PROFILES_FILE: file } },
      async (gateway) => {
        for (const { name, seen } of providers) {
          const { seen: bySeen } = await send(gateway, `key ${name}`, { model: name, input: 'Hi' });
          const [request] = bySeen.alpha;
          console.log(`${kind}: the Secret has ${keys[name]}: ${JSON.stringify(summaryOf(request))}`);
          const { authorization, 'api-key': apiKey, host } = request?.headers ?? {};
          expect({ authorization, 'api-key': apiKey, host }).toEqual({
            ...{ authorization: undefined, 'api-key': undefined, ...seen },
            host: `${name}.provider.example`,
          });
        }
      },
      { configYaml: kind === 'istio' ? bootstrapOf(objects) : undefined },
    );
  });

  test('the first YAML for several servers in kubernetes.md works as it stands there', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/kubernetes.md'), 'utf8');
    const [, values = ''] = /^## Several Chat servers$[\s\S]*?^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const file = join(folder, 'values.yaml');
    writeFileSync(file, values);
    const objects = renderChart(['--values', file, '--set', `gateway.kind=${kind}`]).flatMap(({ text }) =>
      parseObjects(text),
    );
    const vllm = '{ apiVersion: v1, kind: Service, metadata: { name: vllm }, spec: { ports: [{ port: 8000 }] } }';
    await withGateway(
      configured(kind, [...objects, ...parseObjects(vllm)]),
      async (gateway) => {
        const cases = [
          ['gpt-4.1', 'alpha'],
          ['gpt-5-mini', 'alpha'],
          ['gpt-4.1-mini', 'own'],
          ['qwen3', 'own'],
        ] as const;
        for (const [model, where] of cases) {
          const body = { model, input: 'Hi', instructions: 'Be brief.' };
          const { status, seen } = await send(gateway, `page ${model}`, body);
          expect([model, status, seen[where].length]).toEqual([model, 200, 1]);
          const [request] = seen[where];
          console.log(`${kind}: the page’s YAML: ${model} → ${JSON.stringify(summaryOf(request))}`);
          const isHosted = where === 'alpha';
          expect(request?.headers.authorization).toBe(isHosted ? `Bearer ${keys.openai}` : 'Bearer of-the-client');
          const role = isHosted ? 'developer' : 'system'; // as its profile has it
          expect(request?.json()).toMatchObject({ messages: [{ role, content: 'Be brief.' }, { content: 'Hi' }] });
        }
      },
      { configYaml: kind === 'istio' ? bootstrapOf(objects) : undefined },
    );
  });

  test.each(envoys)('so it is with Envoy %s', async (version, install) => {
    const { configuration, options } = byKind(kind);
    await withGateway(
      configuration,
      async (gateway) => {
        const { seen } = await send(gateway, version, { model: 'gpt-5', input: 'Hi' });
        expect(seen.alpha[0]?.headers).toMatchObject({ authorization: `Bearer ${keys.alpha}` });
      },
      { ...options, binary: install() },
    );
  });
});

/** What an upstream saw of a request, as far as it tells who asks whom. */
function summaryOf(request: Received | undefined): object {
  const { authorization, 'api-key': apiKey, host } = request?.headers ?? {};
  return { serverName: request?.serverName, host, path: request?.path, authorization, 'api-key': apiKey };
}
