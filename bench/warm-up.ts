import { type Contender, startContender, startUpstream } from './contenders.ts';
import { costOf, scenarios } from './envoy-scenarios.ts';
import { type Cell, median, ratio } from './table.ts';

/** What a small JSON answer costs a process that has just started, and how that falls while V8 compiles what runs often. */
export const warmUpNote =
  'Small JSON answers, as in the scenario json. Each process is new; all other tables of this run are of warm ones.';

export const warmUpHeadings = ['requests', 'no-op CPU µs each', 'service CPU µs each', '×'];

/** The last request of each row; a row begins where the one before it ends. The first request of all is the one that finds Envoy serving. */
const stages = [10, 100, 1000, 10_000, 40_000] as const;

/** Medians of `rounds` new pairs of a no-op and a service, each behind an Envoy of its own. */
export async function runWarmUp(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const costs: Record<Contender['name'], number[][]> = { noop: [], service: [] };
  try {
    for (let round = 0; round < rounds; round++)
      for (const name of ['noop', 'service'] as const) {
        const contender = await startContender(name, upstream.port);
        try {
          costs[name].push(await costsOf(contender));
        } finally {
          await contender.stop();
        }
        note(`warm-up ${round + 1}/${rounds} ${name}: ${costs[name].at(-1)?.map(Math.round).join(', ')} µs`);
      }
  } finally {
    await upstream.child.stop();
  }
  return ['1', ...stages.map((last, index) => `${(stages[index - 1] ?? 1) + 1} to ${last}`)].map((row, index) => {
    const [noop = Number.NaN, service = Number.NaN] = [costs.noop, costs.service].map((runs) =>
      median(runs.map((run) => run[index] ?? Number.NaN)),
    );
    return [row, noop, service, ratio(service, noop)];
  });
}

/** CPU µs of the filter for the first request, then for each of every stage's requests, on average. */
async function costsOf(contender: Contender): Promise<number[]> {
  const [, , json] = scenarios;
  const costs = [contender.firstRequestCpuSeconds * 1e6];
  let served = 1;
  for (const last of stages) {
    const connections = Math.min(json.load.connections, last - served);
    const requests = Math.round((last - served) / connections);
    const slice = await contender.measure({ ...json.load, seconds: undefined, connections, requests });
    if (slice.failures.length > 0) throw new Error(`warm-up, ${contender.name}: ${slice.failures[0]}`);
    costs.push(costOf(json, slice, 'filter'));
    served = last;
  }
  return costs;
}
