import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExtProcLoadOptions, ExtProcLoadReport } from '../../bench/extproc-load.ts';
import { type RunningService, startService, until } from '../support/service.ts';

const bench = join(import.meta.dirname, '../../bench');

async function runLoad(port: number, options: Omit<ExtProcLoadOptions, 'targets'>): Promise<ExtProcLoadReport> {
  const argument: ExtProcLoadOptions = { ...options, targets: [{ host: '127.0.0.1', port }] };
  const child = spawn(process.execPath, [join(bench, 'extproc-load.ts'), JSON.stringify(argument)]);
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (bytes) => {
      written[name] += String(bytes);
    });
  const [status] = await once(child, 'close');
  // Node may warn of something on standard error.
  expect(status, written.stderr).toBe(0);
  return JSON.parse(written.stdout) as ExtProcLoadReport;
}

describe('the load of `npm run bench -- --only capacity`', () => {
  let running: RunningService;
  beforeAll(async () => {
    running = await startService();
  });
  afterAll(() => running.stop());

  // The last is larger than the window of a stream and of a connection.
  it.each(['paced', 'token', 'burst', 'json', 'history'] as const)(
    '%s: the service answers every message as the load expects',
    async (shape) => {
      const ended = running.ends.length;
      const port = Number(running.address.split(':').at(-1));
      // As long as a busy machine needs for one exchange on each stream.
      let report = await runLoad(port, { shape, streams: 4, seconds: 0.3 });
      for (let seconds = 1; report.messages < 4 * 4 && seconds < 10; seconds *= 2)
        report = await runLoad(port, { shape, streams: 4, seconds });
      expect(report.failures).toEqual([]);
      // Headers, body, headers, and at least the first piece of the answer.
      expect(report.messages).toBeGreaterThanOrEqual(4 * 4);
      expect(report.latencyMs.p99).toBeGreaterThan(0);
      if (shape === 'json' || shape === 'history') expect(report.exchanges).toBeGreaterThanOrEqual(4);
      else expect(report.tokens).toBeGreaterThanOrEqual(4);
      await until(() => running.running === 0);
      expect(running.ends.length).toBeGreaterThanOrEqual(ended + 4);
      const outcomes = running.ends.slice(ended).map(({ how }) => how);
      expect(outcomes.filter((how) => how !== 'done' && how !== 'aborted')).toEqual([]);
    },
  );
});

it('the load counts as failed what another service answers', async () => {
  const noop = spawn(process.execPath, [join(bench, 'noop.ts')]);
  const [port] = (await once(createInterface({ input: noop.stdout }), 'line')) as [string];
  let report = await runLoad(Number(port), { shape: 'json', streams: 2, seconds: 0.1 });
  for (let seconds = 1; report.failures.length === 0 && seconds < 10; seconds *= 2)
    report = await runLoad(Number(port), { shape: 'json', streams: 2, seconds });
  noop.kill();
  expect(report.exchanges).toBe(0);
  expect(report.failures[0]).toMatch(/^\d+ bytes of replies, not \d+$/);
});
