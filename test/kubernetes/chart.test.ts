import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import { argumentsOf, refusals } from '../chart/refusals.ts';
import type { Rules } from '../support/monitoring.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { lists } from './complete-values.ts';
import { createDefinitions } from './definitions.ts';
import { render } from './gateways.ts';
import { committedManifests, environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { createPods } from './pods.ts';
import { runTool, toolPath } from './tools.ts';

const root = join(import.meta.dirname, '../..');
const MiB = 1024 * 1024;
toolPath('helm'); // what renders below is the one that is pinned

const jwt = 'gateway.auth.jwt.issuer=https://issuer.example,gateway.auth.jwt.jwksUri=https://issuer.example/keys';

/** The chart's objects with these arguments of Helm. */
function renderWith(...args: readonly string[]): KubernetesObject[] {
  return renderChart(args).flatMap(({ text }) => parseObjects(text));
}

/** Arguments that give lists two entries, and what they do not go without. */
function twoEntries(...names: readonly string[]): string[] {
  const all = names.includes('extraVolumeMounts') ? ['extraVolumes', ...names] : names;
  const monitors = all.flatMap((name) => /^monitoring\.\w+/.exec(name) ?? []).map((name) => `${name}.enabled=true`);
  return [
    '--set',
    [jwt, ...monitors].join(','),
    ...all.flatMap((name) => ['--set-json', `${name}=${JSON.stringify(lists[name])}`]),
  ];
}

function listsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return [path];
  const fields = value !== null && typeof value === 'object' ? Object.entries(value) : [];
  return fields.flatMap(([name, one]) => listsOf(one, path === '' ? name : `${path}.${name}`));
}

/** Whether the part, or an object with its fields, is anywhere in it. */
function contains(value: unknown, part: unknown): boolean {
  if (value === part) return true;
  if (value === null || typeof value !== 'object') return false;
  const hasFields =
    part !== null &&
    typeof part === 'object' &&
    Object.entries(part).every(([name, one]) => isDeepStrictEqual((value as Record<string, unknown>)[name], one));
  return hasFields || Object.values(value).some((one) => contains(one, part));
}

describe('the chart', () => {
  test('Helm 3 renders the same as Helm 4', () => {
    // Built outside its own release, it assumes a Kubernetes of 2020.
    const target = ['--namespace', 'llm', '--kube-version', '1.30.0'];
    const args = [
      'template',
      'responses-extproc',
      join(root, 'deploy/chart'),
      ...target,
      '--set',
      'gateway.kind=envoy-gateway',
    ];
    const keyOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.name}`;
    const byKey = (a: KubernetesObject, b: KubernetesObject) => (keyOf(a) < keyOf(b) ? -1 : 1);
    const rendered = parseObjects(runTool('helm3', args))
      .filter(({ kind }) => kind !== 'Pod') // for `helm test` alone
      .sort(byKey);
    expect(rendered).toEqual(committedManifests('envoy/gateway').sort(byKey));
  });

  test.each(refusals)('%s fails with a message that names the problem, with Helm 3 too', (setting, message) => {
    const args = ['template', 'x', join(root, 'deploy/chart'), '--kube-version', '1.37.0', ...argumentsOf(setting)];
    expect(() => runTool('helm3', args)).toThrow(message);
  });

  test('every list of values.yaml is tried with two entries below', () => {
    const all = listsOf(parse(readFileSync(join(root, 'deploy/chart/values.yaml'), 'utf8')));
    expect(Object.keys(lists).sort()).toEqual(all.sort());
  });

  test.each(
    [
      'gateway.kind=envoy-gateway',
      'gateway.kind=istio',
      'gateway.kind=istio,gateway.istio.mesh=sidecar',
      'gateway.kind=istio,webSocket.enabled=true',
    ].flatMap((kind) =>
      Object.entries(lists)
        .filter(([name]) => name !== 'gateway.upstreams') // becomes objects of many kinds: upstreams.test.ts
        .map(([name, entries]) => [kind, name, entries] as const),
    ),
  )('with %s, both entries of %s arrive', (kind, name, entries) => {
    const objects = renderWith('--set', kind, ...twoEntries(name));
    for (const entry of entries) expect(contains(objects, entry), JSON.stringify(entry)).toBe(true);
  });

  test.each([
    ['2147483648', 2 ** 31],
    ['2e9', 2e9],
    ['"2e9"', 2e9],
    ['"2E9"', 2e9],
    ['"+2.5G"', 2.5e9],
    ['"2.5Gi"', 2.5 * 2 ** 30],
    ['".5Ti"', 2 ** 39],
    ['"3."', null],
    ['"2097152k"', 2_097_152_000],
    ['"2097152Ki"', 2 ** 31],
    ['"2000M"', 2e9],
    ['"2048Mi"', 2 ** 31],
    ['"1T"', 1e12],
    ['"1P"', 1e15],
    ['"1Pi"', 2 ** 50],
    ['"1E"', 1e18],
    ['"1Ei"', 2 ** 60],
    ['"2147483648000m"', 2 ** 31],
    ['"2147483648000000u"', 2 ** 31],
    ['"2000000000000000000n"', 2e9],
    ['"lots"', null],
    ['"-2Gi"', null],
    ['"2gi"', null],
    ['"2 Gi"', null],
    ['"512m"', null],
    ['"1e99"', null],
    ['0.5', null],
  ])('memory of %s is as many bytes as Kubernetes reads, or refused by its name', (quantity, bytes) => {
    // Without a request, which would be more than some of these.
    const withMemory = (path: string) =>
      renderWith(
        ...['--set', `gateway.kind=istio,${path.replace('limits', 'requests')}=null`],
        ...['--set-json', `${path}=${quantity}`],
      );
    for (const path of ['resources.limits.memory', 'gateway.istio.resources.limits.memory'])
      if (bytes === null)
        expect(() => withMemory(path)).toThrow(
          new RegExp(`${path}: .* is not a quantity|at '/${path.replaceAll('.', '/')}'`),
        );
    if (bytes === null) return;
    const own = environmentOf(objectOf(withMemory('resources.limits.memory'), 'Deployment'));
    expect(Number(own['MAX_BUFFERED_BYTES'])).toBe(Math.floor(bytes / 4));
    const overload = objectOf(
      withMemory('gateway.istio.resources.limits.memory'),
      'ConfigMap',
      'responses-extproc-overload',
    );
    const [monitor] = parse(overload.data?.['bootstrap.yaml'] ?? '').overload_manager.resource_monitors;
    expect(monitor.typed_config.max_heap_size_bytes).toBe(Math.floor(bytes * 0.8));
  });

  test('numbers stay numbers, however large', () => {
    const objects = render('gateway.kind=istio', 'config.MAX_RESPONSE_BYTES=67108864', 'config.STRICT_ECHO=true');
    const environment = environmentOf(objectOf(objects, 'Deployment'));
    expect(environment).toMatchObject({ MAX_RESPONSE_BYTES: '67108864', STRICT_ECHO: 'true' });
  });

  // As values.yaml says them.
  test.each([
    ['512Mi', 320, 9],
    ['1Gi', 700, 22],
    ['2Gi', 1400, 45],
    ['3Gi', 2048, 64],
  ])('a pod of %s has nothing to warn of when it starts', async (memory, heap, request) => {
    const limits = `resources.limits.memory=${memory},resources.requests.memory=${memory}`;
    const sizes = [limits, `heapMiB=${heap}`, `maxRequestMiB=${request}`];
    const environment = environmentOf(objectOf(render('gateway.kind=istio', ...sizes), 'Deployment'));
    const pods = await createPods(environment);
    try {
      const { log } = await pods.start('127.0.1.1');
      expect(log.map(({ level, msg }) => [level, msg])).toEqual([['info', 'listening']]);
    } finally {
      await pods.close();
    }
    // What this machine’s memory says nothing about: with the pod’s, the service takes a quarter of it.
    const bytes = Number(memory.replace('512Mi', '0.5').replace('Gi', '')) * 1024 * MiB;
    expect(Number(environment['MAX_BUFFERED_BYTES'])).toBe(bytes / 4);
  });

  test('memory, heap and body grow together, in the pod and in Envoy', () => {
    const larger = ['heapMiB=2048', 'maxRequestMiB=64', 'resources.limits.memory=3Gi', 'gateway.kind=envoy-gateway'];
    const objects = render(...larger);
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({
      NODE_OPTIONS: '--max-old-space-size=2048',
      MAX_REQUEST_BYTES: `${64 * MiB}`,
    });
    expect(objectOf(objects, 'ClientTrafficPolicy').spec.connection.bufferLimit).toBe('80Mi');
  });

  test('something else may set the number of replicas', () => {
    const scaleOf = (...settings: string[]) =>
      objectOf(render('gateway.kind=istio', ...settings), 'Deployment').spec.replicas;
    expect(scaleOf()).toBeUndefined();
    expect(scaleOf('autoscaling.enabled=false')).toBe(2);
    expect(scaleOf('autoscaling.enabled=false', 'replicaCount=null')).toBeUndefined();
  });

  test('profiles of your own are a file that the service reads', () => {
    const objects = render(
      'gateway.kind=istio',
      'profiles.team-vllm.extends=vllm',
      'config.UPSTREAM_PROFILE=team-vllm',
    );
    const { spec } = objectOf(objects, 'Deployment').spec.template;
    const environment = environmentOf(objectOf(objects, 'Deployment'));
    expect(environment).toMatchObject({ UPSTREAM_PROFILES_FILE: '/profiles/profiles.json' });
    expect(spec.containers[0].volumeMounts).toEqual([{ name: 'profiles', mountPath: '/profiles', readOnly: true }]);
    const [volume] = spec.volumes;
    const text = objectOf(objects, 'ConfigMap', volume.configMap.name).data?.['profiles.json'];
    expect(JSON.parse(text ?? '')).toEqual({ profiles: { 'team-vllm': { extends: 'vllm' } } });
  });

  test('beside an endpoint picker, Istio gets the filter before the picker’s', () => {
    const pool = ['kind=InferencePool', 'group=inference.networking.k8s.io', 'port=null'];
    const objects = render('gateway.kind=istio', ...pool.map((setting) => `gateway.upstream.${setting}`));
    const [filter] = objectOf(objects, 'EnvoyFilter').spec.configPatches;
    expect(filter.match.listener.filterChain.filter.subFilter.name).toBe('envoy.filters.http.ext_proc');
    const [rule] = objectOf(objects, 'HTTPRoute', 'responses-extproc').spec.rules;
    expect(rule.backendRefs).toEqual([{ group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'llm' }]);
  });

  test.each([
    ['none', [], [50051, 9090]],
    ['sidecar', [15012, 53], [50051, 9090]],
    ['ambient', [], [50051, 9090, 15008]],
  ])('under Istio with mesh %s, the network policy lets through what that takes', (mesh, egress, ingress) => {
    const objects = render('gateway.kind=istio', `gateway.istio.mesh=${mesh}`);
    const { spec } = objectOf(objects, 'NetworkPolicy');
    const named: Record<string, number> = { grpc: 50051, admin: 9090 };
    const portsOf = (rules: { ports: { port: string | number }[] }[]) => [
      ...new Set(
        rules.flatMap(({ ports }) => ports.map(({ port }) => (typeof port === 'number' ? port : named[port]))),
      ),
    ];
    expect(portsOf(spec.egress)).toEqual(egress);
    expect(portsOf(spec.ingress.slice(0, 1))).toEqual(ingress);
    const { annotations = {} } = objectOf(objects, 'Deployment').spec.template.metadata;
    expect('proxy.istio.io/config' in annotations).toBe(mesh === 'sidecar');
  });

  test('volumes of your own reach the container, for the files that variables name', () => {
    const objects = render(
      'gateway.kind=istio',
      'extraVolumes[0].name=prompts',
      'extraVolumes[0].configMap.name=prompts',
      'extraVolumeMounts[0].name=prompts',
      'extraVolumeMounts[0].mountPath=/prompts',
      'config.COMPACTION_PROMPT_FILE=/prompts/compaction.txt',
    );
    const { spec } = objectOf(objects, 'Deployment').spec.template;
    expect(spec.volumes).toEqual([{ name: 'prompts', configMap: { name: 'prompts' } }]);
    expect(spec.containers[0].volumeMounts).toEqual([{ name: 'prompts', mountPath: '/prompts' }]);
  });

  test('the platform may choose the user, a ConfigMap of yours may hold the profiles', () => {
    const userless = ['podSecurityContext.runAsUser=null', 'podSecurityContext.runAsGroup=null'];
    const values = [...userless, 'profilesConfigMap=ours', 'config.UPSTREAM_PROFILE=team', 'tls.secretName=tls'];
    const objects = render('gateway.kind=envoy-gateway', ...values);
    const pods = [objectOf(objects, 'Deployment').spec.template.spec, objectOf(objects, 'Pod').spec];
    for (const { securityContext } of pods) {
      expect(securityContext).toMatchObject({ runAsNonRoot: true });
      expect(Object.keys(securityContext)).not.toEqual(expect.arrayContaining(['runAsUser', 'runAsGroup', 'fsGroup']));
    }
    expect(pods[0].volumes).toContainEqual({ name: 'profiles', configMap: { name: 'ours' } });
  });

  test.each([
    ['envoy-gateway', 'http://envoy-llm-llm-fcdf3d4c.gateways.svc:8080/v1'],
    ['istio', 'http://llm-istio.llm.svc:8080/v1'],
  ])('under %s a Gateway has the Service that is asked for, and turns on WebSockets go there', (kind, address) => {
    const objects = render(
      ...[`gateway.kind=${kind}`, 'webSocket.enabled=true', 'gateway.port=8080', 'gateway.service.type=ClusterIP'],
      ...['gateway.service.annotations.note=text', 'gateway.envoyGateway.namespace=gateways'],
    );
    const wanted =
      kind === 'istio'
        ? parse(objectOf(objects, 'ConfigMap', 'responses-extproc-gateway').data?.['service'] ?? '')
        : objectOf(objects, 'EnvoyProxy').spec.provider.kubernetes.envoyService;
    expect(wanted).toEqual(
      kind === 'istio'
        ? { metadata: { annotations: { note: 'text' } }, spec: { type: 'ClusterIP' } }
        : { annotations: { note: 'text' }, type: 'ClusterIP' },
    );
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({ WEBSOCKET_FORWARD_TO: address });
    const policy = JSON.stringify(objectOf(objects, 'NetworkPolicy').spec);
    if (kind === 'envoy-gateway') expect(policy).toContain('"kubernetes.io/metadata.name":"gateways"');
  });

  test('TLS means port 443, a wildcard means a host in it, and the cluster has the domain that it has', () => {
    const objects = render(
      ...['gateway.kind=istio', 'gateway.tlsSecretName=certificate', 'gateway.hostnames={*.example.com}'],
      ...['gateway.istio.clusterDomain=cluster.example'],
    );
    expect(objectOf(objects, 'Gateway').spec.listeners).toMatchObject([{ name: 'https', port: 443 }]);
    expect(objectOf(render('gateway.kind=istio'), 'Gateway').spec.listeners).toMatchObject([
      { name: 'http', port: 80 },
    ]);
    const [, url, host] = objectOf(objects, 'Pod').spec.containers[0].args;
    expect([url, host]).toEqual(['https://llm-istio.llm.svc:443/v1/responses', 'any.example.com']);
    expect(JSON.stringify(objects)).not.toContain('svc.cluster.local');
    expect(JSON.stringify(objectOf(objects, 'EnvoyFilter'))).toContain('responses-extproc.llm.svc.cluster.example');
  });

  test('clients of the service show a certificate where they have to', () => {
    const objects = render(
      'gateway.kind=envoy-gateway',
      'tls.secretName=tls',
      'tls.clientCaSecret=clients',
      'tls.clientCertificate=envoy',
    );
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({ TLS_CLIENT_CA_FILE: '/client-ca/ca.crt' });
    expect(objectOf(objects, 'EnvoyProxy').spec.backendTLS).toEqual({
      clientCertificateRef: { kind: 'Secret', name: 'envoy' },
    });
  });

  test('routes and policies of a Gateway in another namespace name it', () => {
    const objects = render(
      'gateway.kind=istio',
      'gateway.create=false',
      'gateway.namespace=ingress',
      'gateway.sectionName=https',
    );
    for (const route of objects.filter(({ kind }) => kind === 'HTTPRoute'))
      expect(route.spec.parentRefs).toEqual([{ name: 'llm', namespace: 'ingress', sectionName: 'https' }]);
    expect(objectOf(objects, 'EnvoyFilter').metadata.namespace).toBe('ingress');
    expect(JSON.stringify(objectOf(objects, 'NetworkPolicy').spec)).toContain(
      '"kubernetes.io/metadata.name":"ingress"',
    );
  });

  test.each(['envoy-gateway', 'istio'])('under %s nothing of the upstream is public that is not listed', (kind) => {
    const pathsOf = (objects: readonly KubernetesObject[], name: string) =>
      objectOf(objects, 'HTTPRoute', name).spec.rules[0].matches.map(
        ({ path }: { path: { value: string } }) => path.value,
      );
    const byDefault = render(`gateway.kind=${kind}`);
    expect(pathsOf(byDefault, 'responses-extproc-untouched')).toEqual(['/v1/models', '/v1/chat/completions']);
    expect(pathsOf(byDefault, 'responses-extproc')).toEqual(['/v1/responses', '/v1/conversations', '/v1/models']);
    const none = render(`gateway.kind=${kind}`, 'gateway.routes=null');
    const withUpstream = none.filter(({ kind: one, spec }) => one === 'HTTPRoute' && 'backendRefs' in spec.rules[0]);
    expect(withUpstream).toHaveLength(1);
  });

  test('a typo is reported at its own path', () => {
    expect(() => render('gateway.kind=istio', 'gateway.istio.mesh=sidcar')).toThrow(/gateway[/.]istio[/.]mesh/);
    expect(() => render('gateway.kind=istio', 'drain.timeoutSecond=1')).toThrow(/at '\/drain'.*timeoutSecond/);
    const mine = ['gateway.kind=istio', 'profiles.mine.extends=vllm'];
    expect(() => render(...mine, 'profiles.mine.imag=true')).toThrow(/at '\/profiles\/mine'.*imag/);
    expect(() => render(...mine, 'profiles.mine.image=maybe')).toThrow(/at '\/profiles\/mine\/image'/);
    expect(() => render(...mine, 'profiles.mine.models.qwen.vidio=true')).toThrow(
      /at '\/profiles\/mine\/models\/qwen'.*vidio/,
    );
    expect(() => render('gateway.kind=istio', 'podLabel.a=b')).toThrow(/at ''.*podLabel/);
  });

  test('with TLS, Envoy Gateway is told to check it', () => {
    const objects = render('gateway.kind=envoy-gateway', 'tls.secretName=tls', 'tls.caConfigMap=ca');
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({ TLS_CERT_FILE: '/tls/tls.crt' });
    expect(objectOf(objects, 'BackendTLSPolicy').spec.validation).toMatchObject({
      hostname: 'responses-extproc.llm.svc',
      caCertificateRefs: [{ kind: 'ConfigMap', name: 'ca' }],
    });
  });

  test.each([
    [
      ...['envoy-gateway', 'envoyextensionpolicy/llm/responses-extproc/extproc/0', 'https?-10080'],
      'httproute/llm/responses-extproc(-untouched)?/rule/.*',
    ],
    [
      ...['istio', 'outbound|50051||responses-extproc.llm.svc.cluster.local', 'outbound_0.0.0.0_.*'],
      'outbound.8000..llm.llm.svc.cluster.local',
    ],
  ])('under %s the alerts are those of the documentation, about that gateway’s names', (...names) => {
    const [kind, cluster, connections, servers] = names;
    const objects = render(
      `gateway.kind=${kind}`,
      'monitoring.prometheusRule.enabled=true',
      'monitoring.dashboard.enabled=true',
    );
    const alerts = readFileSync(join(root, 'docs/monitoring/alerts.yaml'), 'utf8');
    const label = kind === 'istio' ? '' : 'envoy_'; // Istio names the labels itself
    const expected = alerts
      .replaceAll(/envoy_cluster_name(!?=)"responses_extproc"/g, `${label}cluster_name$1"${cluster}"`)
      .replaceAll('envoy_cluster_name=~"chat"', `${label}cluster_name=~"${servers}"`)
      .replaceAll('envoy_http_conn_manager_prefix="ingress"', `${label}http_conn_manager_prefix=~"${connections}"`);
    expect(expected).not.toBe(alerts);
    expect(objectOf(objects, 'PrometheusRule').spec).toEqual(parse(expected));
    const dashboard =
      objectOf(objects, 'ConfigMap', 'responses-extproc-dashboard').data?.['responses-extproc.json'] ?? '';
    expect(JSON.parse(dashboard)).toMatchObject({ uid: 'responses-extproc' });
    expect(dashboard).not.toMatch(/"(?:responses_extproc|ingress)\\"/);
  });
});

test('a rollout is no alert: a pod may drain for as long as its longest answers', () => {
  const alertWith = (...settings: string[]) => {
    const objects = render('gateway.kind=istio', 'monitoring.prometheusRule.enabled=true', ...settings);
    const { groups } = objectOf(objects, 'PrometheusRule').spec as Rules;
    return groups.flatMap((group) => group.rules).find(({ alert }) => alert === 'ResponsesExtprocNotReady');
  };
  expect(alertWith()).toMatchObject({ for: '15m' });
  const longer = alertWith('drain.timeoutSeconds=3600');
  expect(longer).toMatchObject({ for: '65m', annotations: { summary: expect.stringContaining('for 65 minutes') } });
});

describe('a Kubernetes API server accepts', () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer();
    await createDefinitions(server);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'llm' } };
    expect(await server.create(namespace)).toBeNull();
  });
  afterAll(() => server?.close());

  const monitoring = ['serviceMonitor', 'prometheusRule', 'dashboard'].map((name) => `monitoring.${name}.enabled=true`);
  test.each([
    ['envoy/gateway', () => committedManifests('envoy/gateway')],
    ['envoy/istio', () => committedManifests('envoy/istio')],
    [
      'everything at once, Envoy Gateway',
      () =>
        render(
          'gateway.kind=envoy-gateway',
          'gateway.envoyGateway.patchPolicy=true',
          'tls.secretName=tls',
          ...monitoring,
        ),
    ],
    [
      'everything at once, Istio',
      () => render('gateway.kind=istio', 'autoscaling.targetActiveExchanges=2000', ...monitoring),
    ],
    ['the guide’s ScaledObject', () => [scaledObjectOfGuide()]],
    ['the service alone', () => render('networkPolicy.enabled=false', 'autoscaling.enabled=false')],
  ])('%s', async (_what, objects) => {
    for (const object of objects())
      expect(await server.create(object, { dryRun: true }), `${object.kind} ${object.metadata.name}`).toBeNull();
  });

  test('but not a misspelt field or a wrong value', async () => {
    const [policy] = committedManifests('envoy/gateway').filter(({ kind }) => kind === 'EnvoyExtensionPolicy');
    if (policy === undefined) throw new Error('no EnvoyExtensionPolicy');
    const misspelt = structuredClone(policy);
    misspelt.spec.extProc[0].failopen = false;
    expect(await server.create(misspelt, { dryRun: true })).toMatch(/unknown field.*failopen/);
    const open = structuredClone(policy);
    open.spec.extProc[0].failOpen = true;
    expect(await server.create(open, { dryRun: true })).toMatch(/FullDuplexStreamed/);
  });
});

function scaledObjectOfGuide(): KubernetesObject {
  const guide = readFileSync(join(root, 'docs/scaling.md'), 'utf8');
  const examples = [...guide.matchAll(/^```yaml\n(.*?)^```/gms)].flatMap(([, example = '']) => parseObjects(example));
  return objectOf(examples, 'ScaledObject');
}
