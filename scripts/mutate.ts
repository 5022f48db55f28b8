/**
 * `npm run mutate [-- FILE…|ROOM…] [--sample N] [--seed N | --again]`: puts small mistakes into the sources of a copy of the tree, and
 * runs the unit, golden and property tests that come to the place until one fails; then, for what these do not see in the service
 * and the tools, the tests that start processes. A mistake that no test sees is a survivor: it needs a case, or a line in
 * `scripts/mutation/accepted.json` with the reason why it may stay. Without arguments: the filter's four folders; `all` is all of
 * `src` and `tools`. Exit code 1 if less than 95 % of the others are seen.
 * `--again` tries the survivors of the last report.
 *
 * The mistakes of a sample are all in the sources at once, each behind a switch (`mutation/switches.ts`), so that sources and tests are
 * loaded once. Those in what a module computes when it is loaded, tables and constants, are tried one by one in a new process.
 * Stryker 10 does the first and not the second, so that mistakes in tables seem to survive.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createRandom } from '../bench/fixtures.ts';
import { cpuSeconds } from '../bench/process-figures.ts';
import { type Mutant, mutantsOf } from './mutation/mutants.ts';
import { withSwitches } from './mutation/switches.ts';
import type { Line, Task } from './mutation/task.ts';

/** A survivor that stays; `before` and `after` as in the report. */
interface Accepted extends Pick<Mutant, 'file' | 'before' | 'after'> {
  readonly reason: string;
}
interface Outcome {
  readonly mutant: Mutant;
  /** The test that failed, or `never ends`; null for a survivor. */
  readonly killedBy: string | null;
}

const root = join(import.meta.dirname, '..');
const folder = join(root, '.cache/mutate');
const tree = join(folder, 'tree');
const folders = ['src/filter/translate', 'src/filter/wire/sse', 'src/filter/exchange', 'src/filter/extproc'];
const wanted = 0.95;
/** Tests that start processes, by the sources that they are about. The first that fits counts. */
const processTests: readonly (readonly [sources: RegExp, tests: RegExp])[] = [
  [/^src\/service\/websocket\//, /^test\/(grpc|envoy)\/websocket\.test\.ts$/],
  [/^src\/(service\/|main\.ts)/, /^test\/grpc\/(?!hostile|load|memory|large-body|reset-flood)/],
  [/^src\/tools\/inspect\//, /^test\/(grpc\/inspector|unit\/tools\/inspect\/)/],
  [/^src\/tools\//, /^test\/(grpc\/(command-line|explain)|unit\/tools\/)/],
  [/^tools\/mesh\//, /^test\/(unit\/mesh\/|envoy\/(npm-start|main-path))/],
];
/** Tests of nothing but time and memory, which take as long as all others together. */
const measuring = /\/(cost|linear|size|nesting|kept|endless-streams|memory)\.test\.ts$/;
/** CPU time without a word after which a mutant counts as endless: most of its loops are counted, and end by themselves. */
const patienceCpuMs = 300_000;
/** The same in wall-clock time, for a mutant that waits forever. */
const patienceMs = 1_800_000;

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

copyTree();
const imports = importsOfTests();
const numbered = new Map(mutants.map((mutant, index) => [index + 1, mutant]));
const fixed = new Set(putSwitches());
const outcomes = new Map<number, string | null>();
/** The CPU time of all processes that have ended, in ms. */
let cpuMs = 0;
/** What no unit test has seen, and tests that start processes may. */
const unseen: number[] = [];
await trySwitched([...numbered.keys()].filter((number) => !fixed.has(number)));
for (const number of fixed) settle(number, await tryFixed(numbered.get(number) as Mutant));
await tryProcesses();
const { score, text } = report();
console.log(`\n${text}\n\n${Math.round(cpuMs / 1000)} s of CPU`);
process.exitCode = score >= wanted ? 0 : 1;

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
  if (killedBy === null && processTestsOf((numbered.get(number) as Mutant).file).length > 0) unseen.push(number);
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
  const ended = await run({ tests, numbers, last: mutants.length }, (line) => {
    if (line.type === 'unusable')
      console.log(`Not used, since it fails without any mistake: ${line.name}: ${line.problem}`);
    if (line.type === 'tries') current = line.number;
    if (line.type === 'tried')
      if (line.killedBy === null && line.atLoad) fixed.add(line.number);
      else settle(line.number, line.killedBy);
  });
  if (ended !== null) return;
  if (current === 0) throw new Error('The tests do not run.');
  if (!outcomes.has(current) && !fixed.has(current) && !unseen.includes(current)) tell(current, 'never ends');
  await trySwitched(numbers.slice(numbers.indexOf(current) + 1));
}

async function tryFixed(mutant: Mutant): Promise<string | null> {
  const switched = readFileSync(join(tree, mutant.file), 'utf8');
  writeFileSync(join(tree, mutant.file), mutant.text);
  const near = mutant.file.replace(/^src/, 'unit').split('/');
  const nearness = (test: string) => test.split('/').filter((name, index) => near[index - 1] === name).length;
  const tests = testsOf(mutant.file).sort((one, other) => nearness(other) - nearness(one));
  const ended = await run({ tests, numbers: null, last: 0 }, () => {});
  writeFileSync(join(tree, mutant.file), switched);
  return ended === null ? 'never ends' : ended.killedBy;
}

/**
 * Tries what no unit test has seen with the tests that start processes, on sources without switches, which a process has not: one
 * mistake after the other. A test that fails without any is not used.
 */
async function tryProcesses(): Promise<void> {
  if (unseen.length === 0) return;
  for (const file of sourcesOf(folders.concat(positionals)))
    writeFileSync(join(tree, file), readFileSync(join(root, file), 'utf8'));
  const usable = new Map<string, boolean>();
  for (const number of unseen) {
    const { file, text } = numbered.get(number) as Mutant;
    for (const test of processTestsOf(file)) {
      if (usable.has(test)) continue;
      const problem = await problemOf([test]);
      usable.set(test, problem === null);
      if (problem !== null) console.log(`Not used, since it fails without any mistake: ${test}: ${problem}`);
    }
    writeFileSync(join(tree, file), text);
    tell(number, await problemOf(processTestsOf(file).filter((test) => usable.get(test))));
    writeFileSync(join(tree, file), readFileSync(join(root, file), 'utf8'));
  }
}

async function problemOf(tests: readonly string[]): Promise<string | null> {
  const ended = await run({ tests, numbers: null, last: 0 }, () => {});
  return ended === null ? 'never ends' : ended.killedBy;
}

function processTestsOf(file: string): readonly string[] {
  const tests = processTests.find(([sources]) => sources.test(file))?.[1];
  return tests === undefined ? [] : listed(['test']).filter((name) => name.endsWith('.test.ts') && tests.test(name));
}

/** The files of these folders that are there. */
function listed(paths: readonly string[]): string[] {
  const args = ['ls-files', '-co', '--exclude-standard', '--', ...paths];
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return stdout.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
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
  const child = spawn(join(root, 'node_modules/.bin/vitest'), args, {
    cwd: root,
    stdio: 'ignore',
    env,
    detached: true,
  });
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
    if (isLast) cpuMs += now.cpu;
    else await sleep(200);
  }
  if (!over) process.kill(-(child.pid as number), 'SIGKILL');
  return last?.type === 'end' ? last : null;
}

/** TypeScript files of these files and folders. */
function sourcesOf(paths: readonly string[]): string[] {
  const places = paths.flatMap((path) => (path === 'all' ? ['src', 'tools'] : [inSource(path)]));
  return [...new Set(listed(places))].filter((file) => /^(src|tools)\/.*\.ts$/.test(file));
}

/** `sse` is `src/filter/wire/sse`. */
function inSource(path: string): string {
  const places = ['', 'src/filter', 'src/filter/wire', 'src/service', 'src/tools'].map((folder) => join(folder, path));
  return places.find((place) => existsSync(join(root, place))) ?? path;
}

/** That many of them in random order, so that an interrupted run is a sample too; the same for the same seed. */
function sampleOf(list: readonly Mutant[], count: number, seed: number): Mutant[] {
  const random = createRandom(seed);
  const drawn = list.map((mutant) => ({ mutant, rank: random() }));
  drawn.sort((a, b) => a.rank - b.rank);
  return drawn.slice(0, count).map(({ mutant }) => mutant);
}

/** Those of them that survived the last run. */
function survivorsIn(list: readonly Mutant[]): Mutant[] {
  const { outcomes: last } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as {
    readonly outcomes: readonly (Omit<Mutant, 'text'> & Pick<Outcome, 'killedBy'>)[];
  };
  const survived = last.filter(({ killedBy }) => killedBy === null);
  return list.filter(({ file, before, after }) =>
    survived.some((one) => one.file === file && one.before === before && one.after === after),
  );
}

/** Copies all files of the tree as they are now, its tests with our `vitest`; links the packages. */
function copyTree(): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  for (const file of listed([]))
    if (/^test\/.*\.ts$/.test(file)) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      const ours = `from '${join(import.meta.dirname, 'mutation/collect.ts')}'`;
      writeFileSync(join(tree, file), readFileSync(join(root, file), 'utf8').replaceAll("from 'vitest'", ours));
    } else cpSync(join(root, file), join(tree, file));
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
}

/** For each test file the sources that it imports, directly or indirectly. */
function importsOfTests(): Map<string, ReadonlySet<string>> {
  const direct = new Map<string, string[]>();
  const importsOf = (file: string): string[] => {
    let found = direct.get(file);
    if (found === undefined) {
      const text = readFileSync(file, 'utf8');
      found = [...text.matchAll(/(?:from|import|import\() ?'(\.{1,2}\/[^']+\.ts)'/g)]
        .map(([, path = '']) => resolve(dirname(file), path))
        .filter((path) => existsSync(path));
      direct.set(file, found);
    }
    return found;
  };
  const tests = listed(['test/unit', 'test/golden', 'test/fuzz']).filter((file) => file.endsWith('.test.ts'));
  return new Map(
    tests.map((test) => {
      const seen = new Set<string>();
      const open = [join(root, test)];
      for (let file = open.pop(); file !== undefined; file = open.pop()) {
        if (seen.has(file)) continue;
        seen.add(file);
        open.push(...importsOf(file));
      }
      return [test, new Set([...seen].map((file) => relative(root, file)))];
    }),
  );
}

function testsOf(file: string): string[] {
  const near = nearTests(file);
  return [...imports.keys()].filter((test) => near.test(test) && !measuring.test(test) && imports.get(test)?.has(file));
}

/**
 * The golden cases, the properties, and the unit tests of the file's own folder, of the four folders an answer passes, of memory and
 * the server, and of `explain` for what it records.
 */
function nearTests(file: string): RegExp {
  const recorded = /\bprovenance\b/.test(originals.get(file) ?? '') ? ['src/tools/explain'] : [];
  const names = [file, ...folders, 'src/service/memory', 'src/service/server', ...recorded].map(folderOf);
  return new RegExp(`^test/(golden|fuzz|unit/(${names.join('|')}))/`);
}

/** `filter/translate` of a path in it, `filter/wire/sse` of one there. */
function folderOf(path: string): string {
  if (path.startsWith('tools/')) return 'mesh';
  return /^src\/((?:filter\/wire|[^/]+)\/[^/]+)/.exec(path)?.[1] ?? '';
}

/** CPU time of a process and its children so far, in ms; 0 where there is no `/proc`, so that only the clock decides. */
function cpuMsOf({ pid = 0 }: ChildProcess): number {
  return existsSync(`/proc/${pid}`) ? cpuSeconds(pid) * 1000 : 0;
}

/** Writes what is known so far; gives the score and the report's text. */
function report(): { score: number; text: string } {
  const done = [...outcomes].map(
    ([number, killedBy]): Outcome => ({ mutant: numbered.get(number) as Mutant, killedBy }),
  );
  const accepted = JSON.parse(readFileSync(join(import.meta.dirname, 'mutation/accepted.json'), 'utf8')) as Accepted[];
  const reasonOf = ({ file, before, after }: Mutant) =>
    accepted.find((one) => one.file === file && one.before === before && one.after === after)?.reason;
  const survivors = done.filter(({ killedBy }) => killedBy === null);
  const open = survivors.filter(({ mutant }) => reasonOf(mutant) === undefined);
  const scoreOf = (some: readonly Outcome[]) => {
    const counted = some.filter(({ mutant, killedBy }) => killedBy !== null || reasonOf(mutant) === undefined);
    return { counted: counted.length, seen: counted.filter(({ killedBy }) => killedBy !== null).length };
  };
  const names = [...new Set(done.map(({ mutant }) => folderOf(mutant.file)))];
  const byFolder = names.map((name) => [name, done.filter(({ mutant }) => folderOf(mutant.file) === name)] as const);
  const rows = [...byFolder, ['all', done] as const].map(([folder, some]) => {
    const { counted, seen } = scoreOf(some);
    return `| ${folder} | ${some.length} | ${seen} | ${counted - seen} | ${some.length - counted} | ${percent(seen / counted)} |`;
  });
  const list = open.map(
    ({ mutant }) => `- ${mutant.file}:${mutant.line}\n  - \`${mutant.before}\`\n  - \`${mutant.after}\``,
  );
  const isOf = (one: Accepted) => (mutant: Mutant) =>
    mutant.file === one.file && mutant.before === one.before && mutant.after === one.after;
  const stale = accepted
    .filter((one) => (originals.has(one.file) ? !all.some(isOf(one)) : !existsSync(join(root, one.file))))
    .map(({ file, before, after }) => `- ${file}\n  - \`${before}\`\n  - \`${after}\``);
  const text = [
    '| folder | mutants | seen | survived | accepted | score |\n|---|---|---|---|---|---|',
    ...rows,
    ...(list.length === 0 ? [] : [`\nSurvivors:\n`, ...list]),
    ...(stale.length === 0 ? [] : ['\nAccepted, and there is no such mistake any more:\n', ...stale]),
  ].join('\n');
  const { counted, seen } = scoreOf(done);
  writeFileSync(join(folder, 'report.md'), `${text}\n`);
  const plain = done.map(
    ({ mutant: { text: _text, start: _start, end: _end, replacement: _replacement, ...mutant }, killedBy }) => ({
      ...mutant,
      killedBy,
    }),
  );
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify({ seed: values.seed, outcomes: plain }, null, 1)}\n`);
  return { score: seen / counted, text };
}

function percent(share: number): string {
  return Number.isNaN(share) ? '–' : `${(100 * share).toFixed(1)} %`;
}
