import { setTimeout as sleep } from 'node:timers/promises';
import { type ContenderName, contenderNames } from './arguments.ts';
import { type Contender, type PerProcess, startContender, startFilter, startUpstream } from './contenders.ts';
import { type Figure, figuresOf, type Scenario, scenarios } from './envoy-scenarios.ts';
import { cpuSeconds, residentBytes } from './process-figures.ts';
import { type Cell, median } from './table.ts';

/** What a figure is of: a scenario, or one of these three. */
export type CostName = Scenario['name'] | 'MB idle' | 'MB under load' | 'CPU ms of a start';

/** One row for each process of each contender: what it costs, as the median, least and most of the rounds. */
export const costHeadings = ['what', 'process', 'contender', 'median', 'least', 'most'];

type Add = (what: CostName, contender: ContenderName, figures: Partial<PerProcess>) => void;

/**
 * Every contender is started once; their slices of load alternate, so that other activity on the machine affects all of them. Then
 * come `rounds` starts of each filter: of the service with the code
 * cache that the first one left.
 */
export async function runCosts(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const samples = new Map<string, { readonly about: readonly string[]; readonly figures: number[] }>();
  const add: Add = (what, contender, figures) => {
    for (const [process, figure] of Object.entries(figures)) {
      if (contender === 'envoy' && process === 'filter') continue;
      const about = [what, process, contender];
      const sample = samples.get(about.join()) ?? { about, figures: [] };
      sample.figures.push(figure);
      samples.set(about.join(), sample);
    }
  };
  await measureLoads(rounds, add, note);
  for (let round = 0; round < rounds; round++) for (const name of contenderNames) await measureFilterStart(name, add);
  return [...samples.values()].map(({ about, figures }) => [
    ...about,
    median(figures),
    Math.min(...figures),
    Math.max(...figures),
  ]);
}

async function measureLoads(rounds: number, add: Add, note: (line: string) => void): Promise<void> {
  const upstream = await startUpstream();
  const contenders: Contender[] = [];
  try {
    for (const name of contenderNames) contenders.push(await startContender(name, upstream.port));
    for (const contender of contenders)
      for (const { name, load, warmUpRequests } of scenarios) {
        await contender.measure({ ...load, seconds: undefined, requests: warmUpRequests });
        note(`warm: ${name}, ${contender.name}`);
      }
    for (let round = 1; round <= rounds; round++) {
      const order = round % 2 === 0 ? contenders : contenders.toReversed();
      const most = new Map<Contender, PerProcess>();
      for (const scenario of scenarios)
        for (const contender of order) {
          const { cpuMicros, bytes } = await measureSlice(scenario, contender);
          most.set(contender, mostOf(most.get(contender) ?? bytes, bytes));
          add(scenario.name, contender.name, cpuMicros);
          const figures = `${cpuMicros.filter.toFixed(1)} and ${cpuMicros.envoy.toFixed(1)} µs`;
          note(`${round}/${rounds} ${scenario.name}, ${contender.name}: ${figures}`);
        }
      for (const [{ name }, { filter, envoy }] of most)
        add('MB under load', name, { filter: filter / 1e6, envoy: envoy / 1e6 });
    }
  } finally {
    for (const contender of contenders) await contender.stop();
    await upstream.child.stop();
  }
}

/** CPU µs of one slice for each of its tokens or requests, and the most that was resident meanwhile. */
async function measureSlice(
  scenario: Scenario,
  contender: Contender,
): Promise<{ readonly cpuMicros: PerProcess; readonly bytes: PerProcess }> {
  let bytes = contender.bytes();
  const sampling = setInterval(() => {
    bytes = mostOf(bytes, contender.bytes());
  }, 100);
  try {
    const [filter, envoy] = await figuresOf(scenario, contender);
    return { cpuMicros: { filter: amountOf(filter), envoy: amountOf(envoy) }, bytes };
  } finally {
    clearInterval(sampling);
  }
}

async function measureFilterStart(name: ContenderName, add: Add): Promise<void> {
  const started = await startFilter(name);
  if (started === null) return;
  const { pid } = started.child;
  add('CPU ms of a start', name, { filter: cpuSeconds(pid) * 1000 });
  await sleep(1500);
  add('MB idle', name, { filter: residentBytes(pid) / 1e6 });
  await started.child.stop();
}

function mostOf(one: PerProcess, other: PerProcess): PerProcess {
  return { filter: Math.max(one.filter, other.filter), envoy: Math.max(one.envoy, other.envoy) };
}

function amountOf(figure: Figure | undefined): number {
  return figure?.value ?? Number.NaN;
}
