import { type ContenderName, startContender, startUpstream } from './contenders.ts';
import { figuresOf, scenarios } from './envoy-scenarios.ts';
import { type Cell, median, ratio } from './table.ts';

/** What a small JSON answer costs a process that has just started, and how that falls while V8 compiles what runs often. */
export const warmUpNote =
  'Small JSON answers, as in the scenario json, of processes that have just started; the other scenarios are of warm ones.';

export const warmUpHeadings = ['requests', 'no-op CPU µs each', 'service CPU µs each', '×'];

/** The last request of each row; a row begins where the one before it ends. The first of all finds Envoy serving. */
const stages = [10, 100, 1000, 10_000, 40_000] as const;

/** Medians of `rounds` new pairs of a no-op and a service, each behind an Envoy of its own. */
export async function runWarmUp(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const costs: Record<ContenderName, number[][]> = { noop: [], service: [] };
  try {
    for (let round = 0; round < rounds; round++)
      for (const name of ['noop', 'service'] as const) {
        costs[name].push(await costsOf(name, upstream.port));
        note(`warm-up ${round + 1}/${rounds} ${name}: ${costs[name].at(-1)?.map(Math.round).join(', ')} µs`);
      }
  } finally {
    await upstream.child.stop();
  }
  return stages.map((last, index) => {
    const of = (runs: readonly number[][]) => median(runs.map((run) => run[index] ?? Number.NaN));
    const [noop, service] = [of(costs.noop), of(costs.service)];
    return [`${(stages[index - 1] ?? 1) + 1} to ${last}`, noop, service, ratio(service, noop)];
  });
}

/** CPU µs of a new filter for each of every stage's requests, on average. */
async function costsOf(name: ContenderName, upstreamPort: number): Promise<number[]> {
  const contender = await startContender(name, upstreamPort);
  try {
    const [, , json] = scenarios;
    const costs: number[] = [];
    for (const [index, last] of stages.entries()) {
      const count = last - (stages[index - 1] ?? 1);
      const connections = Math.min(json.load.connections, count);
      const load = { ...json.load, seconds: undefined, connections, requests: Math.round(count / connections) };
      const [cost] = await figuresOf({ ...json, load }, contender);
      costs.push(cost?.value ?? Number.NaN);
    }
    return costs;
  } finally {
    await contender.stop();
  }
}
