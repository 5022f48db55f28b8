import { type Contender, type ContenderName, type Slice, startContender, startUpstream } from './contenders.ts';
import type { LoadOptions } from './load.ts';
import { type Cell, median, ratio } from './table.ts';

export interface Scenario {
  readonly name: 'paced' | 'burst' | 'json' | 'history';
  readonly what: string;
  readonly unit: 'token' | 'request';
  readonly load: Omit<LoadOptions, 'port' | 'api'>;
}

const paced = { tokens: 125, pauseMs: 20, tokenBytes: 32 };

export const scenarios: readonly [Scenario, Scenario, Scenario] = [
  {
    name: 'paced',
    what: '100 streams of 50 tokens a second, every token its own message',
    unit: 'token',
    load: { stream: true, knobs: paced, connections: 100, requests: 1, rampSeconds: 0.5 },
  },
  {
    name: 'burst',
    what: '32 streams as fast as they go, many tokens in a message',
    unit: 'token',
    load: { stream: true, knobs: { tokens: 256, pauseMs: 0, tokenBytes: 32 }, connections: 32, seconds: 2.5 },
  },
  {
    name: 'json',
    what: '32 small JSON answers at a time',
    unit: 'request',
    load: { stream: false, knobs: { tokens: 16, pauseMs: 0, tokenBytes: 32 }, connections: 32, seconds: 2.5 },
  },
];

/** What saturates a single core first: translating the long conversations that agents send with every turn. */
export const history: Scenario = {
  name: 'history',
  what: '16 requests with 256 KB of conversation at a time',
  unit: 'request',
  load: {
    stream: false,
    knobs: { tokens: 16, pauseMs: 0, tokenBytes: 32 },
    connections: 16,
    seconds: 2.5,
    historyBytes: 256_000,
  },
};

/**
 * Slices of load alternate between no-op and service, so that other activity on the machine affects both; medians of
 * `rounds` slices. Returns the rows of a table: every figure with its ratio to the no-op's.
 */
export async function runScenarios(
  rounds: number,
  note: (line: string) => void,
): Promise<readonly (readonly Cell[])[]> {
  const upstream = await startUpstream();
  const contenders: Contender[] = [];
  const slices = new Map<string, Slice[]>();
  try {
    for (const name of ['noop', 'service'] as const) contenders.push(await startContender(name, upstream.port));
    for (const contender of contenders) await contender.measure({ ...warmUp });
    for (let round = 0; round < rounds; round++) {
      for (const scenario of scenarios) {
        for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
          const slice = await contender.measure(scenario.load);
          if (slice.failures.length > 0)
            throw new Error(
              `${scenario.name}, ${contender.name}: ${slice.failures.length} failed: ${slice.failures[0]}`,
            );
          const key = keyOf(scenario.name, contender.name);
          slices.set(key, [...(slices.get(key) ?? []), slice]);
          note(
            `${scenario.name} ${round + 1}/${rounds} ${contender.name}: ${costOf(scenario, slice, 'filter').toFixed(1)} µs`,
          );
        }
      }
    }
  } finally {
    for (const contender of contenders) await contender.stop();
    await upstream.child.stop();
  }
  return scenarios.flatMap((scenario) => rowsOf(scenario, (name) => slices.get(keyOf(scenario.name, name)) ?? []));
}

export const warmUp = {
  stream: true,
  knobs: { tokens: 64, pauseMs: 0, tokenBytes: 32 },
  connections: 16,
  seconds: 4,
} as const;

export const scenarioHeadings = [
  'scenario',
  'filter',
  'filter CPU µs',
  '×',
  'Envoy CPU µs',
  '×',
  'per second',
  '×',
  'p50 ms',
  '×',
  'p99 ms',
  '×',
];

function rowsOf(scenario: Scenario, of: (name: ContenderName) => readonly Slice[]): Cell[][] {
  const figures = (name: ContenderName) => {
    const all = of(name);
    return [
      median(all.map((slice) => costOf(scenario, slice, 'filter'))),
      median(all.map((slice) => costOf(scenario, slice, 'envoy'))),
      median(all.map((slice) => rateOf(scenario, slice))),
      median(all.map((slice) => slice.latencyMs.p50)),
      median(all.map((slice) => slice.latencyMs.p99)),
    ];
  };
  const floor = figures('noop');
  return (['noop', 'service'] as const).map((name) => [
    `${scenario.name} (per ${scenario.unit})`,
    name,
    ...figures(name).flatMap((figure, index) => [figure, name === 'noop' ? '' : ratio(figure, floor[index])]),
  ]);
}

/** CPU µs for one token or request. */
export function costOf({ unit }: Scenario, slice: Slice, part: 'envoy' | 'filter'): number {
  return (slice.cpuSeconds[part] * 1e6) / (unit === 'token' ? slice.tokens : slice.requests);
}

function keyOf(scenario: string, contender: ContenderName): string {
  return `${scenario} ${contender}`;
}

/** Tokens or requests a second. */
export function rateOf({ unit }: Scenario, slice: Slice): number {
  return (unit === 'token' ? slice.tokens : slice.requests) / slice.seconds;
}
