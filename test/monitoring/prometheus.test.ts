import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Child, startChild } from '../../tools/mesh/child-process.ts';
import { anyFreePort } from '../../tools/mesh/ports.ts';
import { type MonitoredMesh, startMonitoredMesh } from '../support/monitored-mesh.ts';
import { expressions, monitoringFolder, rules } from '../support/monitoring.ts';

/** Runs promtool; a machine without it fails here and says what to install. */
function promtool(...words: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', words, { cwd: monitoringFolder, encoding: 'utf8' });
  if (error) throw new Error(`promtool cannot be run (${error.message}); it is in Debian's package \`prometheus\``);
  return { status, output: `${stdout}${stderr}` };
}

describe('alerts.yaml', () => {
  test('is taken by promtool', () => {
    const { status, output } = promtool('check', 'rules', 'alerts.yaml');
    expect(output).toContain(`${rules.length} rules found`);
    expect(status).toBe(0);
  });

  test('each alert fires when it should, and no other does', () => {
    const { status, output } = promtool('test', 'rules', 'alerts.test.yaml');
    expect(output).toContain('SUCCESS');
    expect(status).toBe(0);
    const tests = readFileSync(join(monitoringFolder, 'alerts.test.yaml'), 'utf8');
    for (const { alert } of rules) expect(tests).toContain(`alertname="${alert}"`);
  });
});

describe('a Prometheus that scrapes Envoy, the service and its workers', () => {
  let mesh: MonitoredMesh;
  let pages: Server;
  let prometheus: Child;
  let folder: string;
  let url: string;
  const output: string[] = [];

  beforeAll(async () => {
    mesh = await startMonitoredMesh();
    folder = mkdtempSync(join(tmpdir(), 'extproc-prometheus-'));
    const jobs = { '/service': mesh.service, '/workers': mesh.workers, '/envoy': mesh.envoy };
    pages = createServer((request, response) => {
      const scrape = jobs[request.url as keyof typeof jobs];
      scrape().then(
        (text) => response.end(text),
        () => response.destroy(),
      );
    });
    await new Promise<void>((resolve) => {
      pages.listen(0, '127.0.0.1', resolve);
    });
    const target = `127.0.0.1:${(pages.address() as AddressInfo).port}`;
    writeFileSync(
      join(folder, 'prometheus.yml'),
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [join(monitoringFolder, 'alerts.yaml')],
        scrape_configs: Object.keys(jobs).map((path) => ({
          job_name: path.slice(1),
          metrics_path: path,
          static_configs: [{ targets: [target] }],
        })),
      }),
    );
    const port = await anyFreePort();
    url = `http://127.0.0.1:${port}`;
    prometheus = startChild(
      'prometheus',
      'prometheus',
      [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { onLine: (line) => output.push(line) },
    );
    const failed = prometheus.ended.then((how) => {
      throw new Error(`prometheus ended (${how}); it is in Debian's package of that name:\n${output.join('\n')}`);
    });
    failed.catch(() => {});
    await Promise.race([untilScraped(), failed]);
  });
  afterAll(async () => {
    // In this order: nobody scrapes what is gone.
    await prometheus?.stop();
    pages?.close();
    await mesh?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function query(expression: string): Promise<unknown[]> {
    const answer = await fetch(`${url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expression }),
    });
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data?: { result: unknown[] };
    };
    if (status !== 'success' || data === undefined) throw new Error(`${expression}: ${error}`);
    return data.result;
  }

  /** Enough scrapes of all three for a rate. */
  async function untilScraped(): Promise<void> {
    for (;;) {
      const scraped = await query('count_over_time(up[1m]) >= 4 and up == 1').catch(() => []);
      if (scraped.length === 3) return;
      await sleep(200);
    }
  }

  test.each(expressions)('%s has an answer: %s', async (_, expression) => {
    // A comparison that is false has no answer; whether its two sides find each other shows with `bool`.
    const asked = expression
      .replaceAll('$__rate_interval', '1m')
      .replaceAll('$job', '.*')
      .replace(/ (==|>|<) /g, ' $1 bool ');
    if (asked.startsWith('absent(')) expect(await query(asked)).toEqual([]);
    else expect(await query(asked), asked).not.toEqual([]);
  });

  test('evaluates every rule, and none of a healthy mesh is pending or fires', async () => {
    const evaluated = async () => {
      const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string; health: string; lastError?: string; state: string }[] }[] };
      };
      return data.groups.flatMap((group) => group.rules);
    };
    await expect
      .poll(async () => (await evaluated()).every(({ health }) => health === 'ok'), { timeout: 20_000 })
      .toBe(true);
    // The file was broken before the first scrape. It fires after a minute; until then it is pending.
    const broken = 'ResponsesExtprocProfilesRejected';
    await expect
      .poll(async () => (await evaluated()).find(({ name }) => name === broken)?.state, { timeout: 20_000 })
      .toMatch(/^(pending|firing)$/);
    const all = await evaluated();
    expect(all.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
    // One answer of the four that the mesh gave was an upstream's error, and its certificate is for two days.
    const expected = ['ResponsesExtprocUpstreamErrors', 'ResponsesExtprocCertificateExpires', broken];
    expect(all.filter(({ name, state }) => state !== 'inactive' && !expected.includes(name))).toEqual([]);
  });
});
