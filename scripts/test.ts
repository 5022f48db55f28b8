/**
 * `npm test`: type-check, lint, unused code, then every vitest project that needs nothing but this machine. All of it
 * runs even when a part fails; the last line says how many checks and tests passed and failed. Arguments go to vitest
 * (`npm test -- test/unit/sse`).
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const report = join(root, '.cache/test-report.json');
const checks = { 'type-check': ['tsc', '--noEmit'], lint: ['biome', 'check', '.'], 'unused code': ['knip'] } as const;
const projects = ['unit', 'grpc', 'envoy'];

let passed = 0;
let failed = 0;
for (const [name, [command, ...args]] of Object.entries(checks)) count(name, run(command, args));
const tests = runVitest(process.argv.slice(2));
console.log(
  `${passed} of ${passed + failed} checks and ${tests.passed} of ${tests.passed + tests.failed} tests passed.`,
);
console.log(`${passed + tests.passed} passed, ${failed + tests.failed} failed`);
process.exitCode = failed + tests.failed === 0 ? 0 : 1;

function count(name: string, success: boolean): void {
  if (success) passed += 1;
  else failed += 1;
  console.log(`${success ? 'passed' : 'FAILED'}: ${name}`);
}

function run(command: string, args: readonly string[]): boolean {
  const { status, error } = spawnSync(join(bin, command), args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(`${command}: ${error.message}`);
  return status === 0;
}

function runVitest(filters: readonly string[]): { passed: number; failed: number } {
  mkdirSync(join(root, '.cache'), { recursive: true });
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const success = run('vitest', ['run', ...projects.map((name) => `--project=${name}`), ...reporters, ...filters]);
  try {
    const { numPassedTests, numTotalTests, numFailedTestSuites, testResults } = JSON.parse(
      readFileSync(report, 'utf8'),
    );
    // A test that was skipped, or a file that could not be loaded, has not passed.
    const unfinished = numTotalTests - numPassedTests;
    const empty = filters.length > 0 ? [] : projects.filter((name) => !hasTestsOf(name, testResults));
    for (const name of empty) console.error(`No test of the project ${name} ran.`);
    const failed = unfinished + empty.length;
    return { passed: numPassedTests, failed: success ? failed : Math.max(failed, numFailedTestSuites, 1) };
  } catch (error) {
    console.error(`vitest left no report: ${error instanceof Error ? error.message : error}`);
    return { passed: 0, failed: 1 };
  }
}

function hasTestsOf(
  project: string,
  files: readonly { name: string; assertionResults: readonly unknown[] }[],
): boolean {
  const folder = join(root, 'test', project, '/');
  return files.some(({ name, assertionResults }) => name.startsWith(folder) && assertionResults.length > 0);
}
