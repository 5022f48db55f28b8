import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import { readmeBlock } from '../../scripts/tests/readme-commands.ts';
import { pythonPackages } from './install.ts';

const root = join(import.meta.dirname, '../..');
let mesh: ChildProcess | undefined;
afterEach(async () => {
  if (mesh === undefined || mesh.exitCode !== null) return;
  mesh.kill('SIGINT');
  await once(mesh, 'exit');
});

/** Runs what `npm start` runs; gives its base URL. */
async function startMesh(): Promise<string> {
  const args = [join(root, 'mesh/main.ts'), '--port', String(await findFreePort())];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  mesh = child;
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^ready (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return url;
  }
  throw new Error('The mesh ended before it was ready.');
}

test('the README’s Python program runs as it stands there', async () => {
  const url = await startMesh();
  const program = readmeBlock(readFileSync(join(root, 'README.md'), 'utf8'), 'python');
  expect(program).toContain('"http://127.0.0.1:10000/v1"');
  const { stdout } = await promisify(execFile)('python3', ['-c', program.replace('http://127.0.0.1:10000/v1', url)], {
    env: { PATH: process.env['PATH'], PYTHONPATH: pythonPackages, PYTHONNOUSERSITE: '1' },
  });
  const events = stdout.trim().split('\n');
  expect(events[0]).toBe('response.created');
  expect(events.at(-1)).toBe('response.completed');
});
