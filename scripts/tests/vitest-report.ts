/**
 * `node scripts/tests/vitest-report.ts PROJECT [ARGUMENT…]` runs a vitest project; the last line says how many tests passed and
 * failed, for `.ci/run` to add up. Arguments go to vitest.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import '../../test/support/children-end.ts'; // vitest ends with this process too, however that ends

const root = join(import.meta.dirname, '../..');

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** The part of vitest's JSON report that is counted. */
export interface VitestReport {
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName?: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

if (import.meta.main) {
  const [project = '', ...rest] = process.argv.slice(2);
  const { passed, failed } = await runVitest([project], rest);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/**
 * Runs those projects, with their output shown; counts what is in the report they leave. With a number of workers they run
 * beside something else that writes to the terminal, so the output is shown line by line.
 */
export async function runVitest(
  projects: readonly string[],
  words: readonly string[],
  workers: number | null = null,
): Promise<Counts> {
  const file = reportOf(projects);
  mkdirSync(join(root, '.cache'), { recursive: true });
  rmSync(file, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const args = ['run', ...projects.map((name) => `--project=${name}`), ...reporters, ...words];
  const beside = workers !== null;
  if (beside) args.push(`--maxWorkers=${workers}`);
  const child = spawn(join(root, 'node_modules/.bin/vitest'), args, {
    cwd: root,
    stdio: beside ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: beside && process.stdout.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env,
  });
  child.once('error', (error) => console.error(`vitest: ${error.message}`));
  for (const output of [child.stdout, child.stderr])
    if (output !== null) createInterface(output).on('line', (line) => console.log(line));
  const status = await once(child, 'close').then(
    ([code]) => code,
    () => null,
  );
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
    const { passed, failed } = countTests(report, status === 0, namesTests(words));
    for (const line of seedsOf(report, projects)) console.log(line);
    const empty = words.length > 0 ? [] : projects.filter((name) => !hasTestsOf(name, report));
    for (const name of empty) console.error(`No test of the project ${name} ran.`);
    if (words.length > 0 && passed === 0 && status === 0)
      console.error(`No test ran: ${words.join(' ')} chooses none.`);
    return { passed, failed: failed + empty.length };
  } catch (problem) {
    console.error(`vitest left no report: ${problem instanceof Error ? problem.message : problem}`);
    return { passed: 0, failed: 1 };
  }
}

/** Where a run of those projects leaves vitest's report. */
export function reportOf(projects: readonly string[]): string {
  return join(root, `.cache/test-report-${projects.join('-')}.json`);
}

/**
 * Tests that passed, and those that did not: failed, skipped, or never begun because a hook failed. A file that could not
 * be loaded counts as one; so does a run that failed for none of these reasons, or in which nothing passed. If only some were selected by name
 * (`someOnly`), the others are not counted.
 */
export function countTests({ testResults }: VitestReport, success: boolean, someOnly = false): Counts {
  let passed = 0;
  let failed = 0;
  for (const { status, assertionResults } of testResults) {
    const run = assertionResults.filter((test) => !someOnly || test.status !== 'skipped');
    const good = run.filter((test) => test.status === 'passed').length;
    passed += good;
    failed += run.length - good;
    if (status === 'failed' && good === run.length) failed += 1;
  }
  return { passed, failed: success && passed > 0 ? failed : Math.max(failed, 1) };
}

/** A line for each property that failed: the command with which it fails again. */
export function seedsOf({ testResults }: VitestReport, projects: readonly string[]): string[] {
  const runs = projects.includes('fuzz') ? 'PROPERTY_RUNS=all ' : ''; // as many as there
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.flatMap(({ fullName, failureMessages = [] }) => {
      const seed = /\bseed: (-?\d+)/.exec(failureMessages.join('\n'))?.[1];
      if (seed === undefined) return [];
      return [`${fullName} failed: ${runs}npm test -- ${relative(root, name)} --seed=${seed}`];
    }),
  );
}

/** Do these arguments of vitest choose tests by their names? */
export function namesTests(words: readonly string[]): boolean {
  return words.some((word) => /^(-t|--testNamePattern)(=|$)/.test(word));
}

function hasTestsOf(project: string, { testResults }: VitestReport): boolean {
  const folder = join(root, 'test', project, '/');
  return testResults.some(({ name, assertionResults }) => name.startsWith(folder) && assertionResults.length > 0);
}
