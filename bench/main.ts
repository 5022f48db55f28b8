/**
 * `npm run bench`: what the service costs next to a filter that does nothing, on a real Envoy, warm; and what a start and the
 * requests after it cost.
 * `npm run bench -- --only start --rounds 5`: some of it. `npm run bench -- --compare main`: this tree against a
 * commit, with a verdict for each figure. `npm run bench -- --record`: the figures that the documentation shows are those of
 * this run, after `npm run generate`. How to read them: docs/performance.md.
 */
import { cpus } from 'node:os';
import { findEnvoy } from '../tools/mesh/envoy-binary.ts';
import { type BenchArguments, type PartName, parseBenchArguments, parts } from './arguments.ts';
import { compareWith, comparisonHeadings } from './comparison.ts';
import { runScenarios, scenarioHeadings, scenarios } from './envoy-scenarios.ts';
import { recordTable } from './results.ts';
import { runStart, startHeadings } from './start-up.ts';
import { type Cell, tableOf } from './table.ts';
import { buildOwnTree } from './trees.ts';
import { runWarmUp, warmUpHeadings, warmUpNote } from './warm-up.ts';

type Rows = Promise<readonly (readonly Cell[])[]>;

const note = (line: string) => console.error(line);
if (process.platform !== 'linux')
  fail('The bench reads CPU time and memory of processes from /proc: it runs on Linux only.');
// Processes and checkouts are cleaned up on exit, which a signal alone would skip.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Every part of a plain run: its table, and the notes on it. */
const tables: Readonly<Record<PartName, { note?: string; headings: readonly string[]; rows(rounds: number): Rows }>> = {
  envoy: {
    note: scenarios.map(({ name, what }) => `${name}: ${what}`).join('\n'),
    headings: scenarioHeadings,
    rows: (rounds) => runScenarios(rounds, note),
  },
  start: { headings: startHeadings, rows: runStart },
  warm: { note: warmUpNote, headings: warmUpHeadings, rows: (rounds) => runWarmUp(rounds, note) },
};

const wanted = argumentsOf();
const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.version}; Envoy ${findEnvoy(process.env).version}`;
console.log(`${machine}\n`);
if (wanted.type === 'compare') {
  const { names, rows } = await compareWith(wanted.ref, { ...wanted, note });
  console.log(`Before: ${names[0]}. After: ${names[1]}.\n\n${tableOf(comparisonHeadings, rows)}`);
} else await run(wanted);
process.exit(0);

async function run({ only, rounds, record }: BenchArguments & { type: 'run' }): Promise<void> {
  buildOwnTree();
  for (const name of parts.filter((part) => only.has(part))) {
    const { note: about, headings, rows } = tables[name];
    const figures = await rows(rounds);
    console.log(`${about === undefined ? '' : `${about}\n\n`}${tableOf(headings, figures)}\n`);
    if (record) recordTable(name, { date: new Date().toISOString().slice(0, 10), machine, headings, rows: figures });
  }
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
