import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { npxCommand } from '../../scripts/generate/publication.ts';
import { createNpmPackage } from '../../scripts/release/npm-package.ts';
import { healthService } from '../support/proto-definitions.ts';

const root = join(import.meta.dirname, '../..');
let folder = '';
beforeAll(async () => {
  // Inside a node_modules, as npm puts it: there Node runs no TypeScript.
  folder = join(mkdtempSync(join(tmpdir(), 'responses-extproc-package-')), 'node_modules/responses-extproc');
  await createNpmPackage(folder, 'https://example.com/responses-extproc');
});
afterAll(() => rmSync(join(folder, '../..'), { recursive: true, force: true }));

const bin = () => join(folder, 'bin/responses-extproc.mjs');
/** As from a global installation: under `npx` its messages name that. */
function run(...args: string[]) {
  const { npm_lifecycle_event: _npx, ...env } = process.env;
  return spawnSync(bin(), args, { env, encoding: 'utf8' });
}

test('the package says what it is, and needs no other', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ name: 'responses-extproc', version });
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('private');
  expect(manifest.repository.url).toBe('git+https://example.com/responses-extproc.git');
  expect(manifest).toMatchObject({
    homepage: 'https://example.com/responses-extproc#readme',
    bugs: 'https://example.com/responses-extproc/issues',
    keywords: expect.arrayContaining(['envoy', 'responses-api']),
  });
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  expect(readme).toContain(`${npxCommand(version)} try`);
  expect(npxCommand('1.0.0')).toBe('npx responses-extproc');
  expect(readme).toContain(`](https://example.com/responses-extproc/blob/v${version}/envoy/minimal.yaml)`);
  expect(readme).not.toMatch(/npm (?:start|run)|not published|\]\(\.\./);
});

test('its command is the service', () => {
  const { stdout, stderr, status } = run('--print-config');
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toHaveProperty('UPSTREAM_PROFILE', 'generic');
  expect(status).toBe(0);
});

test('the service in it serves', async () => {
  const child = spawn(join(folder, 'bin/responses-extproc.mjs'), [], {
    env: { ...process.env, LISTEN: '127.0.0.1:0', ADMIN_LISTEN: 'off', DRAIN_DELAY_MS: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(createInterface(child.stdout), 'line');
    const { listen } = JSON.parse(line);
    const client = new Client(listen[0], credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = healthService.Check;
    const answer = await new Promise((resolve, reject) =>
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, (error, value) =>
        error === null ? resolve(value) : reject(error),
      ),
    );
    client.close();
    expect(answer).toEqual({ status: 'SERVING' });
    // What V8 compiled is kept while it serves, since at the end V8 has dropped what only a start runs.
    await expect
      .poll(() => readdirSync(join(folder, 'dist')).filter((name) => name.endsWith('.cache')))
      .toHaveLength(1);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});

test('a service that ran keeps what V8 compiled, which the next one takes', () => {
  const dist = join(folder, 'dist');
  const cache = readdirSync(dist).filter((name) => name.endsWith('.cache'));
  expect(cache).toHaveLength(1);
  // In a process of its own: V8 takes none in one that has had other flags, as the tests beside this one may set.
  const asks = `const [, cache, program] = process.argv, { readFileSync } = require('node:fs');
    const source = readFileSync(program, 'latin1');
    console.log(new (require('node:vm').Script)(source, { cachedData: readFileSync(cache) }).cachedDataRejected);`;
  const paths = [cache[0] ?? '', 'program.js'].map((name) => join(dist, name));
  expect(spawnSync(process.execPath, ['-e', asks, ...paths], { encoding: 'utf8' }).stdout).toBe('false\n');
  // One that was made for other sources, or by another Node, is not taken, and harms nothing.
  writeFileSync(join(dist, cache[0] ?? ''), 'nothing that V8 made');
  expect(run('--version')).toMatchObject({ status: 0, stderr: '' });
});

test('a service with other flags of V8, which shares no compiled code with the first, keeps its own beside it', async () => {
  const caches = () => readdirSync(join(folder, 'dist')).filter((name) => name.endsWith('.cache'));
  const [first = ''] = caches();
  const kept = readFileSync(join(folder, 'dist', first));
  const child = spawn(process.execPath, ['--initial-heap-size=96', join(folder, 'dist/main.js')], {
    env: { ...process.env, LISTEN: '127.0.0.1:0', ADMIN_LISTEN: 'off', DRAIN_DELAY_MS: '0' },
    stdio: 'ignore',
  });
  try {
    await expect.poll(caches).toHaveLength(2);
    expect(readFileSync(join(folder, 'dist', first)).equals(kept)).toBe(true);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});

test('the licence of everything that is in it goes with it', () => {
  const licences = readFileSync(join(folder, 'dist/THIRD_PARTY_LICENSES.txt'), 'utf8');
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    expect(`\n${licences}`).toContain(`\n${name} `);
    // Where scanners look for packages.
    const { version } = JSON.parse(readFileSync(join(folder, 'dist/third-party', name, 'package.json'), 'utf8'));
    expect(version).toBe(dependencies[name]);
  }
});

test('an error in it names the place in the sources', () => {
  const map = JSON.parse(readFileSync(join(folder, 'dist/program.js.map'), 'utf8'));
  expect(map.sources.filter((source: string) => source.endsWith('src/filter/exchange/exchange.ts'))).toHaveLength(1);
});

test('the service in it has nothing of a dependency that it never runs', () => {
  // A namespace of zod that is used as a value (`z.core.…`) brings its messages in fifty languages: 470 kB.
  for (const file of ['program.js.map', 'explain-explain-command.js.map', 'doctor-doctor-command.js.map']) {
    const { sources } = JSON.parse(readFileSync(join(folder, 'dist', file), 'utf8'));
    expect(sources.filter((source: string) => /zod\/.*\/locales\/(?!en\.|index\.)/.test(source))).toEqual([]);
  }
});

test('`explain` links to the repository of the package', () => {
  const file = join(folder, '../request.json');
  writeFileSync(file, '{"model":"m","input":"Hi","text":{"verbosity":"low"}}');
  const { stdout, stderr, status } = run('explain', file);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  expect(stdout).toContain(`https://example.com/responses-extproc/blob/v${version}/docs/mapping.md#row-text-verbosity`);
});

test('what npm packs runs from where npm puts it', () => {
  const parent = join(folder, '..');
  const pack = spawnSync('npm', ['pack', '--json', '--offline', folder], { cwd: parent, encoding: 'utf8' });
  const [{ filename = '' } = {}] = Object.values<{ filename?: string }>(JSON.parse(pack.stdout)); // npm 12 writes an object
  const installed = join(parent, '../installed/node_modules/responses-extproc');
  mkdirSync(installed, { recursive: true });
  spawnSync('tar', ['-xzf', join(parent, filename), '-C', installed, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const bin = join(installed, manifest.bin['responses-extproc']);
  const explained = spawnSync(bin, ['explain', '--json'], { input: '{"model":"m","input":"Hi"}', encoding: 'utf8' });
  expect(JSON.parse(explained.stdout)).toMatchObject({ outcome: 'sent' });
});

test('`try` is the local mesh', () => {
  const { stdout, status } = run('try', '--help');
  expect(stdout).toContain('Runs Envoy with the Responses translator');
  expect(status).toBe(0);
});

test('`try --print-envoy-config` prints what Envoy would get, and how to start both with the package', () => {
  const { stdout, status } = run(
    'try',
    '--print-envoy-config',
    '--upstream',
    'http://127.0.0.1:9/v1',
    '--profile',
    'vllm',
  );
  expect(status).toBe(0);
  expect(stdout).toContain('#   UPSTREAM_PROFILE=vllm WEBSOCKET_LISTEN=127.0.0.1:50052 ');
  expect(stdout).toContain('/v1 responses-extproc\n#   responses-extproc envoy -c FILE\n');
  const file = join(folder, '../envoy.yaml');
  writeFileSync(file, stdout);
  // `envoy` is the Envoy that `try` runs, with the user's options.
  const validated = run('envoy', '--mode', 'validate', '-c', file);
  expect(validated.stdout).toContain(`configuration '${file}' OK`);
  expect(validated.status).toBe(0);
});

test.each([
  [['doctr'], 'There is no command doctr here. Did you mean doctor? Run with --help to see the options.\n'],
  [['try', '--prot', '1'], "Unknown option '--prot'. Did you mean --port? --help shows the options.\n"],
])('wrong usage ends with 2 and what was meant: %j', (args, message) => {
  expect(run(...args)).toMatchObject({ status: 2, stdout: '', stderr: message });
});

test.each([[['try']], [['envoy', '--version']], [[]]])('a Node that is too old is told first: %j', (args) => {
  const older = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });";
  const all = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, bin(), ...args];
  const { status, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' });
  expect(stderr).toMatch(/^This is Node 20\.20\.2; responses-extproc needs Node .* can end the process\.\n$/);
  expect(status).toBe(1);
});

test('--help names every command of the package', () => {
  const { stdout } = run('--help');
  for (const name of ['try', 'envoy', 'explain', 'doctor']) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
});
