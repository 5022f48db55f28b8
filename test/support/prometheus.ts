import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import { startChild } from '../../mesh/processes.ts';

/** A real Prometheus that has scraped its jobs often enough for a rate. */
export interface Prometheus {
  query(expression: string): Promise<readonly unknown[]>;
  /** Every rule, as it was last evaluated. */
  rules(): Promise<readonly { readonly name: string; readonly health: string; readonly state: string }[]>;
  /** Expects an answer to an expression of the dashboard or of an alert; see `expressionsOf`. */
  expectAnswer(expression: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts one that scrapes pages written by these functions, once a second. Throws what to install if the machine has none.
 */
export async function startPrometheus(
  jobs: Readonly<Record<string, () => Promise<string>>>,
  ruleFile: string,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'extproc-prometheus-'));
  const pages = createServer((request, response) => {
    const scrape = jobs[request.url?.slice(1) ?? ''] ?? (async () => '');
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
      rule_files: [ruleFile],
      scrape_configs: Object.keys(jobs).map((job) => ({
        job_name: job,
        metrics_path: `/${job}`,
        static_configs: [{ targets: [target] }],
      })),
    }),
  );
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const output: string[] = [];
  const child = startChild(
    'prometheus',
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { onLine: (line) => output.push(line) },
  );
  const failed = child.ended.then((how) => {
    throw new Error(`prometheus ended (${how}); it is in Debian's package of that name:\n${output.join('\n')}`);
  });
  failed.catch(() => {});

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

  /** Enough scrapes of every job for a rate. */
  async function untilScraped(): Promise<void> {
    for (;;) {
      const scraped = await query('count_over_time(up[1m]) >= 4 and up == 1').catch(() => []);
      if (scraped.length === Object.keys(jobs).length) return;
      await sleep(200);
    }
  }

  await Promise.race([untilScraped(), failed]);
  return {
    query,
    async rules() {
      const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
      };
      return data.groups.flatMap((group) => group.rules);
    },
    async expectAnswer(expression) {
      // A comparison that is false returns nothing; `bool` shows whether the series of both sides match.
      const asked = expression
        .replaceAll('$__rate_interval', '1m')
        .replaceAll('$job', '.*')
        .replace(/ (==|>|<) /g, ' $1 bool ');
      if (asked.startsWith('absent(')) expect(await query(asked)).toEqual([]);
      else expect(await query(asked), asked).not.toEqual([]);
    },
    async stop() {
      await child.stop();
      pages.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs promtool in a folder; a machine without it fails here and says what to install. */
export function promtool(cwd: string, ...words: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', words, { cwd, encoding: 'utf8' });
  if (error) throw new Error(`promtool cannot be run (${error.message}); it is in Debian's package \`prometheus\``);
  return { status, output: `${stdout}${stderr}` };
}
