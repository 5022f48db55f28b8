/**
 * What `npm test -- SUITE` runs. `npm test -- nightly` runs every suite there is, the quick ones first, until one fails; `npm test --
 * nightly faults fuzz` runs these. What each gave is kept in test/last-runs.json, and from there in test/README.md, so that nobody
 * believes a suite to be green that has not run for long. Commit both.
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

/** Tests that run for themselves. */
export interface Suite {
  readonly name: string;
  /** Run one after the other; what follows the suite's name goes to the last. */
  readonly commands: readonly (readonly string[])[];
  /** Arguments at night. */
  readonly atNight?: readonly string[];
  /** Paths that it tests beside its own folder: when one has changed after its last run, that run says nothing of it. */
  readonly tests: readonly string[];
  /** Its verdict is of the day, not of the tree: a name that others published, a sample that was drawn. A release does not wait for it. */
  readonly ofTheDay?: true;
}

const product = ['src', 'proto', 'package-lock.json'];
const mesh = [...product, 'envoy', 'mesh'];
const tools = 'scripts/containers/kubernetes-tools.sh';

/** A suite that is a project of vitest.config.ts, with what brings its tools. */
function project(name: string, tests: readonly string[], ...before: readonly (readonly string[])[]): Suite {
  return { name, tests, commands: [...before, ['node', 'scripts/tests/vitest-report.ts', name]] };
}

/** Every suite, in the order in which they run at night. `.ci/run` and nightly.yml run the same, on several machines. */
export const suites: readonly Suite[] = [
  // What a change runs: `npm test` alone.
  { name: 'change', commands: [['npm', 'test']], tests: ['.', `:!${record}`, ':!test/README.md'] },
  project('deployment', [
    ...[...mesh, 'README.md', 'scripts/build.ts', 'scripts/run.mjs', 'scripts/setup.mjs'],
    'scripts/release/npm-package.ts',
  ]),
  project('chart', ['deploy', 'test/golden/chart'], [tools, 'helm', 'kubectl-validate']),
  project('monitoring', ['docs/monitoring', 'src/service/telemetry']),
  project('browser', ['src/tools/inspect']),
  project('state', [...mesh, 'docker-compose.state.yml']),
  { name: 'clients', commands: [['node', 'test/clients/run.ts']], tests: mesh },
  project(
    'public',
    ['src/filter', 'src/formats', 'scripts/tests/public-recordings.ts'],
    ['node', 'scripts/tests/public-recordings.ts'],
  ),
  {
    name: 'api-watch',
    commands: [['node', 'scripts/tests/api-watch.ts']],
    tests: ['src/filter/wire', 'scripts/tests/api-watch.ts'],
    ofTheDay: true,
  },
  project('fuzz', ['src/filter', 'src/formats', 'test/fuzz']),
  project('faults', mesh),
  project('matrix', mesh),
  {
    name: 'docker',
    commands: [['scripts/containers/docker-test.sh']],
    tests: [...product, 'Dockerfile', 'docker-compose.yml', 'docker-compose.upstream.yml', 'scripts/build.ts'],
  },
  {
    name: 'release',
    commands: [
      ['scripts/release/install-tools.sh'],
      ['scripts/containers/with-docker.sh', 'node', 'scripts/release/rehearse-release.ts'],
    ],
    tests: [...product, 'Dockerfile', 'deploy/chart', '.github/workflows/release.yml', 'scripts/release'],
  },
  { name: 'kubernetes', commands: [['scripts/containers/kubernetes-test.sh']], tests: ['deploy', 'envoy', 'src'] },
  project('sizing', product),
  {
    name: 'mutate',
    commands: [['node', 'scripts/tests/mutate.ts']],
    atNight: ['--sample', '600', '--seed', seedOf(new Date())],
    tests: ['src', 'test/unit', 'test/golden'],
    ofTheDay: true,
  },
];

/** The paths that a suite tests, its own folder among them. */
function pathsOf({ name, tests }: Suite): readonly string[] {
  const own = `test/${name}`;
  return [...tests, ...(existsSync(join(root, own)) ? [own] : [])];
}

/** Commits after `commit` that changed one of the paths; null where this clone does not know it. */
function changesSince(commit: string, paths: readonly string[]): number | null {
  const words = ['rev-list', '--count', `${commit}..HEAD`, '--', ...paths];
  const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? Number(stdout) : null;
}

/** The suites whose last run says nothing of this commit, each with the reason: never, red, of a changed tree, or older changes. */
export function olderRuns(runs: LastRuns = readRuns(), countChanges = changesSince): string[] {
  return suites.flatMap((suite) => {
    const { name } = suite;
    const run = runs[name];
    if (run === undefined) return [`${name} (never recorded)`];
    if (run.commit.endsWith('-dirty')) return [`${name} (of a changed tree)`];
    const changes = countChanges(run.commit, pathsOf(suite));
    if (changes === null) return [`${name} (of the unknown commit ${run.commit})`];
    if (changes > 0) return [`${name} (${changes} changes ago)`];
    return run.ok ? [] : [`${name} (red)`];
  });
}

/** Those for which a release waits: all but a suite that ran, and is red for a reason of the day. */
export function blockingRuns(...runs: Parameters<typeof olderRuns>): string[] {
  const mayBe = suites.flatMap(({ name, ofTheDay }) => (ofTheDay ? [`${name} (red)`] : []));
  return olderRuns(...runs).filter((run) => !mayBe.includes(run));
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
    return documentsWith({ 'test/README.md': { 'what last ran': section } });
  },
};

/** A row for each suite. What ran before the last release (its date; null before the first), red or never, says so. */
export function table(runs: LastRuns, released: string | null): string {
  const machines = new Set(Object.values(runs).map(({ machine }) => machine));
  const rows = suites.map(({ name }) => {
    const command = name === 'change' ? '`npm test`' : `\`npm test -- ${name}\``;
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

/** Runs a suite with its output shown; its exit code, and the last count that it printed. */
export async function runSuite({ commands }: Suite, words: readonly string[]) {
  let counts: RegExpExecArray | null = null;
  for (const [at, [command = '', ...args]] of commands.entries()) {
    const child = spawn(command, at === commands.length - 1 ? [...args, ...words] : args, {
      cwd: root,
      stdio: ['inherit', 'pipe', 'inherit'],
      env: process.stdout.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env,
    });
    createInterface(child.stdout).on('line', (line) => {
      console.log(line);
      counts = /^(\d+) passed, (\d+) failed$/.exec(line) ?? counts;
    });
    const status = await new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(null));
      child.once('close', resolve);
    });
    if (status !== 0) return { status: status ?? 1, counts };
  }
  return { status: 0, counts };
}

/** Runs a suite as at night. One in which nothing passed, such as `docker` with DOCKER_TESTS=off, has shown nothing: it is no green run. */
export async function lastRunOf(suite: Suite, commit: string): Promise<LastRun> {
  const before = performance.now();
  const { status, counts } = await runSuite(suite, suite.atNight ?? []);
  const [, ...numbers] = (counts ?? []) as readonly string[];
  const [passed = null, failed = null] = numbers.map(Number);
  return {
    commit,
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`,
    passed,
    failed,
    ok: status === 0 && passed !== 0 && (failed ?? 0) === 0,
    seconds: Math.round((performance.now() - before) / 1000),
  };
}

/** The commit, with `-dirty` if the tree was changed by more than the records of earlier suites. */
function commitOf(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', '.', `:!${record}`, ':!test/README.md');
  return git('describe', '--always') + (changed === '' ? '' : '-dirty');
}

/** Runs the suites of these names, or all, until one fails, and records what each gave; the exit code. */
export async function runNightly(wanted: readonly string[]): Promise<number> {
  const unknown = wanted.filter((name) => !suites.some((known) => known.name === name));
  if (unknown.length > 0) {
    console.error(`No suite is called ${unknown.join(', ')}: ${suites.map(({ name }) => name).join(', ')}.`);
    return 2;
  }
  const commit = commitOf();
  for (const suite of suites) {
    const { name } = suite;
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const last = await lastRunOf(suite, commit);
    writeFileSync(join(root, record), `${JSON.stringify({ ...readRuns(), [name]: last }, null, 2)}\n`);
    for (const [path, text] of Object.entries(lastRunsTable.files())) writeFileSync(join(root, path), text);
    console.log(`${last.ok ? 'passed' : 'FAILED'}: ${name}, ${last.seconds} s`);
    if (!last.ok) return 1;
  }
  return 0;
}
