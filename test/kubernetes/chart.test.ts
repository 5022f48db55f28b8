import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { manifestFolders, renderChart, renderManifests } from '../../scripts/kubernetes-render.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { customResourceDefinitions } from './definitions.ts';
import { committedManifests, environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { runTool, toolPath } from './tools.ts';

const root = join(import.meta.dirname, '../..');
const MiB = 1024 * 1024;
toolPath('helm'); // what renders below is the one that is pinned

function render(...settings: string[]): KubernetesObject[] {
  return renderChart(settings.flatMap((setting) => ['--set', setting])).flatMap(({ text }) => parseObjects(text));
}

describe('the chart', () => {
  test.each(manifestFolders)('%s is what it renders (else: npm run generate)', (folder) => {
    for (const [name, text] of Object.entries(renderManifests(folder)))
      expect(readFileSync(join(root, folder, name), 'utf8'), name).toBe(text);
  });

  test('Helm 3 renders the same as Helm 4', () => {
    const values = join(root, 'envoy/gateway/values.yaml');
    // Built outside its own release, it assumes a Kubernetes of 2020.
    const target = ['--namespace', 'llm', '--kube-version', '1.30.0'];
    const args = ['template', 'responses-extproc', join(root, 'deploy/chart'), ...target, '--values', values];
    const keyOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.name}`;
    const byKey = (a: KubernetesObject, b: KubernetesObject) => (keyOf(a) < keyOf(b) ? -1 : 1);
    const rendered = parseObjects(runTool('helm3', args)).sort(byKey);
    expect(rendered).toEqual(committedManifests('envoy/gateway').sort(byKey));
  });

  test('helm lint --strict passes', () => {
    const chart = join(root, 'deploy/chart');
    expect(runTool('helm', ['lint', '--strict', '--set', 'gateway.kind=istio', chart])).toContain('0 chart(s) failed');
  });

  test.each([
    ['config.UPSTREAM_PROFIL=vllm', /UPSTREAM_PROFIL/],
    ['replica=3', /replica/],
    ['gateway.kind=nginx', /gateway/],
    ['maxRequestMiB=64', /maxRequestMiB: 64 does not fit heapMiB: 700.*at most 23/],
    ['gateway.kind=none', /networkPolicy\.proxies/],
    ['autoscaling.maxReplicas=1', /maxReplicas is below minReplicas/],
    ['gateway.upstream.kind=InferencePool', /needs group inference/],
  ])('%s fails with a message that names the problem', (setting, message) => {
    const settings = setting.startsWith('gateway.kind') ? [setting] : ['gateway.kind=istio', setting];
    expect(() => render(...settings)).toThrow(message);
  });

  test('numbers stay numbers, however large', () => {
    const objects = render('gateway.kind=istio', 'config.MAX_RESPONSE_BYTES=67108864', 'config.STRICT_ECHO=true');
    const environment = environmentOf(objectOf(objects, 'Deployment'));
    expect(environment).toMatchObject({ MAX_RESPONSE_BYTES: '67108864', STRICT_ECHO: 'true' });
  });

  test('memory, heap and body grow together, in the pod and in Envoy', () => {
    const larger = ['heapMiB=2048', 'maxRequestMiB=64', 'gateway.kind=envoy-gateway'];
    const objects = render(...larger);
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({
      NODE_OPTIONS: '--max-old-space-size=2048',
      MAX_REQUEST_BYTES: `${64 * MiB}`,
    });
    expect(objectOf(objects, 'ClientTrafficPolicy').spec.connection.bufferLimit).toBe('64Mi');
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

  test('with TLS, Envoy Gateway is told to check it', () => {
    const objects = render('gateway.kind=envoy-gateway', 'tls.secretName=tls', 'tls.caConfigMap=ca');
    expect(environmentOf(objectOf(objects, 'Deployment'))).toMatchObject({ TLS_CERT_FILE: '/tls/tls.crt' });
    expect(objectOf(objects, 'BackendTLSPolicy').spec.validation).toMatchObject({
      hostname: 'responses-extproc.llm.svc',
      caCertificateRefs: [{ kind: 'ConfigMap', name: 'ca' }],
    });
  });

  test.each([
    ['envoy-gateway', 'envoyextensionpolicy/llm/responses-extproc/extproc/0', 'https?-10080'],
    ['istio', 'outbound|50051||responses-extproc.llm.svc.cluster.local', 'outbound_0.0.0.0_.*'],
  ])('under %s the alerts are those of the documentation, about that gateway’s names', (kind, cluster, connections) => {
    const objects = render(
      `gateway.kind=${kind}`,
      'monitoring.prometheusRule.enabled=true',
      'monitoring.dashboard.enabled=true',
    );
    const alerts = readFileSync(join(root, 'docs/monitoring/alerts.yaml'), 'utf8');
    const expected = alerts
      .replaceAll('envoy_cluster_name="responses_extproc"', `envoy_cluster_name="${cluster}"`)
      .replaceAll('envoy_http_conn_manager_prefix="ingress"', `envoy_http_conn_manager_prefix=~"${connections}"`);
    expect(expected).not.toBe(alerts);
    expect(objectOf(objects, 'PrometheusRule').spec).toEqual(parse(expected));
    const dashboard = objectOf(objects, 'ConfigMap').data?.['responses-extproc.json'] ?? '';
    expect(JSON.parse(dashboard)).toMatchObject({ uid: 'responses-extproc' });
    expect(dashboard).not.toContain('"responses_extproc\\"');
  });
});

test('the service’s own objects are valid in the oldest Kubernetes that the chart allows', () => {
  const minor = /^kubeVersion: ">=1\.(\d+)/m.exec(readFileSync(join(root, 'deploy/chart/Chart.yaml'), 'utf8'))?.[1];
  const file = join(root, 'envoy/gateway/service.yaml');
  expect(runTool('kubectl-validate', [file, '--version', `1.${minor}`])).not.toMatch(/ERROR/);
});

describe('a Kubernetes API server accepts', () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer();
    for (const definition of customResourceDefinitions()) expect(await server.create(definition)).toBeNull();
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'llm' } };
    expect(await server.create(namespace)).toBeNull();
    await server.untilKnown('gateway.envoyproxy.io/v1alpha1', 'EnvoyExtensionPolicy');
    await server.untilKnown('networking.istio.io/v1alpha3', 'EnvoyFilter');
    await server.untilKnown('networking.istio.io/v1', 'DestinationRule');
    await server.untilKnown('gateway.networking.k8s.io/v1', 'BackendTLSPolicy');
    await server.untilKnown('monitoring.coreos.com/v1', 'ServiceMonitor');
    await server.untilKnown('monitoring.coreos.com/v1', 'PrometheusRule');
  });
  afterAll(() => server?.close());

  const monitoring = ['serviceMonitor', 'prometheusRule', 'dashboard'].map((name) => `monitoring.${name}.enabled=true`);
  test.each([
    ['envoy/gateway', () => committedManifests('envoy/gateway')],
    ['envoy/istio', () => committedManifests('envoy/istio')],
    [
      'everything at once, Envoy Gateway',
      () => render('gateway.kind=envoy-gateway', 'tls.secretName=tls', ...monitoring),
    ],
    [
      'everything at once, Istio',
      () => render('gateway.kind=istio', 'autoscaling.activeExchanges.enabled=true', ...monitoring),
    ],
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
