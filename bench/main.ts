/**
 * `npm run bench`: what the service costs next to a filter that does nothing, on a real Envoy; and what its parts cost.
 * `npm run bench -- --only micro,envoy,workers,sizes,slow --rounds 5`. Figures, and how to read them: docs/performance.md.
 */
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findEnvoy } from '../tools/mesh/envoy-binary.ts';
import { runScenarios, runWorkers, scenarioHeadings, scenarios, workerHeadings } from './envoy-scenarios.ts';
import { headings as microHeadings, microRows } from './micro.ts';
import { runSizes, sizeHeadings } from './sizes.ts';
import { runSlowStreams, slowHeadings } from './slow-streams.ts';
import { tableOf } from './table.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'micro,envoy,workers,sizes,slow' },
    rounds: { type: 'string', default: '5' },
  },
});
const wanted = new Set(values.only.split(','));

if (process.platform !== 'linux') {
  console.error('The bench reads CPU time and memory of processes from /proc: it runs on Linux only.');
  process.exit(1);
}
const build = spawnSync(
  process.execPath,
  [join(import.meta.dirname, '../node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'],
  {
    cwd: join(import.meta.dirname, '..'),
    stdio: 'inherit',
  },
);
if (build.status !== 0) process.exit(1);

const note = (line: string) => console.error(line);
console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.version}; Envoy ${findEnvoy(process.env).version}\n`,
);
if (wanted.has('envoy')) {
  for (const { name, what } of scenarios) console.log(`${name}: ${what}`);
  console.log(`\n${tableOf(scenarioHeadings, await runScenarios(Number(values.rounds), note))}\n`);
}
if (wanted.has('workers')) console.log(`${tableOf(workerHeadings, await runWorkers(Number(values.rounds)))}\n`);
if (wanted.has('sizes')) console.log(`${tableOf(sizeHeadings, await runSizes())}\n`);
if (wanted.has('slow')) console.log(`${tableOf(slowHeadings, await runSlowStreams())}\n`);
if (wanted.has('micro')) console.log(tableOf(microHeadings, microRows()));
