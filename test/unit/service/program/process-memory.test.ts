import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../../../../src/service/program/process-memory.ts');

/** The collections that a process asked for which starts, waits and ends. */
async function requestedCollections(work: string): Promise<number> {
  const script = `
    const { releaseWhenIdle } = await import(${JSON.stringify(source)});
    const begun = performance.now();
    const isLater = () => performance.now() - begun > 1250;
    releaseWhenIdle(${work}, 50);
    // The start has ended by then, and it ends by ticks, not by the clock: a slow machine makes as many looks.
    let ticks = 0;
    const timer = setInterval(() => isLater() && ++ticks > 9 && clearInterval(timer), 50);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--trace-gc', '--input-type=module', '-e', script]);
  return stdout.match(/Mark-Compact \(reduce\).* testing;/g)?.length ?? 0;
}

test('what a start leaves is collected once it is over, but not under the work that has begun', async () => {
  const [idle, busy] = await Promise.all([
    requestedCollections('{ exchanges: 0, admitted: 0 }'),
    requestedCollections('{ exchanges: 1, admitted: 1 }'),
  ]);
  expect(idle).toBeGreaterThan(0);
  expect(busy).toBe(0);
});

test('what a load leaves is collected once it is over, also where it began with the process', async () => {
  const load = '{ get exchanges() { return isLater() ? 0 : 1; }, admitted: 1 }';
  expect(await requestedCollections(load)).toBeGreaterThan(0);
});

test('nothing is collected between the requests of a load, however short they are', async () => {
  expect(await requestedCollections('{ exchanges: 0, get admitted() { return performance.now(); } }')).toBe(0);
});
