import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** `proto/` is compiled with proto-loader whenever the service is built, so that no build has other numbers than the published ones. */
const root = join(import.meta.dirname, '../../..');
let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'extproc-build-'));
  for (const name of ['package.json', 'proto', 'scripts', 'src'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
});
afterEach(() => {
  rmSync(copy, { recursive: true });
});

function build() {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.ts', 'built'], {
    cwd: copy,
    encoding: 'utf8',
  });
  return { status, stderr, isBuilt: existsSync(join(copy, 'built')) };
}

function change(file: string, from: string, to: string): void {
  const text = readFileSync(join(copy, file), 'utf8');
  expect(text).toContain(from);
  writeFileSync(join(copy, file), text.replace(from, to));
}

const numbers = 'src/filter/extproc/wire-numbers.ts';
const proto = 'proto/envoy/service/ext_proc/v3/external_processor.proto';

it.each([
  [
    'a number of the sources',
    numbers,
    'export const httpBodyEndOfStream = 2;',
    'export const httpBodyEndOfStream = 3;',
  ],
  ['a number of proto/', proto, 'bool end_of_stream = 2;', 'bool end_of_stream = 9;'],
])('a build fails after a change of %s', (_, file, from, to) => {
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  change(file, from, to);
  expect(build()).toEqual({
    status: 1,
    stderr: expect.stringContaining(`${numbers} differs from proto/`),
    isBuilt: false,
  });
});

it('a build fails without proto-loader', () => {
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@grpc') symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  mkdirSync(join(copy, 'node_modules/@grpc'));
  symlinkSync(join(root, 'node_modules/@grpc/grpc-js'), join(copy, 'node_modules/@grpc/grpc-js'));
  expect(build()).toEqual({
    status: 1,
    stderr: expect.stringContaining("Cannot find package '@grpc/proto-loader'"),
    isBuilt: false,
  });
});
