import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildService } from '../../scripts/build.ts';
import { clientsFolder } from './install.ts';

const root = join(import.meta.dirname, '../..');
const built = mkdtempSync(join(tmpdir(), 'responses-extproc-nodes-'));
beforeAll(async () => {
  symlinkSync(join(root, 'package.json'), join(built, 'package.json')); // its version
  await buildService(join(built, 'dist'));
});
afterAll(() => rmSync(built, { recursive: true }));

/** The folder with the `node` of that line of versions, from npm. */
function folderOf(line: number): string {
  const prefix = join(clientsFolder, `node-${line}`);
  mkdirSync(prefix, { recursive: true });
  const name = `node-${process.platform}-${process.arch}`;
  const options = ['--prefix', prefix, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr } = spawnSync('npm', ['install', ...options, `${name}@${line}`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return join(prefix, 'node_modules', name, 'bin');
}

describe.each([
  [20, false],
  [22, true],
  [24, true],
  [26, true],
])('Node %i', (line, serves) => {
  let bin: string;
  beforeAll(() => {
    bin = folderOf(line);
  });

  test('starts what README and CONTRIBUTING say', () => {
    for (const page of ['README.md', 'CONTRIBUTING.md'])
      expect(readFileSync(join(root, page), 'utf8')).toContain('Node 20 or later, npm, Python 3 and pip');
    const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` };
    for (const name of Object.keys(env)) if (/^npm_(?!config_cache)/.test(name)) delete env[name];
    const ran = spawnSync('npm', ['start', '--', '--help'], { cwd: root, env, encoding: 'utf8' });
    expect(ran.stdout, ran.stderr).toContain('Runs Envoy with the Responses translator');
    expect(ran.status).toBe(0);
  });

  test(serves ? 'runs the service' : 'is too old for the service, which says so', () => {
    const main = join(built, 'dist/main.js');
    const ran = spawnSync(join(bin, 'node'), [main, '--print-config'], { encoding: 'utf8' });
    if (serves) expect(JSON.parse(ran.stdout)).toHaveProperty('UPSTREAM_PROFILE', 'generic');
    else expect(ran.stderr).toMatch(/^This is Node 20\.\S+; responses-extproc needs Node 22\./);
    expect(ran.status).toBe(serves ? 0 : 1);
  });
});
