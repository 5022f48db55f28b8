/** Which tests are near to a source: by the number of imports from one to the other. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Files of these folders that are there, in git or not yet; all for none. */
export function listed(paths: readonly string[]): string[] {
  return git('ls-files', '-co', '--exclude-standard', '--', ...paths).filter((file) => existsSync(join(root, file)));
}

/** Files that differ from that revision, or are new. Throws git's words for a revision that it does not know. */
export function changedSince(revision: string): string[] {
  return [...git('diff', '--name-only', '--relative', revision, '--'), ...git('ls-files', '-o', '--exclude-standard')];
}

/** Tests of a first answer. */
export interface NearestTests {
  /** Unit tests that are near: the nearest first. */
  readonly near: readonly string[];
  /** Tests with processes that are near. */
  readonly withProcesses: readonly string[];
  /** How many more of the unit tests come to one of the changed files. */
  readonly others: number;
}

/** Imports beyond those of the nearest test after which a test is foreign to the change. */
const nearness = 2;

/**
 * The tests of `npm test`, other than the property tests of whole streams, that come to one of the changed files. Near are at most
 * ten of them, and three with processes, each by few more imports than the nearest of all to that file.
 */
export function nearestTests(changed: readonly string[]): NearestTests {
  const distances = distancesOf(
    listed(['test/unit', 'test/golden', 'test/grpc', 'test/envoy']).filter((file) => file.endsWith('.test.ts')),
  );
  const beyond = new Map<string, number>();
  for (const file of changed) {
    const reached = [...distances].flatMap(([test, far]) =>
      far.has(file) ? [[test, far.get(file) ?? 0] as const] : [],
    );
    const nearest = Math.min(...reached.map(([, distance]) => distance));
    for (const [test, distance] of reached)
      beyond.set(test, Math.min(beyond.get(test) ?? Infinity, distance - nearest));
  }
  const reached = [...beyond.keys()].sort((one, other) => (beyond.get(one) ?? 0) - (beyond.get(other) ?? 0));
  const nearOf = (tests: readonly string[], most: number) =>
    tests.filter((test) => (beyond.get(test) ?? 0) <= nearness).slice(0, most);
  const isUnit = (test: string) => /^test\/(unit|golden)\//.test(test);
  const unit = reached.filter(isUnit);
  const near = nearOf(unit, 10);
  return {
    near,
    withProcesses: nearOf(
      reached.filter((test) => !isUnit(test)),
      3,
    ),
    others: unit.length - near.length,
  };
}

/**
 * For each of these test files the sources that it imports, directly or indirectly, or that are in a program that it starts, each
 * with the number of imports on the way.
 */
export function distancesOf(tests: readonly string[]): Map<string, ReadonlyMap<string, number>> {
  const direct = new Map<string, readonly string[]>();
  const importsOf = (file: string): readonly string[] => {
    const known = direct.get(file);
    if (known !== undefined) return known;
    const found = [...readFileSync(join(root, file), 'utf8').matchAll(/'(\.{1,2}\/[^']+\.tsx?)'/g)]
      .map(([, path = '']) => join(dirname(file), path))
      .filter((path) => existsSync(join(root, path)));
    direct.set(file, found);
    return found;
  };
  return new Map(
    tests.map((test) => {
      const far = new Map([[test, 0]]);
      for (const [file, distance] of far)
        for (const path of importsOf(file)) if (!far.has(path)) far.set(path, distance + 1);
      return [test, far];
    }),
  );
}

function git(...args: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync('git', ['-c', 'core.quotePath=false', ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(stderr.trim());
  return stdout.split('\n').filter((file) => file !== '');
}
