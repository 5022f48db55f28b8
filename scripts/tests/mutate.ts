/**
 * `npm run mutate [-- FILE…|ROOM…] [--sample N] [--seed N | --again]`: puts small mistakes into the sources of a copy of the tree, and
 * runs the unit, golden and property tests that come to the place until one fails; then, for what these do not see outside of the
 * filter, the nearest of the tests that start processes. A mistake that no test sees is a survivor: it needs a case, or a line in
 * `scripts/tests/mutation/accepted.json` with the reason why it may stay. Without arguments: the filter's four folders; `all` is all of
 * `src` and `mesh`. Exit code 1 if less than 95 % of the others are seen, 93 % outside of the filter.
 * `--again` tries the survivors of the last report.
 *
 * The mistakes of a sample are all in the sources at once, each behind a switch (`mutation/switches.ts`), so that sources and tests are
 * loaded once. Those in what a module computes when it is loaded, tables and constants, are tried one by one in a new process.
 * Why not Stryker: `docs/decisions/0010-mutation-testing.md`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '../../bench/fixtures.ts';
import { cpuSeconds } from '../../bench/process-figures.ts';
import { type Mutant, mutantsOf } from './mutation/mutants.ts';
import { withSwitches } from './mutation/switches.ts';
import type { Line, Task } from './mutation/task.ts';
import { distancesOf, listed } from './nearest-tests.ts';
import type { VitestReport } from './vitest-report.ts';

/** A mistake as lists name it. */
type Change = Pick<Mutant, 'file' | 'before' | 'after'> & { readonly line?: number };
const keyOf = ({ file, before, after }: Change) => JSON.stringify([file, before, after]);

const root = join(import.meta.dirname, '../..');
const folder = join(root, '.cache/mutate');
const tree = join(folder, 'tree');
const folders = ['src/filter/translate', 'src/filter/wire/sse', 'src/filter/exchange', 'src/filter/extproc'];
/** The sources as they are, for the tests that start processes: these have no switches. */
const plain = join(folder, 'plain');
const isInFilter = (file: string) => file.startsWith('src/filter/');
/** How many of the tests that start processes a mutant is tried with first, and in all. */
const [nearest, near] = [3, 12];
/** Tests of nothing but time and memory, which take as long as all others together. */
const measuring = /\/(cost|linear|size|nesting|kept|endless-streams|memory|load)\.test\.ts$/;
/** CPU time without a word after which a mutant counts as endless: most of its loops are counted, and end by themselves. */
const patienceCpuMs = 300_000;
/** The same in wall-clock time, for a mutant that waits forever. */
const patienceMs = 1_800_000;
/** How long tests that start processes may take together on a busy machine: with a mutant, they hang. */
const processPatienceMs = 480_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, seed: { type: 'string', default: '1' }, again: { type: 'boolean' } },
});
const originals = new Map(
  sourcesOf(positionals.length === 0 ? folders : positionals).map((file) => [
    file,
    readFileSync(join(root, file), 'utf8'),
  ]),
);
const all = [...originals].flatMap(([file, text]) => mutantsOf(file, text));
const mutants = values.again
  ? survivorsIn(all)
  : sampleOf(all, Number(values.sample ?? all.length), Number(values.seed));
if (mutants.length === 0) throw new Error('There is nothing to mutate in these files.');
console.log(`${mutants.length} of ${all.length} mutants, seed ${values.seed}`);

const ours = join(import.meta.dirname, 'mutation/collect.ts');
rmSync(folder, { recursive: true, force: true });
copyTree(tree, (test) => test.replaceAll("from 'vitest'", `from '${ours}'`));
const distances = distancesOf(
  listed(['test']).filter((file) => /^test\/(unit|golden|fuzz|grpc|envoy|deployment)\/.*\.test\.ts$/.test(file)),
);
const numbered = new Map(mutants.map((mutant, index) => [index + 1, mutant]));
const fixed = new Set(putSwitches());
const outcomes = new Map<number, string | null>();
/** What no unit test has seen, and tests that start processes may. */
const unseen: number[] = [];
/** Units of tests that fail in the copy without any mistake, as they start processes; false for those that do not. */
const failsInCopy = new Map<string, boolean>();
/** Tests that have run behind switches. */
const judged = new Set<string>();
await trySwitched([...numbered.keys()].filter((number) => !fixed.has(number)));
for (const number of fixed) settle(number, await tryFixed(numbered.get(number) as Mutant));
await tryProcesses();
const { isEnough, text } = report();
console.log(`\n${text}`);
process.exitCode = isEnough ? 0 : 1;

/** Puts all mutants into the sources; gives those that no switch can turn on. */
function putSwitches(): ReadonlySet<number> {
  const all = new Set<number>();
  for (const file of sourcesOf(folders.concat(positionals))) {
    const own = new Map([...numbered].filter(([, mutant]) => mutant.file === file));
    const switched = withSwitches(file, readFileSync(join(root, file), 'utf8'), own);
    writeFileSync(join(tree, file), switched.text);
    for (const number of switched.fixed) all.add(number);
  }
  return all;
}

/** A mutant that is not seen waits for the tests that start processes, if there are any for it. */
function settle(number: number, killedBy: string | null): void {
  const { file } = numbered.get(number) as Mutant;
  if (killedBy === null && processTestsOf(file).length > 0) unseen.push(number);
  else tell(number, killedBy);
}

function tell(number: number, killedBy: string | null): void {
  outcomes.set(number, killedBy);
  const { file, line, kind, before, after } = numbered.get(number) as Mutant;
  console.log(`${outcomes.size}/${mutants.length} ${killedBy === null ? 'SURVIVED' : 'seen'} ${file}:${line} ${kind}`);
  if (killedBy === null) console.log(`  - ${before}\n  + ${after}`);
  report();
}

async function trySwitched(numbers: readonly number[]): Promise<void> {
  if (numbers.length === 0) return;
  let current = 0;
  const tests = [...new Set(numbers.flatMap((number) => testsOf((numbered.get(number) as Mutant).file)))];
  if (tests.length === 0) {
    for (const number of numbers) settle(number, null);
    return;
  }
  const ended = await run({ tests, without: [], numbers, last: mutants.length }, (line) => {
    if (line.type === 'unusable') failsInCopy.set(line.unit, true);
    if (line.type === 'tries') current = line.number;
    if (line.type === 'tried')
      if (line.killedBy === undefined) fixed.add(line.number);
      else settle(line.number, line.killedBy);
  });
  for (const test of tests) judged.add(test);
  if (ended !== null) return;
  if (current === 0) throw new Error('The tests do not run.');
  if (!outcomes.has(current) && !fixed.has(current) && !unseen.includes(current)) tell(current, 'never ends');
  await trySwitched(numbers.slice(numbers.indexOf(current) + 1));
}

async function tryFixed(mutant: Mutant): Promise<string | null> {
  const switched = readFileSync(join(tree, mutant.file), 'utf8');
  writeFileSync(join(tree, mutant.file), mutant.text);
  const failure = await firstFailure(testsOf(mutant.file));
  writeFileSync(join(tree, mutant.file), switched);
  if (failure?.unit == null) return failure === null ? 'never ends' : null;
  const { unit, killedBy } = failure;
  if (!failsInCopy.has(unit)) {
    const other = await firstFailure([fileOf(unit)]);
    failsInCopy.set(other?.unit ?? unit, other?.unit !== null);
  }
  return failsInCopy.get(unit) === false ? `${unit}: ${killedBy}` : await tryFixed(mutant);
}

/** The first unit of these tests that fails, of those that do not always; null if they never end. */
function firstFailure(tests: readonly string[]) {
  const without = [...failsInCopy].filter(([, fails]) => fails).map(([unit]) => unit);
  return run({ tests, without, numbers: null, last: 0 }, () => {});
}

/** The file of a unit. */
function fileOf(unit: string): string {
  return unit.split(' › ')[0] ?? unit;
}

/**
 * Tries what no unit test has seen with the tests that start processes, in vitest as `npm test` runs them, one mistake after the
 * other. A test that fails without any is not used.
 */
async function tryProcesses(): Promise<void> {
  if (unseen.length === 0) return;
  copyTree(plain, (test) => test);
  symlinkSync(join(root, '.cache'), join(plain, '.cache'));
  spawnSync('git', ['init', '-q', plain]);
  const usable = new Map<string, boolean>();
  for (const number of unseen) {
    const { file, text } = numbered.get(number) as Mutant;
    const all = processTestsOf(file);
    let killedBy: string | undefined;
    for (const tests of [all.slice(0, nearest), all.slice(nearest)]) {
      const untried = tests.filter((test) => !usable.has(test));
      const failing = await failuresOf(untried, 0);
      for (const test of untried) usable.set(test, !failing.some(([name]) => name === '' || name.endsWith(test)));
      for (const failure of failing)
        console.log(`Not used, since it fails without any mistake: ${failure.join(' › ')}`);
      writeFileSync(join(plain, file), text);
      const [failure] = await failuresOf(
        tests.filter((test) => usable.get(test)),
        1,
      );
      writeFileSync(join(plain, file), readFileSync(join(root, file)));
      killedBy = failure?.[1];
      if (killedBy !== undefined) break;
    }
    tell(number, killedBy ?? null);
  }
}

/** The tests that fail and their files, at most `most` if that is above 0; no file if they do not start or never end. */
async function failuresOf(tests: readonly string[], most: number): Promise<(readonly [file: string, test: string])[]> {
  if (tests.length === 0) return [];
  const output = join(folder, 'processes.json');
  rmSync(output, { force: true });
  const projects = ['unit', 'grpc', 'envoy', 'deployment'].map((name) => `--project=${name}`);
  const options = [...projects, '--maxWorkers=3', '--testTimeout=120000', `--bail=${most}`];
  const args = ['run', ...options, '--reporter=json', `--outputFile=${output}`, ...tests];
  const child = startVitest(args, { cwd: plain });
  const status = await Promise.race([
    once(child, 'close').then(([code]) => code as number | null),
    sleep(processPatienceMs, 'late' as const, { ref: false }),
  ]);
  if (status === 0) return [];
  if (status === 'late') process.kill(-(child.pid as number), 'SIGKILL');
  if (!existsSync(output)) return [['', status === 'late' ? 'never ends' : 'the service does not start']];
  const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as VitestReport;
  return testResults
    .filter((file) => file.status === 'failed')
    .map(({ name, assertionResults }) => [
      name,
      assertionResults.find((one) => one.status === 'failed')?.fullName ?? '',
    ]);
}

/** Starts vitest in a group of its own, which can be ended with all that it has started; it does not outlive this process. */
function startVitest(args: readonly string[], options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv }) {
  const child = spawn(join(root, 'node_modules/.bin/vitest'), args, { ...options, stdio: 'ignore', detached: true });
  const end = () => {
    process.kill(-(child.pid as number), 'SIGKILL');
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, end);
    child.once('close', () => process.off(signal, end));
  }
  return child;
}

/** The last line of a run; null if it had to be ended, or ended by itself. */
async function run(
  task: Omit<Task, 'out'>,
  onLine: (line: Line) => void,
): Promise<Extract<Line, { type: 'end' }> | null> {
  const [out, path] = [join(folder, 'out.jsonl'), join(folder, 'task.json')];
  writeFileSync(out, '');
  writeFileSync(path, JSON.stringify({ ...task, out } satisfies Task));
  const args = ['run', '--config', join(import.meta.dirname, 'mutation/vitest.config.ts')];
  const env = {
    ...process.env,
    MUTATION_TASK: path,
    MUTATION_TREE: tree,
    NODE_COMPILE_CACHE: join(folder, 'compile-cache'),
  };
  const child = startVitest(args, { cwd: root, env });
  let over = false;
  child.once('close', () => {
    over = true;
  });
  let read = 0;
  let last: Line | null = null;
  let since = { clock: performance.now(), cpu: 0 };
  for (let isLast = false; !isLast; ) {
    isLast = over;
    const lines = readFileSync(out, 'utf8').split('\n');
    for (const line of lines.slice(read, -1)) {
      last = JSON.parse(line) as Line;
      onLine(last);
    }
    const now = { clock: performance.now(), cpu: Math.max(since.cpu, cpuMsOf(child)) };
    if (lines.length - 1 > read) since = now;
    read = lines.length - 1;
    if (last?.type === 'end' || now.cpu - since.cpu > patienceCpuMs || now.clock - since.clock > patienceMs)
      isLast = true;
    if (!isLast) await sleep(200);
  }
  if (!over) process.kill(-(child.pid as number), 'SIGKILL');
  return last?.type === 'end' ? last : null;
}

/** TypeScript files of these files and folders, without what scripts write. */
function sourcesOf(paths: readonly string[]): string[] {
  const places = paths.flatMap((path) => (path === 'all' ? ['src', 'mesh'] : [inSource(path)]));
  const isOurs = (file: string) => !/written by `?npm run/i.test(readFileSync(join(root, file), 'utf8').slice(0, 200));
  return [...new Set(listed(places))].filter((file) => /^(src|mesh)\/.*\.ts$/.test(file) && isOurs(file));
}

/** `sse` is `src/filter/wire/sse`. */
function inSource(path: string): string {
  const places = ['', 'src/filter', 'src/filter/wire', 'src/service', 'src/tools', 'tools'].map((folder) =>
    join(folder, path),
  );
  return places.find((place) => existsSync(join(root, place))) ?? path;
}

/** That many of them in random order, so that an interrupted run is a sample too; the same for the same seed. */
function sampleOf(list: readonly Mutant[], count: number, seed: number): Mutant[] {
  const random = createRandom(seed);
  const drawn = list.map((mutant) => [random(), mutant] as const).sort(([one], [other]) => one - other);
  return drawn.slice(0, count).map(([, mutant]) => mutant);
}

/** Those of them that survived the last run. */
function survivorsIn(list: readonly Mutant[]): Mutant[] {
  const { outcomes: last } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as {
    readonly outcomes: readonly (Change & { readonly killedBy: string | null })[];
  };
  const survived = new Set(last.filter(({ killedBy }) => killedBy === null).map(keyOf));
  return list.filter((mutant) => survived.has(keyOf(mutant)));
}

/** Copies all files of the tree as they are now, its tests through `changed`; links the packages. */
function copyTree(to: string, changed: (test: string) => string): void {
  for (const file of listed([])) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    if (/^test\/.*\.ts$/.test(file)) writeFileSync(join(to, file), changed(readFileSync(join(root, file), 'utf8')));
    else cpSync(join(root, file), join(to, file));
  }
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'));
}

/** For a file the unit tests that come to it, the nearest first. */
function testsOf(file: string): string[] {
  const near = nearTests(file);
  return nearestFirst(file, (test) => near.test(test));
}

/** For what stands outside of the filter: the tests that start processes which come to the file, the nearest first. */
function processTestsOf(file: string): readonly string[] {
  if (isInFilter(file)) return [];
  const left = new Set([...failsInCopy].filter(([, fails]) => fails).map(([unit]) => fileOf(unit)));
  const isLeft = (test: string) =>
    left.has(test) || (/^test\/(grpc|envoy|deployment)\//.test(test) && !judged.has(test));
  return nearestFirst(file, isLeft).slice(0, near);
}

function nearestFirst(file: string, isWanted: (test: string) => boolean): string[] {
  const isNamesake = (test: string) => file.split(/[/.]/).includes(basename(test, '.test.ts'));
  // What is made of a table shows each mistake in it, within a second.
  const isOfMade = (test: string) => test.startsWith('test/unit/scripts/');
  const far = (test: string) =>
    (distances.get(test)?.get(file) ?? 0) - (isNamesake(test) ? 2 : 0) - (isOfMade(test) ? 10 : 0);
  return [...distances.keys()]
    .filter((test) => isWanted(test) && !measuring.test(test) && distances.get(test)?.has(file))
    .sort((one, other) => far(one) - far(other));
}

/**
 * The golden cases, the properties, and the unit tests of the file's own folder, of the four folders an answer passes, of memory and
 * the server, and of `explain` for what it records; for the service those over gRPC that start no process, and for it
 * and the profiles those of what is made from their tables.
 */
function nearTests(file: string): RegExp {
  const recorded = /\bprovenance\b/.test(originals.get(file) ?? '') ? ['src/tools/explain'] : [];
  const names = [file, ...folders, 'src/service/memory', 'src/service/server', ...recorded].map(folderOf);
  const grpc = /^src\/(program|service)\//.test(file) ? ['grpc'] : [];
  const generated = /^src\/(program|service|filter\/upstream)\//.test(file) ? ['unit/scripts'] : [];
  return new RegExp(
    `^test/(${['golden', 'fuzz', ...names.map((name) => `unit/${name}`), ...grpc, ...generated].join('|')})/`,
  );
}

/** `filter/translate` of a path in it, `filter/wire/sse` of one there. */
function folderOf(path: string): string {
  if (path.startsWith('mesh/')) return 'mesh';
  if (path.startsWith('src/program/')) return 'program';
  return /^src\/((?:filter\/wire|[^/]+)\/[^/]+)/.exec(path)?.[1] ?? '';
}

/** CPU time of a process and its children so far, in ms; 0 where there is no `/proc`, so that only the clock decides. */
function cpuMsOf({ pid = 0 }: ChildProcess): number {
  return existsSync(`/proc/${pid}`) ? cpuSeconds(pid) * 1000 : 0;
}

/** Writes what is known so far; gives the report's text, and whether enough is seen. */
function report(): { isEnough: boolean; text: string } {
  const done = [...outcomes].map(([number, killedBy]) => ({ ...(numbered.get(number) as Mutant), killedBy }));
  const accepted = JSON.parse(readFileSync(join(import.meta.dirname, 'mutation/accepted.json'), 'utf8')) as Change[];
  const mayStay = new Set(accepted.map(keyOf));
  const scoreOf = (some: typeof done) => {
    const seen = some.filter(({ killedBy }) => killedBy !== null).length;
    const open = some.filter((mutant) => mutant.killedBy === null && !mayStay.has(keyOf(mutant)));
    return { seen, open, counted: seen + open.length };
  };
  const rowOf = (name: string, some: typeof done) => {
    const { seen, open, counted } = scoreOf(some);
    const score = counted === 0 ? '–' : `${((100 * seen) / counted).toFixed(1)} %`;
    return `| ${name} | ${some.length} | ${seen} | ${open.length} | ${some.length - counted} | ${score} |`;
  };
  const byFolder = Object.entries(Object.groupBy(done, ({ file }) => folderOf(file)));
  const known = new Set(all.map(keyOf));
  const stale = accepted.filter((one) =>
    originals.has(one.file) ? !known.has(keyOf(one)) : !existsSync(join(root, one.file)),
  );
  const listOf = (title: string, list: readonly Change[]) =>
    list.length === 0
      ? []
      : [
          title,
          ...list.map(
            ({ file, line, before, after }) =>
              `- ${file}${line === undefined ? '' : `:${line}`}\n  - \`${before}\`\n  - \`${after}\``,
          ),
        ];
  const text = [
    '| folder | mutants | seen | survived | accepted | score |\n|---|---|---|---|---|---|',
    ...byFolder.map(([name, some = []]) => rowOf(name, some)),
    rowOf('all', done),
    ...listOf('\nSurvivors:\n', scoreOf(done).open),
    ...listOf('\nAccepted, and there is no such mistake any more:\n', stale),
  ].join('\n');
  writeFileSync(join(folder, 'report.md'), `${text}\n`);
  const outcomesOf = done.map(({ text: _text, start: _start, end: _end, replacement: _replacement, ...rest }) => rest);
  writeFileSync(
    join(folder, 'report.json'),
    `${JSON.stringify({ seed: values.seed, outcomes: outcomesOf }, null, 1)}\n`,
  );
  const isEnough = [0.95, 0.93].every((wanted, index) => {
    const { seen, counted } = scoreOf(done.filter(({ file }) => isInFilter(file) === (index === 0)));
    return seen >= wanted * counted;
  });
  return { isEnough, text };
}
