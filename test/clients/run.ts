/**
 * `npm run test:clients`: the programs of others, run through a real Envoy and the service against a scripted upstream.
 * Fails too when the tables in docs/clients.md are not what the run showed; with `--update` it writes them. Other
 * arguments go to vitest (`npm run test:clients -- -t Codex`), and the tables are then left alone. The last line says how
 * many tests passed and failed.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Report, type TableName, tableIn, tablesOf, withTable } from './table.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/clients.md');
const report = join(root, '.cache/clients/report.json');

const update = process.argv.includes('--update');
const filters = process.argv.slice(2).filter((argument) => argument !== '--update');

let { passed, failed, result } = runVitest();
if (filters.length === 0 && result !== null)
  for (const [name, table] of Object.entries(tablesOf(result)) as [TableName, string][]) {
    const text = readFileSync(page, 'utf8');
    if (update) writeFileSync(page, withTable(text, name, table));
    else if (tableIn(text, name) === table) passed += 1;
    else {
      failed += 1;
      console.log(`FAILED: the table of ${name} in docs/clients.md is not what this run showed:\n`);
      console.log(`${table}\n\n\`npm run test:clients -- --update\` writes it.`);
    }
  }
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function runVitest(): { passed: number; failed: number; result: Report | null } {
  mkdirSync(join(root, '.cache/clients'), { recursive: true });
  rmSync(report, { force: true });
  const args = ['run', '--project=clients', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { status } = spawnSync(join(root, 'node_modules/.bin/vitest'), [...args, ...filters], {
    cwd: root,
    stdio: 'inherit',
  });
  try {
    const result = JSON.parse(readFileSync(report, 'utf8'));
    // A test that was skipped, or a file that could not be loaded, has not passed.
    const chosen = filters.length === 0 ? result.numTotalTests : result.numPassedTests + result.numFailedTests;
    const failed = Math.max(chosen - result.numPassedTests, status === 0 ? 0 : 1);
    return { passed: result.numPassedTests, failed, result };
  } catch (error) {
    console.error(`vitest left no report: ${error instanceof Error ? error.message : error}`);
    return { passed: 0, failed: 1, result: null };
  }
}
