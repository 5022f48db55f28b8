/**
 * `npm run bench`: what the service costs next to a filter that does nothing, on a real Envoy; and what its parts cost.
 * `npm run bench -- --only micro,start --rounds 5`: some of it. `npm run bench -- --compare main`: this tree against a
 * commit, with a verdict for each figure. Figures, and how to read them: docs/performance.md.
 */
import { cpus } from 'node:os';
import { findEnvoy } from '../tools/mesh/envoy-binary.ts';
import { type BenchArguments, parseBenchArguments } from './arguments.ts';
import { capacityHeadings, capacityNote, runCapacity } from './capacity.ts';
import { compareWith, comparisonHeadings } from './comparison.ts';
import { runScenarios, runWorkers, scenarioHeadings, scenarios, workerHeadings } from './envoy-scenarios.ts';
import { runEnvoyToken, tokenHeadings } from './envoy-token.ts';
import { floorHeadings, runFloor } from './floor.ts';
import { headings as microHeadings, microRows } from './micro.ts';
import { runSizes, sizeHeadings } from './sizes.ts';
import { runSlowStreams, slowHeadings } from './slow-streams.ts';
import { runStart, startHeadings } from './start-up.ts';
import { tableOf } from './table.ts';
import { buildOwnTree } from './trees.ts';

const note = (line: string) => console.error(line);
if (process.platform !== 'linux')
  fail('The bench reads CPU time and memory of processes from /proc: it runs on Linux only.');
// What was started and checked out goes when this process ends, which a signal alone would not let it do.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const wanted = argumentsOf();
console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.version}; Envoy ${findEnvoy(process.env).version}\n`,
);
if (wanted.type === 'compare') {
  const { names, rows } = await compareWith(wanted.ref, { ...wanted, note });
  console.log(`Before: ${names[0]}. After: ${names[1]}.\n\n${tableOf(comparisonHeadings, rows)}`);
} else await run(wanted);
process.exit(0);

async function run({ only, rounds }: BenchArguments & { type: 'run' }): Promise<void> {
  buildOwnTree();
  if (only.has('envoy')) {
    for (const { name, what } of scenarios) console.log(`${name}: ${what}`);
    console.log(`\n${tableOf(scenarioHeadings, await runScenarios(rounds, note))}\n`);
  }
  if (only.has('workers')) console.log(`${tableOf(workerHeadings, await runWorkers(rounds))}\n`);
  if (only.has('capacity'))
    console.log(`${capacityNote}\n\n${tableOf(capacityHeadings, await runCapacity(rounds, note))}\n`);
  if (only.has('floor')) console.log(`${tableOf(floorHeadings, await runFloor(rounds, note))}\n`);
  if (only.has('token')) {
    const rows = await runEnvoyToken(rounds);
    console.log(
      rows === null
        ? 'token: left out, it needs `perf` and the right to use it.\n'
        : `${tableOf(tokenHeadings, rows)}\n`,
    );
  }
  if (only.has('sizes')) console.log(`${tableOf(sizeHeadings, await runSizes())}\n`);
  if (only.has('slow')) console.log(`${tableOf(slowHeadings, await runSlowStreams())}\n`);
  if (only.has('start')) console.log(`${tableOf(startHeadings, await runStart(rounds))}\n`);
  if (only.has('micro')) console.log(tableOf(microHeadings, microRows()));
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
