import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A copy of this tree, made ready for a release as RELEASING.md says: also where this tree was made ready for one before. */
const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-prepared-'));
afterAll(() => rmSync(folder, { recursive: true }));

const { version: former } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const changelog = join(folder, 'CHANGELOG.md');
/** Puts something in the place of the first heading of a version. */
const beginChangelog = (heading: string) =>
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace(/^## \S+ \(\S+\)$/m, heading));

beforeAll(() => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    ...{ cwd: root, encoding: 'utf8' },
  });
  for (const path of files.trim().split('\n')) cpSync(join(root, path), join(folder, path));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  execFileSync('git', ['add', '--all'], { cwd: folder });
  beginChangelog('## 9.9.8 (unreleased)\n\n- A section that has just begun has no words.');
  const prepare = ['scripts/release/prepare-release.ts', '9.9.8', 'Some-Owner', 'somebody'];
  const { status, stderr } = spawnSync(process.execPath, prepare, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
});

/** What the tests of a release's facts say in the copy: what failed, and nothing when all passed. */
function findFailed(): string {
  const words = ['run', '--project=unit', 'test/unit/scripts/release-facts.test.ts'];
  const { status, stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/vitest'), words, {
    ...{ cwd: folder, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
  });
  return status === 0 && /Tests +\d+ passed/.test(stdout) ? '' : `${stdout}${stderr}`;
}

test('of a prepared tree its tag refuses only what Renovate and the suites write', () => {
  const [, owner] =
    /^home: https:\/\/github\.com\/([\w-]+)/m.exec(readFileSync(join(folder, 'deploy/chart/Chart.yaml'), 'utf8')) ?? [];
  const facts = ['scripts/release/release-facts.ts', 'v9.9.8', `${owner}/responses-extproc`];
  const { stderr } = spawnSync(process.execPath, facts, { cwd: folder, encoding: 'utf8' });
  const lines = stderr.trim().split('\n');
  expect(lines.filter((line) => !/ has no digest: |^test\/last-runs\.json: /.test(line))).toEqual([]);
  expect(lines).not.toEqual([]);
});

test('no command of a prepared tree, and no picture, has the version that it had before', () => {
  const words = ['grep', '-nE', `responses-extproc[:@]${former}`, '--', 'docs', 'deploy/chart', ':!docs/upgrading.md'];
  const found = spawnSync('git', words, { cwd: folder, encoding: 'utf8' });
  expect(found.stdout).toBe('');
  expect(readFileSync(join(folder, 'docs/images/terminal.svg'), 'utf8')).toContain('responses-extproc@9.9.8 start');
});

test('a prepared tree passes the tests that it has of itself', () => {
  expect(findFailed()).toBe('');
});

test('a tree in which the next version has begun passes them too', () => {
  beginChangelog('## 9.9.9 (unreleased)\n\nNothing yet.\n\n$&');
  expect(findFailed()).toBe('');
});
