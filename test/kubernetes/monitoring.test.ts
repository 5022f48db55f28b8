import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sendOneOfEach, startMonitoredWorkers } from '../support/monitored-mesh.ts';
import { type Dashboard, expressionsOf, monitoringFolder, type Rules, rules } from '../support/monitoring.ts';
import { promtool, startPrometheus } from '../support/prometheus.ts';
import type { Resource } from './envoy-gateway.ts';
import { configurationOf, gatewayKinds, render, withGateway } from './gateways.ts';
import { objectOf } from './manifests.ts';
import { moduleFolder } from './tools.ts';

const settings = ['podMonitor', 'prometheusRule', 'dashboard'].map((name) => `monitoring.${name}.enabled=true`);

test('an Envoy of one’s own has its names in alerts and dashboard, each said once', () => {
  const names = [
    ...['monitoring.envoy.clusterName=translator', 'monitoring.envoy.statPrefix=edge_http'],
    'monitoring.envoy.upstreamClusters=gpu_.*',
  ];
  const objects = render('gateway.kind=none', ...settings.slice(1), ...names);
  const alerts = objectOf(objects, 'PrometheusRule').spec as Rules;
  const data = objectOf(objects, 'ConfigMap', 'responses-extproc-dashboard').data ?? {};
  const all = expressionsOf(JSON.parse(data['responses-extproc.json'] ?? '') as Dashboard, alerts).map(
    ([, text]) => text,
  );
  const text = all.join('\n');
  expect(text).not.toMatch(/"ingress"|"responses_extproc"|"chat"/);
  expect(text).toContain('envoy_cluster_name=~"gpu_.*"');
  expect(text.match(/envoy_cluster_name=~?"translator"/g)?.length).toBeGreaterThan(5);
  expect(text.match(/envoy_http_conn_manager_prefix=~"edge_http"/g)?.length).toBeGreaterThan(5);
});

describe.each(gatewayKinds)('the alerts and the dashboard for %s', (kind) => {
  const objects = render(`gateway.kind=${kind}`, ...settings);
  const alerts = objectOf(objects, 'PrometheusRule').spec as Rules;
  const data = objectOf(objects, 'ConfigMap', 'responses-extproc-dashboard').data ?? {};
  const dashboard = JSON.parse(data['responses-extproc.json'] ?? '') as Dashboard;
  const { selector, namespaceSelector, podMetricsEndpoints } = objectOf(objects, 'PodMonitor').spec;
  const [scraped] = podMetricsEndpoints;
  const configuration = configurationOf(kind, ...settings);

  test('the PodMonitor finds the proxies that the network policy lets in, at the port that the gateway opens for it', () => {
    const [peer] = objectOf(objects, 'NetworkPolicy').spec.ingress[0].from;
    expect(selector).toEqual(peer.podSelector);
    const namespace = peer.namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? 'llm';
    expect(namespaceSelector).toEqual({ matchNames: [namespace] });
    const [module, source, opened] =
      kind === 'istio'
        ? [
            'istio.io/istio',
            'manifests/charts/istio-control/istio-discovery/files/kube-gateway.yaml',
            /name: (http-envoy-prom)/,
          ]
        : [
            'github.com/envoyproxy/gateway',
            'internal/infrastructure/kubernetes/proxy/resource.go',
            /Name: +"(metrics)"/,
          ];
    const from = join(import.meta.dirname, kind === 'istio' ? 'istio' : 'tools');
    expect(opened.exec(readFileSync(join(moduleFolder(from, module), source), 'utf8'))?.[1]).toBe(scraped.port);
  });

  test('each alert fires when it should, and no other does, on series of that gateway’s names', () => {
    const { listener, clusters } = configuration.controlPlane;
    const ofChat = kind === 'istio' ? '|8000|' : 'httproute/llm/responses-extproc/';
    const chatCluster = clusters.map(({ name }) => String(name)).find((name) => name.includes(ofChat));
    const [chain] = [...(listener['filterChains'] ?? []), listener['defaultFilterChain'] ?? []].flat();
    const { statPrefix } = chain.filters.at(-1).typedConfig as Resource;
    const label = kind === 'istio' ? '' : 'envoy_'; // Istio's tags say how labels are called
    const tests = readFileSync(join(monitoringFolder, 'alerts.test.yaml'), 'utf8')
      .replaceAll('envoy_cluster_name="responses_extproc"', `${label}cluster_name="${configuration.service}"`)
      .replaceAll('envoy_cluster_name="chat"', `${label}cluster_name="${chatCluster}"`)
      .replaceAll('envoy_cluster_name="shop"', `${label}cluster_name="shop"`)
      .replaceAll(
        'envoy_http_conn_manager_prefix="ingress"',
        `${label}http_conn_manager_prefix="${statPrefix.replace(/;$/, '')}"`,
      );
    const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-kubernetes-'));
    try {
      writeFileSync(join(folder, 'alerts.yaml'), JSON.stringify(alerts));
      writeFileSync(join(folder, 'alerts.test.yaml'), tests);
      const { status, output } = promtool(folder, 'test', 'rules', 'alerts.test.yaml');
      expect(output).toContain('SUCCESS');
      expect(status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
    for (const { alert } of rules) expect(tests).toContain(`alertname="${alert}"`);
  });

  test('each expression has an answer in a Prometheus that scrapes the Envoy of that gateway', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-kubernetes-'));
    const ruleFile = join(folder, 'alerts.yaml');
    writeFileSync(ruleFile, JSON.stringify(alerts));
    const workers = await startMonitoredWorkers();
    try {
      await withGateway(configuration, async ({ url, chat, envoy, pod }) => {
        const post = (body: object) =>
          fetch(`${url}/v1/responses`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          });
        await sendOneOfEach(chat, post, pod.logged);
        const jobs = {
          service: async () => (await pod.get('/metrics')).text(),
          workers: workers.metrics,
          envoy: () => envoy.admin(scraped.path),
        };
        const prometheus = await startPrometheus(jobs, ruleFile);
        try {
          const all = expressionsOf(dashboard, alerts);
          for (const [, expression] of all) await prometheus.expectAnswer(expression);
          const names = alerts.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
          const evaluated = async () => (await prometheus.rules()).filter(({ health }) => health === 'ok');
          await expect.poll(async () => (await evaluated()).map(({ name }) => name)).toEqual(names);
          console.log(`${kind}: ${all.length} expressions with an answer, ${names.length} alerts evaluated`);
        } finally {
          await prometheus.stop();
        }
      });
    } finally {
      await workers.close();
      rmSync(folder, { recursive: true });
    }
  });
});
