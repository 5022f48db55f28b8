import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import { type CertificateAuthority, createAuthority } from '../support/certificates.ts';
import { completion, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { createDefinitions } from './definitions.ts';
import { type Resource, translateForEnvoyGateway } from './envoy-gateway.ts';
import { configurationFrom, type GatewayKind, withGateway } from './gateways.ts';
import { type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { runTool } from './tools.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'deploy/chart/examples');
const examples = readdirSync(folder).map((name) => join(folder, name));

let authority: CertificateAuthority;
let hosted: ScriptedUpstream;
beforeAll(async () => {
  authority = createAuthority('authority of the test');
  hosted = await startScriptedUpstream({ tls: authority.issue('hosted', 'DNS:api.openai.com,DNS:api.groq.com') });
});
afterAll(async () => {
  await hosted.close();
  authority.remove();
});

const client = 'key-of-alice';

/** What an example says that the cluster has besides, and the Gateway that is there already. */
function surroundings(objects: readonly KubernetesObject[]): KubernetesObject[] {
  const secret = (name: string, data: Record<string, string>) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name } },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, btoa(value)])),
  });
  const keys = ['openai', 'groq', 'provider'].map((name) => secret(name, { credential: `Bearer sk-${name}` }));
  const servers = ['vllm', 'sglang'].map((name) => {
    const port = name === 'vllm' ? 8000 : 30000;
    return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port }] } };
  });
  const shared = parseObjects(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: shared }
spec: { controllerName: gateway.envoyproxy.io/gatewayclass-controller }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: shared, namespace: ingress }
spec:
  gatewayClassName: shared
  listeners: [{ name: https, protocol: HTTP, port: 80, allowedRoutes: { namespaces: { from: All } } }]
`);
  const isThere = objects.every(({ kind }) => kind !== 'Gateway');
  return [...keys, secret('clients', { alice: client }), ...servers, ...(isThere ? shared : [])];
}

/** Without what only a cluster has: certificates of the listener, the issuer of tokens. */
const here = ['gateway.tlsSecretName=', 'gateway.auth.jwt=null'];

function rendered(file: string, ...settings: readonly string[]): KubernetesObject[] {
  const args = ['--values', file, ...settings.flatMap((setting) => ['--set', setting])];
  return renderChart(args).flatMap(({ text }) => parseObjects(text));
}

/** The hosted APIs that an example leads to. */
const hostsOf = (file: string): string[] =>
  (parse(readFileSync(file, 'utf8')).gateway.upstreams ?? []).flatMap(({ host }: { host?: string }) => host ?? []);

const kindOf = (file: string): GatewayKind => parse(readFileSync(file, 'utf8')).gateway.kind;

test('there are the six of the chart’s README, each with the command that installs it', () => {
  const readme = readFileSync(join(root, 'deploy/chart/README.md'), 'utf8');
  const named = [...readme.matchAll(/\(examples\/([^)]+)\)/g)].map(([, name = '']) => join(folder, name));
  expect(named.toSorted()).toEqual(examples.toSorted());
  for (const file of examples)
    expect(readFileSync(file, 'utf8')).toContain(`--values ${file.slice(root.length + 1)}\n`);
});

test('small.yaml asks for fractions of a CPU, and for nothing that only a metrics-server has', () => {
  const file = join(folder, 'small.yaml');
  const objects = rendered(file);
  const { container, replicas } = objectOf(objects, 'EnvoyProxy').spec.provider.kubernetes.envoyDeployment;
  const deployment = objectOf(objects, 'Deployment').spec;
  const [service] = deployment.template.spec.containers;
  const asked = [
    [deployment.replicas, service.resources.requests.cpu],
    [replicas, container.resources.requests.cpu],
  ];
  expect(asked).toEqual([
    [1, '100m'],
    [1, '100m'],
  ]);
  for (const settings of [[], ['gateway.kind=istio', 'gateway.istio.autoscaling.maxReplicas=2']])
    expect(JSON.stringify(rendered(file, ...settings))).not.toMatch(/"(HorizontalPodAutoscaler|envoyHpa)"/);
  const ofIstio = objectOf(
    rendered(file, 'gateway.kind=istio', 'gateway.istio.autoscaling.maxReplicas=2'),
    'ConfigMap',
    'responses-extproc-gateway',
  );
  expect(ofIstio.data).not.toHaveProperty('horizontalPodAutoscaler');
});

describe.each(examples)('%s', (file) => {
  const kind = kindOf(file);

  // Istio says so of nothing: there the answer below has to do.
  if (kind === 'envoy-gateway')
    test('its gateway’s control plane takes all of it', () => {
      const objects = rendered(file, ...here);
      const made = translateForEnvoyGateway([...objects, ...surroundings(objects)]);
      const told = [...made.conditions].filter(([name]) => /^(HTTPRoute|\w+Policy)\//.test(name));
      expect(told.length).toBeGreaterThan(3);
      for (const [name, conditions] of told)
        for (const { type, status, message } of conditions)
          expect([name, type, status, message]).toEqual([name, type, 'True', message]);
    });

  test('a request of a client is answered', async () => {
    const objects = rendered(file, ...here);
    const made = configurationFrom(kind, [...objects, ...surroundings(objects)]);
    const outside = made.controlPlane.clusters.filter((cluster: Resource) =>
      /api\.\w+\.com/.test(JSON.stringify(cluster)),
    );
    const endpoints = outside.map(({ name }) => [name, [{ address: '127.0.0.1', port: hosted.port }]]);
    const secrets = (name: string): Resource =>
      name.startsWith('credential_injector/')
        ? { genericSecret: { secret: { inlineString: `Bearer sk-of-${name}` } } }
        : { validationContext: { trustedCa: { filename: authority.caFile } } };
    await withGateway({ ...made, endpoints: Object.fromEntries(endpoints), secrets }, async ({ url, chat }) => {
      const before = hosted.all.length;
      for (const model of ['gpt-5', 'llama-3.3', 'other']) {
        for (const upstream of [hosted, chat]) upstream.script(model, { body: [completion({ content: 'Hi' })] });
        const [status, text] = await ask(url, { model, input: 'Hi' });
        expect([model, status, text]).toEqual([model, 200, expect.stringContaining('"Hi"')]);
      }
      for (const { headers } of hosted.all.slice(before)) {
        const [, provider] = /^api\.(\w+)\.com$/.exec(headers.host ?? '') ?? [];
        expect(headers.authorization).toMatch(new RegExp(`^Bearer sk-of-.*-${provider}-key$`));
      }
      const hosts = hosted.all.slice(before).map(({ headers }) => headers.host);
      expect([...new Set(hosts)]).toEqual(hostsOf(file));
    });
  });
});

/** Sends a request of a client for the host of the examples. */
function ask(url: string, body: object): Promise<[status: number | undefined, text: string]> {
  const authorization = `Bearer ${client}`;
  const headers = { 'content-type': 'application/json', host: 'llm.example.com', authorization };
  return new Promise((resolve, reject) => {
    request(`${url}/v1/responses`, { method: 'POST', headers }, async (response) => {
      const pieces = await response.setEncoding('utf8').toArray();
      resolve([response.statusCode, pieces.join('')]);
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

describe('a Kubernetes API server', () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer();
    await createDefinitions(server);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    for (const name of ['llm', 'ingress'])
      expect(await server.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })).toBeNull();
  });
  afterAll(() => server?.close());

  test.each(examples)('takes %s, which Helm 3 renders as Helm 4 does', async (file) => {
    const args = ['--namespace', 'llm', '--kube-version', '1.37.0', '--values', file];
    const byHelm3 = parseObjects(
      runTool('helm3', ['template', 'responses-extproc', join(root, 'deploy/chart'), ...args]),
    );
    const keyOf = ({ kind: of, metadata }: KubernetesObject) => `${of} ${metadata.name}`;
    const sorted = (objects: KubernetesObject[]) => objects.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const objects = sorted(rendered(file));
    expect(sorted(byHelm3)).toEqual(objects);
    for (const object of objects) expect(await server.create(object, { dryRun: true }), keyOf(object)).toBeNull();
  });

  test.each(examples)('takes the pods of %s where the Pod Security Standard `restricted` is enforced', async (file) => {
    const { template } = objectOf(rendered(file), 'Deployment').spec;
    const podOf = (spec: object) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one', namespace: 'llm' } },
      // Admission of service accounts and priorities would look for those of a real cluster.
      spec: { ...template.spec, ...spec, serviceAccountName: undefined, priorityClassName: undefined },
    });
    expect(await server.create(podOf({}), { dryRun: true })).toBeNull();
    expect(await server.create(podOf({ securityContext: {} }), { dryRun: true })).toMatch(/restricted/);
  });
});
