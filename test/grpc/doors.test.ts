import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { testDoors } from '../support/doors.ts';
import { connectExtProc } from '../support/extproc-client.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { startServiceProcess } from '../support/service-process.ts';

describe('with the pinned Node', () => testDoors(() => process.execPath));

/** A copy of the built service, and its compile cache changed so. */
function copyOfBuild(damaged: (whole: Buffer) => Buffer) {
  const built = inject('builtService') ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-cache-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dist = join(folder, 'dist');
  cpSync(dirname(built), dist, { recursive: true });
  writeFileSync(join(folder, 'package.json'), readFileSync(join(dirname(dirname(built)), 'package.json')));
  const caches = () => readdirSync(dist).filter((file) => file.endsWith('.cache'));
  // The first start's. Services under other flags, and the oldest Node, have their own beside it.
  const name = caches().find((file) => /^program-[0-9a-f]+\.cache$/.test(file)) ?? '';
  for (const other of caches()) if (other !== name) rmSync(join(dist, other));
  const path = join(dist, name);
  writeFileSync(path, damaged(readFileSync(path)));
  return { main: join(dist, 'main.js'), path, caches };
}

test.each<[string, (whole: Buffer) => Buffer]>([
  ['with its middle overwritten', (whole) => Buffer.from(whole).fill(0x55, whole.length >> 2, whole.length >> 1)],
  ['with a byte changed', (whole) => Buffer.from(whole).fill(0x55, 200, 201)],
  ['that is cut', (whole) => whole.subarray(0, whole.length >> 1)],
  ['that is empty', (whole) => whole.subarray(0, 0)],
])('a compile cache %s is not used', (_how, damaged) => {
  const { main } = copyOfBuild(damaged);
  const env = { ...process.env, UPSTREAM_PROFILE: 'none-such' };
  const { status, signal, stderr } = spawnSync(process.execPath, [main], { encoding: 'utf8', env });
  const said = stderr.includes('UPSTREAM_PROFILE');
  expect({ status, signal, said }).toEqual({ status: 1, signal: null, said: true });
});

test('a compile cache that cannot be used stays as it is, and the service has its own beside it', async () => {
  const { main, path, caches } = copyOfBuild((whole) => whole.subarray(0, 1000));
  const service = await startServiceProcess({}, { program: { main, environment: {} } });
  await expect.poll(() => caches().length).toBe(2);
  expect(readFileSync(path)).toHaveLength(1000);
  await service.remove();
});

test('what no handler catches is logged, drains the process, and ends it with an error', async () => {
  const armed = `process.on('SIGUSR2', () => { throw new TypeError('of somebody’s words'); });`;
  const service = await startServiceProcess(
    { DRAIN_TIMEOUT_MS: '60000' },
    { nodeOptions: ['--import', `data:text/javascript,${encodeURIComponent(armed)}`] },
  );
  const client = connectExtProc(service.listen[0] ?? '');
  const { call } = await sendRequest(client, '{"model":"m","input":"Hi","stream":true}');
  process.kill(service.child.pid, 'SIGUSR2');
  const line = await service.logged(({ msg }) => msg === 'uncaught exception');
  expect(line).toMatchObject({
    level: 'fatal',
    cause: 'TypeError',
    at: expect.arrayContaining([expect.stringContaining('at process.emit')]),
  });
  await service.logged(({ msg }) => msg === 'draining');
  // The call that runs goes on to its end.
  await beginStream(call);
  await endStream(call);
  call.cancel();
  client.close();
  expect(await service.child.ended).toContain('1');
});
