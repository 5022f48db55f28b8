import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asTheImage, startChild, startEnvoy, startService, startWatchdog } from '../../../mesh/processes.ts';

/** Starts a shell with this script; gives it and what it wrote so far. */
function startShell(script: string, options: { graceMs?: number; environment?: NodeJS.ProcessEnv } = {}) {
  const lines: string[] = [];
  const child = startChild('shell', '/bin/sh', ['-c', script], { ...options, onLine: (line) => lines.push(line) });
  return { child, lines };
}

test('a child is told by its lines, both of its output and of its errors, and by how it ended', async () => {
  const { child, lines } = startShell('echo one; echo two >&2; printf three; exit 3');
  expect([child.name, child.pid > 0, child.stopped]).toEqual(['shell', true, false]);
  expect(await child.ended).toBe('exit code 3');
  expect(lines.toSorted()).toEqual(['one', 'three', 'two']);
  expect(child.stopped).toBe(false);
});

test('one that is not there says so', async () => {
  const child = startChild('nothing', '/nowhere/nothing', []);
  expect(await child.ended).toBe('could not be started: spawn /nowhere/nothing ENOENT');
  expect(child.pid).toBe(-1);
});

test('it has this environment, or the one it is given, and nothing to read', async () => {
  process.env['OF_THE_TEST'] = 'inherited';
  const script = 'echo "$OF_THE_TEST $(cat | wc -c)"';
  const [own, given] = [startShell(script), startShell(script, { environment: { OF_THE_TEST: 'given' } })];
  delete process.env['OF_THE_TEST'];
  await Promise.all([own.child.ended, given.child.ended]);
  expect([...own.lines, ...given.lines].map((line) => line.replace(/\s+/g, ' '))).toEqual(['inherited 0', 'given 0']);
});

test('it leads a process group of its own, so that Ctrl-C in a terminal does not reach it', async () => {
  const { child, lines } = startShell('ps -o pgid= -p $$');
  await child.ended;
  expect(lines.map(Number)).toEqual([child.pid]);
});

/** Waits until it has said so. */
async function said(lines: readonly string[], line: string): Promise<void> {
  await expect.poll(() => lines).toContain(line);
}

test('it is stopped with SIGTERM, or else killed after its grace', async () => {
  const gentle = startShell('trap "echo bye; exit 0" TERM; echo there; while :; do sleep 0.05; done');
  await said(gentle.lines, 'there');
  await gentle.child.stop();
  expect([await gentle.child.ended, gentle.child.stopped]).toEqual(['exit code 0', true]);
  expect(gentle.lines).toEqual(['there', 'bye']);

  const deaf = startShell('trap "" TERM; echo there; exec sleep 600', { graceMs: 50 });
  await said(deaf.lines, 'there');
  await deaf.child.stop();
  expect(await deaf.child.ended).toBe('signal SIGKILL');
});

test('a signal may be sent to it', async () => {
  const { child } = startShell('exec sleep 600');
  child.kill('SIGINT');
  expect([await child.ended, child.stopped]).toEqual(['signal SIGINT', true]);
});

test('a watchdog leads a process group of its own, and kills nobody once it is cancelled', async () => {
  const { child, lines } = startShell('sleep 0.3; echo alive');
  const cancel = startWatchdog([child]);
  const list = execFileSync('ps', ['-A', '-o', 'pid=,pgid=,args='], { encoding: 'utf8' });
  const [, pid, group] = new RegExp(`^ *(\\d+) +(\\d+) .* mesh-watchdog ${child.pid}$`, 'm').exec(list) ?? [];
  expect(group).toBe(String(pid));
  cancel();
  expect(await child.ended).toBe('exit code 0');
  expect(lines).toEqual(['alive']);
});

test('the service is started with Node’s flags of the image and its variables, and without a drain', async () => {
  process.env['OF_THE_TEST'] = 'inherited';
  const folder = mkdtempSync(join(tmpdir(), 'parts-'));
  const lines: string[] = [];
  const child = startService({ LISTEN: '1', DRAIN_TIMEOUT_MS: '2' }, (line) => lines.push(line), printing(folder));
  delete process.env['OF_THE_TEST'];
  expect([child.name, await child.ended]).toEqual(['service', 'exit code 0']);
  const { DRAIN_DELAY_MS, LISTEN, DRAIN_TIMEOUT_MS, OF_THE_TEST } = JSON.parse(lines[1] ?? '');
  expect({ flags: lines[0], DRAIN_DELAY_MS, LISTEN, DRAIN_TIMEOUT_MS, OF_THE_TEST }).toEqual({
    flags: JSON.stringify(asTheImage),
    ...{ DRAIN_DELAY_MS: '0', LISTEN: '1', DRAIN_TIMEOUT_MS: '2', OF_THE_TEST: 'inherited' },
  });
  rmSync(folder, { recursive: true });
});

/** A program that prints the flags it was started with, and its variables. */
function printing(folder: string): string {
  const file = join(folder, 'print.mjs');
  writeFileSync(file, 'console.log(JSON.stringify(process.execArgv)); console.log(JSON.stringify(process.env));');
  return file;
}

test('Envoy is started on a file that only this user can read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parts-'));
  const lines: string[] = [];
  const child = startEnvoy({ path: '/bin/echo', version: '1.40.0' }, { admin: 1 } as never, {
    ...{ folder, concurrency: 2, logLevel: 'error', onLine: (line) => lines.push(line) },
  });
  expect([child.name, await child.ended]).toEqual(['envoy', 'exit code 0']);
  const file = join(folder, 'envoy.json');
  expect(lines).toEqual([`-c ${file} --concurrency 2 -l error --disable-hot-restart --file-flush-interval-msec 100`]);
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['{"admin":1}', 0o600]);
  rmSync(folder, { recursive: true });
});
