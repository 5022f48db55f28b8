import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MonitoredMesh, startMonitoredMesh } from '../support/monitored-mesh.ts';
import { expressions, monitoringFolder, rules } from '../support/monitoring.ts';
import { type Prometheus, promtool, startPrometheus } from '../support/prometheus.ts';

describe('alerts.yaml', () => {
  test('is taken by promtool', () => {
    const { status, output } = promtool(monitoringFolder, 'check', 'rules', 'alerts.yaml');
    expect(output).toContain(`${rules.length} rules found`);
    expect(status).toBe(0);
  });

  test('each alert fires when it should, and no other does', () => {
    const { status, output } = promtool(monitoringFolder, 'test', 'rules', 'alerts.test.yaml');
    expect(output).toContain('SUCCESS');
    expect(status).toBe(0);
    const tests = readFileSync(join(monitoringFolder, 'alerts.test.yaml'), 'utf8');
    for (const { alert } of rules) expect(tests).toContain(`alertname="${alert}"`);
  });
});

describe('a Prometheus that scrapes Envoy, the service and its workers', () => {
  let mesh: MonitoredMesh;
  let prometheus: Prometheus;

  beforeAll(async () => {
    mesh = await startMonitoredMesh();
    const jobs = { service: mesh.service, workers: mesh.workers, envoy: mesh.envoy };
    prometheus = await startPrometheus(jobs, join(monitoringFolder, 'alerts.yaml'));
  });
  afterAll(async () => {
    // In this order: nobody scrapes what is gone.
    await prometheus?.stop();
    await mesh?.close();
  });

  test.each(expressions)('%s has an answer: %s', async (_, expression) => {
    await prometheus.expectAnswer(expression);
  });

  test('evaluates every rule, and none of a healthy mesh is pending or fires', async () => {
    await expect.poll(async () => (await prometheus.rules()).every(({ health }) => health === 'ok')).toBe(true);
    // The file was broken before the first scrape. It fires after a minute; until then it is pending.
    const broken = 'ResponsesExtprocProfilesRejected';
    await expect
      .poll(async () => (await prometheus.rules()).find(({ name }) => name === broken)?.state)
      .toMatch(/^(pending|firing)$/);
    const all = await prometheus.rules();
    expect(all.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
    // One answer of the four that the mesh gave was an upstream's error, and its certificate is for two days.
    const expected = ['ResponsesExtprocUpstreamErrors', 'ResponsesExtprocCertificateExpires', broken];
    expect(all.filter(({ name, state }) => state !== 'inactive' && !expected.includes(name))).toEqual([]);
  });
});
