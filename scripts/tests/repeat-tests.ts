/**
 * `npm test -- repeat FILE… [--times 20] [--busy] [--seed N]`: runs tests that many times and says how often they failed. A test
 * whose verdict depends on chance or on the machine's speed shows here. `--busy` keeps every core busy meanwhile. Each
 * run has its own seed for the property tests, or N with `--seed N`; a failed run prints its seed and what failed, and its
 * output is kept. Unknown arguments go to vitest (`-t NAME`).
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { projectsOf } from './test-projects.ts';
import { countTests, namesTests, type VitestReport } from './vitest-report.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, '.cache/repeat-tests');

/** Runs them; the exit code. */
export function repeatTests(given: readonly string[]): number {
  const { times, busy, seed, words } = readArguments(given);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const burners = busy ? Array.from({ length: availableParallelism() }, burn) : [];
  let failed = 0;
  try {
    for (let run = 1; run <= times; run += 1) if (!runOnce(run, words, seed ?? randomSeed())) failed += 1;
  } finally {
    for (const burner of burners) burner.kill('SIGKILL');
  }
  console.log(`${times - failed} of ${times} runs passed${busy ? ' beside busy cores' : ''}.`);
  return failed === 0 ? 0 : 1;
}

/** One run in its own processes; prints a line for it, and what failed. */
function runOnce(run: number, words: readonly string[], ownSeed: number): boolean {
  const file = join(folder, `run-${run}.json`);
  const projects = projectsOf(words, ['unit', 'grpc', 'envoy']).map((name) => `--project=${name}`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/vitest'),
    ['run', ...projects, ...reporters, ...words],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1024 ** 3,
      env: { ...process.env, FAST_CHECK_SEED: String(ownSeed), NO_COLOR: '1' },
    },
  );
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const report = readReport(file);
  const counts = countTests(report, status === 0, namesTests(words));
  console.log(`run ${run}: ${counts.passed} passed, ${counts.failed} failed, ${seconds} s, seed ${ownSeed}`);
  if (counts.failed === 0) return true;
  const log = join(folder, `run-${run}.log`);
  writeFileSync(log, `${stdout}\n${stderr}`);
  for (const { assertionResults } of report.testResults)
    for (const test of assertionResults)
      if (test.status === 'failed')
        console.log(`  ${test.fullName}\n    ${firstLine(test.failureMessages?.[0] ?? '')}`);
  console.log(`  output: ${log}; again: npm test -- repeat ${words.join(' ')} --times 1 --seed ${ownSeed}`);
  return false;
}

function readReport(file: string): VitestReport {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    return { testResults: [] };
  }
}

/** A process that uses CPU until it is killed, or its parent is gone. */
function burn(): ChildProcess {
  const script =
    'process.stdin.on("end", () => process.exit()).resume(); (function spin() { for (const end = Date.now() + 50; Date.now() < end; ); setImmediate(spin); })()';
  return spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'ignore'] });
}

function randomSeed(): number {
  return Math.trunc(Math.random() * 2 ** 31);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function readArguments(given: readonly string[]) {
  const rest = [...given];
  const take = (name: string): number | null => {
    const at = rest.indexOf(name);
    if (at === -1) return null;
    const value = rest.splice(at, 2)[1] ?? '';
    if (!/^\d+$/.test(value)) fail(`${name} takes a whole number, not "${value}".`);
    return Number(value);
  };
  const wanted = { times: take('--times') ?? 20, seed: take('--seed') };
  const at = rest.indexOf('--busy');
  if (at !== -1) rest.splice(at, 1);
  if (rest.length === 0)
    fail('Which tests? npm test -- repeat test/unit/formats/sse/sse-decoder.test.ts [--times 20] [--busy]');
  return { ...wanted, busy: at !== -1, words: rest };
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
