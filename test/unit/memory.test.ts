import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../../src/program/process-memory.ts');

/** The collections of a process that starts, waits and ends, which were asked for by it. */
async function requestedCollections(isIdle: string): Promise<number> {
  const script = `
    const { releaseWhenIdle } = await import(${JSON.stringify(source)});
    releaseWhenIdle(() => ${isIdle}, 50);
    setTimeout(() => {}, 1500);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--trace-gc', '--input-type=module', '-e', script]);
  return stdout.match(/Mark-Compact \(reduce\).* testing;/g)?.length ?? 0;
}

test('what a start leaves is collected once it is over, but not under the work that has begun', async () => {
  const [idle, busy] = await Promise.all([requestedCollections('true'), requestedCollections('false')]);
  expect(idle).toBeGreaterThan(0);
  expect(busy).toBe(0);
});

test('what a load leaves is collected once it is over, also where it began with the process', async () => {
  expect(await requestedCollections('performance.now() > 1250')).toBeGreaterThan(0);
});
