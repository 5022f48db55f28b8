/**
 * `npm run mutate [-- FILE…|ROOM…] [--sample N] [--seed N | --again]`: puts small mistakes into the sources, one at a time in a copy of
 * the tree, and runs the unit, golden and property tests that come to the place until one fails. A mistake that no test sees is a survivor: it
 * needs a case, or a line in `scripts/mutation/accepted.json` with the reason why it may stay. Without arguments: the folders
 * `translate`, `sse`, `exchange`, `extproc`. Exit code 1 if less than 95 % of the others are seen.
 * `--again` tries the survivors of the last report.
 *
 * Stryker 10 does not work here: Node itself loads the modules of these tests, so what a module computes once is not computed
 * again for a mutant, and mutants of tables and constants seem to survive.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom } from '../bench/fixtures.ts';
import { readCoverage } from './mutation/coverage.ts';
import { type Mutant, mutantsOf } from './mutation/mutants.ts';
import type { Progress, Task } from './mutation/runner.ts';

/** A survivor that stays; `before` and `after` as in the report. */
interface Accepted extends Pick<Mutant, 'file' | 'before' | 'after'> {
  readonly reason: string;
}
interface Outcome {
  readonly mutant: Mutant;
  /** The test that failed, or `timed out`; null for a survivor. */
  readonly killedBy: string | null;
}

interface Verdict {
  readonly killedBy: string | null;
  /** The process must be replaced. */
  readonly stuck: boolean;
  /** The test file that failed without a failing test. */
  readonly failedIn: string | null;
}

const root = join(import.meta.dirname, '..');
const folder = join(root, '.cache/mutate');
const tree = join(folder, 'tree');
const coverage = join(folder, 'coverage');
const folders = ['src/filter/translate', 'src/filter/wire/sse', 'src/filter/exchange', 'src/filter/extproc'];
const wanted = 0.95;
/** Tests of nothing but time, which take as long as all others together. */
const measuring = /\/(cost|linear)\.test\.ts$/;
/** CPU time of the runner on one test file after which the mutant counts as an endless loop. The slowest file takes 20 s. */
const patienceCpuMs = 90_000;
/** The same in wall-clock time, for a mutant that waits forever. */
const patienceMs = 900_000;

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
const costs = new Map<string, number>();
/** How many mistakes a test file has seen, in all and in one folder of sources. */
const kills = new Map<string, number>();
let child = await startRunner();
const clean = await run(child, [...new Set(mutants.flatMap(({ file }) => testsOf(file)))], { recordInto: coverage });
if (clean.killedBy !== null) throw new Error(`Without any mistake this fails: ${clean.killedBy}`);
const executes = readCoverage(coverage);

const outcomes: Outcome[] = [];
for (const mutant of mutants) {
  const killedBy = await outcomeOf(mutant);
  outcomes.push({ mutant, killedBy });
  const at = `${mutant.file}:${mutant.line}`;
  console.log(`${outcomes.length}/${mutants.length} ${killedBy === null ? 'SURVIVED' : 'seen'} ${at} ${mutant.kind}`);
  if (killedBy === null) console.log(`  - ${mutant.before}\n  + ${mutant.after}`);
  report(outcomes);
}
child.disconnect();
const { score, text } = report(outcomes);
console.log(`\n${text}`);
process.exitCode = score >= wanted ? 0 : 1;

/**
 * What saw the mutant. If no test failed but a file or the process did, the cause may be an earlier mutant or the machine:
 * a new process decides, once it has run that file without any mistake. Throws if that fails too.
 */
async function outcomeOf(mutant: Mutant): Promise<string | null> {
  const first = await runWith(mutant);
  if (first.failedIn === null) return first.killedBy;
  child.kill('SIGKILL');
  child = await startRunner();
  const unchanged = await run(child, [first.failedIn]);
  if (unchanged.killedBy !== null) throw new Error(`Without any mistake this fails: ${unchanged.killedBy}`);
  return (await runWith(mutant)).killedBy;
}

async function runWith(mutant: Mutant): Promise<Verdict> {
  writeFileSync(join(tree, mutant.file), mutant.text);
  const tests = testsOf(mutant.file).filter((test) => executes(test, mutant.file, mutant.offset));
  const outcome = await run(child, byPromise(tests, dirname(mutant.file)), { among: dirname(mutant.file) });
  writeFileSync(join(tree, mutant.file), originals.get(mutant.file) ?? '');
  if (outcome.stuck) {
    child.kill('SIGKILL');
    child = await startRunner();
  }
  return outcome;
}

/** TypeScript files of these files and folders, without what is generated. */
function sourcesOf(paths: readonly string[]): string[] {
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...paths.map(inSource)], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.stdout.split('\n').filter((file) => /^src\/.*\.ts$/.test(file) && !file.includes('/generated/'));
  return files.filter((file) => existsSync(join(root, file)));
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

/** Copies all files of the tree as they are now; links the packages. */
function copyTree(): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  mkdirSync(coverage);
  const { stdout } = spawnSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  for (const file of stdout.split('\n').filter((name) => name !== '' && existsSync(join(root, name))))
    cpSync(join(root, file), join(tree, file));
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
  const { stdout } = spawnSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'test/unit', 'test/golden', 'test/fuzz'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  const tests = stdout.split('\n').filter((file) => file.endsWith('.test.ts') && existsSync(join(root, file)));
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
  const tests = [...imports.keys()].filter(
    (test) => near.test(test) && !measuring.test(test) && imports.get(test)?.has(file),
  );
  if (tests.length === 0) throw new Error(`No test imports ${file}.`);
  return tests;
}

/**
 * The golden cases, the properties, and the unit tests of the file's own folder, of the four folders an answer passes, of memory and
 * the server, and of `explain` for what it records.
 */
function nearTests(file: string): RegExp {
  const traced = /\btrace\b/.test(originals.get(file) ?? '') ? ['src/tools/explain'] : [];
  const names = [file, ...folders, 'src/service/memory', 'src/service/server', ...traced].map(folderOf);
  return new RegExp(`^test/(golden|fuzz|unit/(${names.join('|')}))/`);
}

/** `filter/translate` of a path in it, `filter/wire/sse` of one there. */
function folderOf(path: string): string {
  return /^src\/((?:filter\/wire|[^/]+)\/[^/]+)/.exec(path)?.[1] ?? '';
}

/** First the tests that saw the most mistakes so far per second; those in the same folder count the most. */
function byPromise(tests: readonly string[], among: string): string[] {
  const promise = (test: string) =>
    (5 * (kills.get(`${among} ${test}`) ?? 0) + (kills.get(test) ?? 0) + 0.2) / (costs.get(test) ?? 1);
  return tests.toSorted((a, b) => promise(b) - promise(a));
}

async function startRunner(): Promise<ChildProcess> {
  const started = fork(join(import.meta.dirname, 'mutation/runner.ts'), {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await new Promise<void>((resolve, reject) => {
    started.once('message', () => resolve());
    started.once('exit', (code) => reject(new Error(`The runner ended with ${code}.`)));
  });
  return started;
}

/** CPU time of a process so far, in ms; 0 where there is no `/proc`, so that only the clock decides. */
function cpuMsOf({ pid }: ChildProcess): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return 0;
  // After the name in brackets: state is field 0, user and system time are 11 and 12, in hundredths of a second.
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Runs these test files until one fails: for a mistake in the folder `among`, or to record what they execute. */
function run(
  runner: ChildProcess,
  files: readonly string[],
  { recordInto = null, among = '' }: { recordInto?: string | null; among?: string } = {},
): Promise<Verdict> {
  return new Promise((resolve) => {
    const end = (killedBy: string | null, stuck: boolean, failedIn: string | null = null) => {
      clearInterval(timer);
      runner.removeAllListeners('message');
      runner.removeAllListeners('exit');
      resolve({ killedBy, stuck, failedIn });
    };
    const now = () => ({ clock: performance.now(), cpu: cpuMsOf(runner) });
    let lastWord = now();
    const timer = setInterval(() => {
      const { clock, cpu } = now();
      if (cpu - lastWord.cpu > patienceCpuMs || clock - lastWord.clock > patienceMs) end('timed out', true);
    }, 1000);
    runner.on('message', (progress: Progress) => {
      lastWord = now();
      if (progress.type === 'file') {
        const { file, failed, ms } = progress;
        if (!failed) costs.set(file, ms);
        else for (const key of [file, `${among} ${file}`]) kills.set(key, (kills.get(key) ?? 0) + 1);
      }
      if (progress.type === 'done')
        end(
          progress.killedBy === null ? null : `${progress.killedBy}: ${progress.test}`,
          false,
          progress.inTest ? null : progress.killedBy,
        );
    });
    runner.once('exit', () => end('ended the process', true));
    runner.send({ files, recordInto } satisfies Task);
  });
}

/** Writes what is known so far; gives the score and the report's text. */
function report(done: readonly Outcome[]): { score: number; text: string } {
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
  const text = [
    '| folder | mutants | seen | survived | accepted | score |\n|---|---|---|---|---|---|',
    ...rows,
    ...(list.length === 0 ? [] : [`\nSurvivors:\n`, ...list]),
  ].join('\n');
  const { counted, seen } = scoreOf(done);
  writeFileSync(join(folder, 'report.md'), `${text}\n`);
  const plain = done.map(({ mutant: { text: _text, ...mutant }, killedBy }) => ({ ...mutant, killedBy }));
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify({ seed: values.seed, outcomes: plain }, null, 1)}\n`);
  return { score: seen / counted, text };
}

function percent(share: number): string {
  return Number.isNaN(share) ? '–' : `${(100 * share).toFixed(1)} %`;
}
