/**
 * `npm test`: type-check, lint, unused code, then every vitest project that needs nothing but this machine. All of it
 * runs even when a part fails; the last line says how many checks and tests passed and failed.
 *
 * `npm test -- test/unit/filter/wire/sse`: only these tests, in a second or two. Arguments go to vitest.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectsOf } from './test-projects.ts';
import { runVitest } from './vitest-report.ts';

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const checks = {
  'type-check': ['tsc', '--noEmit'],
  'type-check of the page': ['tsc', '--noEmit', '-p', 'src/tools/inspect/page/tsconfig.json'],
  lint: ['biome', 'check', '.'],
  'unused code': ['knip'],
} as const;

const words = process.argv.slice(2);
let passed = 0;
let failed = 0;
if (words.length === 0)
  for (const [name, [command, ...args]] of Object.entries(checks)) count(name, run(command, args));
const tests = runVitest(projectsOf(words, ['unit', 'grpc', 'envoy']), words);
const checked = words.length === 0 ? `${passed} of ${passed + failed} checks and ` : '';
console.log(`${checked}${tests.passed} of ${tests.passed + tests.failed} tests passed.`);
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
