/**
 * `npm test`: type-check, lint, unused code, and beside them the vitest projects that judge what a change does to a request: CONTRIBUTING.md
 * says what it leaves to others. All of it runs even when a part fails; the last line says how many checks and tests passed and
 * failed.
 *
 * `npm test -- test/unit/filter/wire/sse`: only these tests, in a second or two. `npm test -- --changed`: a first answer, by the unit
 * tests that are nearest to the uncommitted changes. `--seed N` plays a failed property again. Other arguments go to vitest.
 *
 * `npm test -- SUITE`: one of the suites of `suites.ts`, with what it needs; other arguments are the suite's. `npm test -- nightly`: all of
 * them. `npm test -- repeat FILE…`: the same tests again and again.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { changedSince, nearestTests } from './nearest-tests.ts';
import { repeatTests } from './repeat-tests.ts';
import { olderRuns, runNightly, runSuite, suites } from './suites.ts';
import { projectsOf, readTestWords } from './test-projects.ts';
import { type Counts, runVitest } from './vitest-report.ts';

const root = join(import.meta.dirname, '../..');
const bin = join(root, 'node_modules/.bin');
const checks = {
  'type-check': ['tsc', '--noEmit'],
  'type-check of the page': ['tsc', '--noEmit', '-p', 'src/tools/inspect/page/tsconfig.json'],
  lint: ['biome', 'check', '.'],
  'unused code': ['knip'],
} as const;

/**
 * Side by side, each in a vitest of its own: the first keeps the cores busy, the second mostly waits for the processes it
 * starts. In one vitest they would be one after the other, and half of the machine idle during the second.
 */
const chartTools = ['helm', 'kubectl-validate'].map((name) => join(root, '.cache/kubernetes/bin', name));
const chart = chartTools.every(existsSync) ? ['chart'] : [];
const sideBySide = [
  { projects: ['unit'], workers: availableParallelism() },
  { projects: ['grpc', 'envoy', ...chart], workers: availableParallelism() + 2 },
];

process.exitCode = await main(process.argv.slice(2));

async function main([first = '', ...others]: readonly string[]): Promise<number> {
  if (first === 'nightly') return runNightly(others);
  if (first === 'repeat') return repeatTests(others);
  const suite = suites.find(({ name }) => name === first);
  if (suite !== undefined && first !== 'change') return (await runSuite(suite, others)).status;
  return testChange(first === 'change' ? others : process.argv.slice(2));
}

/** What a change runs, or the tests that are chosen; the exit code. */
async function testChange(given: readonly string[]): Promise<number> {
  const { words, environment, changedSince: since } = readTestWords(given);
  Object.assign(process.env, environment);
  const everything = words.length === 0 && since === null;
  const projects = sideBySide.flatMap((one) => one.projects);
  const tests = everything
    ? sideBySide.map((one) => runVitest(one.projects, [], one.workers))
    : [since === null ? runVitest(projectsOf(words, projects), words) : runNearest(since, words)];
  const checked = everything ? await runChecks() : { passed: 0, failed: 0 };
  const tested = sum(await Promise.all(tests));
  const all = sum([checked, tested]);
  if (everything && chart.length === 0) console.log('Left out: the chart, as Helm is not built (npm test -- chart).');
  const older = everything ? olderRuns().filter((line) => !line.startsWith('change ')) : [];
  if (older.length > 0) console.log(`Older than what they test (npm test -- nightly SUITE): ${older.join(', ')}.`);
  const ofChecks = everything ? `${checked.passed} of ${checked.passed + checked.failed} checks and ` : '';
  console.log(`${ofChecks}${tested.passed} of ${tested.passed + tested.failed} tests passed.`);
  console.log(`${all.passed} passed, ${all.failed} failed`);
  return all.failed === 0 ? 0 : 1;
}

function sum(counts: readonly Counts[]): Counts {
  return counts.reduce((all, one) => ({ passed: all.passed + one.passed, failed: all.failed + one.failed }));
}

async function runNearest(revision: string, words: readonly string[]): Promise<Counts> {
  const changed = changedSince(revision);
  const { near, withProcesses, others } = nearestTests(changed);
  const counts = near.length === 0 ? { passed: 0, failed: 1 } : await runVitest(['unit'], [...near, ...words]);
  if (changed.length === 0) console.error(`Nothing differs from ${revision}, so that no test ran.`);
  else if (near.length === 0) console.error(`No test ran: no unit test is near to ${changed.join(', ')}.`);
  else console.log(`These are the nearest ${near.length} files of unit tests.`);
  if (withProcesses.length > 0) console.log(`As near, with processes: npm test -- ${withProcesses.join(' ')}`);
  console.log(`npm test runs everything, ${others} more files of unit tests that the changes reach among it.`);
  return counts;
}

/** One after the other: each keeps every core busy. */
async function runChecks(): Promise<Counts> {
  let passed = 0;
  for (const [name, [command, ...args]] of Object.entries(checks)) {
    const success = await run(command, args);
    if (success) passed += 1;
    console.log(`${success ? 'passed' : 'FAILED'}: ${name}`);
  }
  return { passed, failed: Object.keys(checks).length - passed };
}

/** Its output is shown once it has ended, so that no other stands in the middle of it. */
async function run(command: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(join(bin, command), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(false);
    });
    child.once('close', (status) => resolve(status === 0));
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  process.stdout.write(out + err);
  return ended;
}
