/**
 * `npm test -- clients`: the programs of others, run through a real Envoy and the service against a scripted upstream.
 * Fails too when the tables in docs/clients.md are not what the run showed; with `--update` it writes them. Other
 * arguments go to vitest (`npm test -- clients -t Codex`), and the tables are then left alone. The last line says how
 * many tests passed and failed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportOf, runVitest } from '../../scripts/tests/vitest-report.ts';
import { type Report, type TableName, tableIn, tablesOf, withTable } from './table.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/clients.md');
const report = reportOf(['clients']);

const update = process.argv.includes('--update');
const filters = process.argv.slice(2).filter((argument) => argument !== '--update');

let { passed, failed } = await runVitest(['clients'], filters);
if (filters.length === 0 && existsSync(report)) {
  const result = JSON.parse(readFileSync(report, 'utf8')) as Report;
  for (const [name, table] of Object.entries(tablesOf(result)) as [TableName, string][]) {
    const text = readFileSync(page, 'utf8');
    if (update) writeFileSync(page, withTable(text, name, table));
    else if (tableIn(text, name) === table) passed += 1;
    else {
      failed += 1;
      console.log(`FAILED: the table of ${name} in docs/clients.md is not what this run showed:\n`);
      console.log(`${table}\n\n\`npm test -- clients --update\` writes it.`);
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
