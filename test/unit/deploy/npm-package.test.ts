import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNpmPackage } from '../../../scripts/npm-package.ts';

const root = join(import.meta.dirname, '../../..');
let folder = '';
beforeAll(() => {
  // Inside a node_modules, as npm puts it: there Node runs no TypeScript.
  folder = join(mkdtempSync(join(tmpdir(), 'responses-extproc-package-')), 'node_modules/responses-extproc');
  createNpmPackage(folder, 'https://example.com/responses-extproc');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
}, 120_000);
afterAll(() => rmSync(join(folder, '../..'), { recursive: true, force: true }));

function run(...args: string[]) {
  return spawnSync(join(folder, 'bin/responses-extproc.mjs'), args, { encoding: 'utf8' });
}

test('the package says what it is and what it needs', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ name: 'responses-extproc', version, dependencies: { yaml: expect.any(String) } });
  expect(manifest).not.toHaveProperty('private');
  expect(manifest.repository.url).toBe('git+https://example.com/responses-extproc.git');
});

test('its command is the service', () => {
  const { stdout, stderr, status } = run('--print-config');
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toHaveProperty('UPSTREAM_PROFILE', 'generic');
  expect(status).toBe(0);
});

test('`try` is the local mesh', () => {
  const { stdout, status } = run('try', '--help');
  expect(stdout).toContain('Runs Envoy with the Responses translator');
  expect(status).toBe(0);
});
