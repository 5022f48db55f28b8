/**
 * `npm run nightly`: every suite there is, the quick ones first, until one fails. `npm run nightly -- test:faults fuzz` runs these.
 * What each gave is kept in test/last-runs.json, and from there in CONTRIBUTING.md, so that nobody believes a suite to be green
 * that has not run for long. Commit both.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { documentsWith, type Generator, markdownTable, textOf } from '../generate/generator.ts';
import { readVersions } from '../generate/publication.ts';

const root = join(import.meta.dirname, '../..');
const record = 'test/last-runs.json';

/** npm scripts with their arguments, in the order in which they run. `.ci/run` and nightly.yml run the same, on several machines. */
export const suites: readonly (readonly [name: string, ...args: string[]])[] = [
  ['test'],
  ['test:deployment'],
  ['test:chart'],
  ['test:monitoring'],
  ['test:browser'],
  ['test:state'],
  ['test:clients'],
  ['test:public'],
  ['api-watch'],
  ['fuzz'],
  ['test:faults'],
  ['test:matrix'],
  ['test:docker'],
  ['test:release'],
  ['test:kubernetes'],
  ['test:sizing'],
  ['mutate', '--sample', '600', '--seed', seedOf(new Date())],
];

const product = ['src', 'proto', 'package-lock.json'];
const mesh = [...product, 'envoy', 'mesh'];

/** What each suite tests, beside its own folder: when one of these changed after its last run, that run says nothing of it. */
export const tested: Readonly<Record<string, readonly string[]>> = {
  test: ['.', `:!${record}`, ':!CONTRIBUTING.md'],
  'test:deployment': [...mesh, 'README.md', 'scripts/build.ts', 'scripts/release/npm-package.ts', 'scripts/start.mjs'],
  'test:chart': ['deploy', 'test/golden/chart'],
  'test:monitoring': ['docs/monitoring', 'src/service/telemetry'],
  'test:browser': ['src/tools/inspect', 'docs/images'],
  'test:state': [...mesh, 'docker-compose.state.yml'],
  'test:clients': mesh,
  'test:public': ['src/filter', 'src/formats', 'scripts/tests/public-recordings.ts'],
  'api-watch': ['src/filter/wire', 'scripts/tests/api-watch.ts'],
  fuzz: ['src/filter', 'src/formats', 'test/fuzz'],
  'test:faults': mesh,
  'test:matrix': mesh,
  'test:docker': [...product, 'Dockerfile', 'docker-compose.yml', 'docker-compose.upstream.yml', 'scripts/build.ts'],
  'test:release': [
    ...product,
    'Dockerfile',
    'deploy/chart',
    '.github/workflows/release.yml',
    'scripts/release/npm-package.ts',
    'scripts/release/rehearse-failures.ts',
    'scripts/release/rehearse-release.ts',
  ],
  'test:kubernetes': ['deploy', 'envoy', 'src'],
  'test:sizing': product,
  mutate: ['src', 'test/unit', 'test/golden'],
};

/** The paths that a suite tests, its own folder among them. */
function pathsOf(name: string): readonly string[] {
  const own = name.replace(/^test:/, 'test/');
  return [...(tested[name] ?? []), ...(existsSync(join(root, own)) ? [own] : [])];
}

/** Commits after `commit` that changed one of the paths; null where this clone does not know it. */
function changesSince(commit: string, paths: readonly string[]): number | null {
  const words = ['rev-list', '--count', `${commit}..HEAD`, '--', ...paths];
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? Number(stdout) : null;
}

/** The suites whose last run says nothing of this commit, each with the reason: never, red, of a changed tree, or older changes. */
export function olderRuns(runs: LastRuns = readRuns(), countChanges = changesSince): string[] {
  return suites.flatMap(([name]) => {
    const run = runs[name];
    if (run === undefined) return [`${name} (never recorded)`];
    if (!run.ok) return [`${name} (red)`];
    if (run.commit.endsWith('-dirty')) return [`${name} (of a changed tree)`];
    const changes = countChanges(run.commit, pathsOf(name));
    if (changes === null) return [`${name} (of the unknown commit ${run.commit})`];
    return changes === 0 ? [] : [`${name} (${changes} changes ago)`];
  });
}

/** The last run of a suite. */
export interface LastRun {
  /** What git calls it, with `-dirty` where the tree was changed. */
  readonly commit: string;
  /** `2026-11-23` */
  readonly date: string;
  readonly machine: string;
  /** Null where the suite counts nothing. */
  readonly passed: number | null;
  readonly failed: number | null;
  readonly ok: boolean;
  readonly seconds: number;
}

export type LastRuns = Readonly<Record<string, LastRun>>;

export const lastRunsTable: Generator = {
  name: 'table of what last ran',
  source: record,
  files: () => {
    const runs = readRuns();
    const released = releasedOn(textOf('CHANGELOG.md'));
    const section = table(runs, released);
    return documentsWith({ 'CONTRIBUTING.md': { 'what last ran': section } });
  },
};

/** A row for each suite. What ran before the last release (its date; null before the first), red or never, says so. */
export function table(runs: LastRuns, released: string | null): string {
  const machines = new Set(Object.values(runs).map(({ machine }) => machine));
  const rows = suites.map(([name]) => {
    const command = name === 'test' ? '`npm test`' : `\`npm run ${name}\``;
    const run = runs[name];
    if (run === undefined) return [command, '**never recorded**', '', '', ''];
    const { date, machine, passed, failed, ok, seconds } = run;
    const commit = machines.size > 1 ? `${run.commit}, ${machine}` : run.commit;
    const age = released !== null && date < released ? `${date} **before the last release**` : date;
    const counts = passed === null ? '' : `${passed} passed, ${failed} failed`;
    return [command, age, commit, ok ? counts || 'green' : `**red** ${counts}`.trim(), seconds];
  });
  const rowsOfAll = markdownTable(['command', 'last ran', 'commit', 'result', 'seconds'], rows);
  return machines.size === 1 ? `${rowsOfAll}\n\nOn ${[...machines].join()}.` : rowsOfAll;
}

/** The date of the newest release. */
export function releasedOn(changelog: string): string | null {
  return readVersions(changelog).find(({ date }) => date !== null)?.date ?? null;
}

/** Another sample of mistakes each day. */
function seedOf(date: Date): string {
  return date.toISOString().slice(0, 10).replaceAll('-', '');
}

function readRuns(): LastRuns {
  return JSON.parse(textOf(record)) as LastRuns;
}

async function run(name: string, args: readonly string[], commit: string): Promise<LastRun> {
  const before = performance.now();
  const child = spawn('npm', ['run', name, ...(args.length > 0 ? ['--', ...args] : [])], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let counts: RegExpExecArray | null = null;
  createInterface(child.stdout).on('line', (line) => {
    console.log(line);
    counts = /^(\d+) passed, (\d+) failed$/.exec(line) ?? counts;
  });
  const status = await new Promise((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', resolve);
  });
  const [, passed, failed] = (counts ?? []) as readonly string[];
  return {
    commit,
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`,
    passed: passed === undefined ? null : Number(passed),
    failed: failed === undefined ? null : Number(failed),
    ok: status === 0,
    seconds: Math.round((performance.now() - before) / 1000),
  };
}

/** The commit, with `-dirty` if the tree was changed by more than the records of earlier suites. */
function commitOf(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', '.', `:!${record}`, ':!CONTRIBUTING.md');
  return git('describe', '--always') + (changed === '' ? '' : '-dirty');
}

if (import.meta.main) {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((name) => !suites.some(([known]) => known === name));
  if (unknown.length > 0) {
    console.error(`No suite is called ${unknown.join(', ')}: ${suites.map(([name]) => name).join(', ')}.`);
    process.exit(2);
  }
  const commit = commitOf();
  for (const [name, ...args] of suites) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const last = await run(name, args, commit);
    writeFileSync(join(root, record), `${JSON.stringify({ ...readRuns(), [name]: last }, null, 2)}\n`);
    for (const [path, text] of Object.entries(lastRunsTable.files())) writeFileSync(join(root, path), text);
    console.log(`${last.ok ? 'passed' : 'FAILED'}: ${name}, ${last.seconds} s`);
    if (last.ok) continue;
    process.exitCode = 1;
    break;
  }
}
