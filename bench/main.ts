/**
 * `npm run bench`: what the service costs beside filters that do nothing and beside no filter, on a real Envoy, warm; its
 * memory and its start. `npm run bench -- --compare main`: this tree against a commit, with a verdict for each figure.
 * `npm run bench -- --record`: the figures that the documentation shows are those of this run. How to read them:
 * docs/performance.md.
 */
import { spawnSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { findEnvoy } from '../mesh/envoy-binary.ts';
import { type BenchArguments, parseBenchArguments } from './arguments.ts';
import { compareWith, comparisonHeadings } from './comparison.ts';
import { ownRoot } from './contenders.ts';
import { costHeadings, runCosts } from './costs.ts';
import { scenarios } from './envoy-scenarios.ts';
import { recordTable } from './results.ts';
import { tableOf } from './table.ts';
import { buildOwnTree } from './trees.ts';

const note = (line: string) => console.error(line);
if (process.platform !== 'linux')
  fail('The bench reads CPU time and memory of processes from /proc: it runs on Linux only.');
// Processes and checkouts are cleaned up on exit, which a signal alone would skip.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const wanted = argumentsOf();
const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.version}; Envoy ${findEnvoy(process.env).version}`;
console.log(`${machine}\n`);
if (wanted.type === 'compare') {
  const { names, rows } = await compareWith(wanted.ref, { ...wanted, note });
  console.log(`Before: ${names[0]}. After: ${names[1]}.\n\n${tableOf(comparisonHeadings, rows)}`);
} else await run(wanted);
process.exit(0);

async function run({ rounds, record }: BenchArguments & { type: 'run' }): Promise<void> {
  buildOwnTree();
  const othersBusy = loadavg()[0]?.toFixed(1);
  const rows = await runCosts(rounds, note);
  const about = scenarios.map(({ name, what }) => `${name}: ${what}`).join('\n');
  console.log(`${about}\n\nLoad of the machine before it: ${othersBusy}\n\n${tableOf(costHeadings, rows)}\n`);
  if (!record) return;
  const date = new Date().toISOString().slice(0, 10);
  const under = `${machine}; ${rounds} rounds; load of the machine before them ${othersBusy}`;
  recordTable('costs', { date, machine: under, headings: costHeadings, rows });
  const generate = spawnSync('npm', ['run', '--silent', 'generate'], { cwd: ownRoot, stdio: ['ignore', 2, 2] });
  if (generate.status !== 0) fail('bench/results.json is written, but npm run generate failed.');
}

function argumentsOf(): BenchArguments {
  try {
    return parseBenchArguments(process.argv.slice(2));
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
