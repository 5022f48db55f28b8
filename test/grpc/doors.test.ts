import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { testDoors } from '../support/doors.ts';
import { connectExtProc } from '../support/extproc-client.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { startServiceProcess } from '../support/service-process.ts';

describe('with the pinned Node', () => testDoors(() => process.execPath));

test.each<[string, (whole: Buffer) => Buffer]>([
  ['with its middle overwritten', (whole) => Buffer.from(whole).fill(0x55, whole.length >> 2, whole.length >> 1)],
  ['with a byte changed', (whole) => Buffer.from(whole).fill(0x55, 200, 201)],
  ['that is cut', (whole) => whole.subarray(0, whole.length >> 1)],
  ['that is empty', (whole) => whole.subarray(0, 0)],
])('a compile cache %s is not used', (_how, damaged) => {
  const built = inject('builtService') ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-cache-'));
  try {
    cpSync(dirname(built), join(folder, 'dist'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), readFileSync(join(dirname(dirname(built)), 'package.json')));
    // The first start's. Services under other flags, and the oldest Node, have their own beside it.
    const caches = readdirSync(join(folder, 'dist')).filter((file) => file.endsWith('.cache'));
    const name = caches.find((file) => /^program-[0-9a-f]+\.cache$/.test(file)) ?? '';
    for (const other of caches) if (other !== name) rmSync(join(folder, 'dist', other));
    const path = join(folder, 'dist', name);
    writeFileSync(path, damaged(readFileSync(path)));
    const env = { ...process.env, UPSTREAM_PROFILE: 'none-such' };
    const { status, signal, stderr } = spawnSync(process.execPath, [join(folder, 'dist/main.js')], {
      ...{ encoding: 'utf8', env },
    });
    const said = stderr.includes('UPSTREAM_PROFILE');
    expect({ status, signal, said }).toEqual({ status: 1, signal: null, said: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
