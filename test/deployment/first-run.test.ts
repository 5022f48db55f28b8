import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** A folder with what a first run needs. */
function freshClone(): string {
  const folder = mkdtempSync(join(tmpdir(), 'extproc-setup-'));
  mkdirSync(join(folder, 'scripts'));
  copyFileSync(join(root, 'scripts/setup.mjs'), join(folder, 'scripts/setup.mjs'));
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(root, name), join(folder, name));
  return folder;
}

test('a first run that npm cannot install ends with what to do', () => {
  const folder = freshClone();
  const { npm_execpath: _npm, ...environment } = process.env;
  const env = {
    ...environment,
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_cache: join(folder, 'cache'),
    npm_config_fetch_retries: '0',
  };
  const { status, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: folder, env, encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  expect(status).toBe(1);
  expect(stderr).toMatch(/npm ci failed\. If it had no connection, run this again once there is a network\.\n$/);
});

test('a first run that may not write npm’s cache says so, and nothing of a network', () => {
  const folder = freshClone();
  const cache = join(folder, 'package.json/cache'); // a file is no folder, for root neither
  const { npm_execpath: _npm, ...environment } = process.env;
  const env = {
    ...environment,
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_cache: cache,
    npm_config_fetch_retries: '0',
  };
  const { status, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: folder, env, encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  expect(status).toBe(1);
  expect(stderr).toMatch(/npm ci failed\. npm may not write its cache \(ENOTDIR: .*npm_config_cache=FOLDER\.\n$/);
});

test('whoever asks for the options of npm start first gets them, and installs nothing', () => {
  const folder = freshClone();
  mkdirSync(join(folder, 'mesh'), { recursive: true });
  for (const name of ['scripts/run.mjs', 'mesh/usage.txt']) copyFileSync(join(root, name), join(folder, name));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/run.mjs', 'mesh/main.ts', '--help'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect({ status, stderr, installed: existsSync(join(folder, 'node_modules')) }).toEqual({
    ...{ status: 0, stderr: '', installed: false },
  });
  expect(stdout).toMatch(/^Usage: npm start -- \[options\]\n/);
  expect(stdout).not.toMatch(/[{}]/);
  rmSync(folder, { recursive: true, force: true });
});

test('a Node that is too old is told which is needed', () => {
  const older = "Object.defineProperty(process.versions, 'node', { value: '18.20.8' });";
  const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, 'scripts/setup.mjs'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'Node 18.20.8 is too old. Install Node 20 or later. It then installs the exact Node that runs everything.\n',
  });
});

test('a first run without a network says so after a while, and what it waits for', async () => {
  const folder = freshClone();
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)); // takes connections and never answers
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  const registry = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const { npm_execpath: _npm, ...environment } = process.env;
  const child = spawn(process.execPath, ['scripts/setup.mjs'], {
    cwd: folder,
    env: {
      ...environment,
      SETUP_NOTICE_MS: '300',
      npm_config_registry: registry,
      npm_config_cache: join(folder, 'cache'),
    },
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  try {
    await expect
      .poll(() => output, { timeout: 240_000 })
      .toMatch(new RegExp(`npm ci has run for \\d+ s\\. Without a network it waits for ${registry}`));
    // An install that takes a minute hears nothing of networks.
    expect(output.match(/^… npm ci has run for \d+ s\.$/gm)).toHaveLength(5);
  } finally {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    silent.close();
    for (const socket of sockets) socket.destroy();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
});
