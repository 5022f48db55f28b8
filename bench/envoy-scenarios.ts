import { type Contender, type ContenderName, startContender, startUpstream } from './contenders.ts';
import type { LoadOptions } from './load.ts';
import { type Cell, median, ratio } from './table.ts';
import type { Better } from './verdict.ts';

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

/** A figure of a slice, and which way it improves. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly better: Better;
}

/** Sends a slice of the scenario's load, and gives its figures. Throws when an answer is incomplete. */
export async function figuresOf({ name, unit, load }: Scenario, contender: Contender): Promise<readonly Figure[]> {
  const { failures, cpuSeconds, seconds, latencyMs, ...counts } = await contender.measure(load);
  if (failures.length > 0) throw new Error(`${name}, ${contender.name}: ${failures.length} failed: ${failures[0]}`);
  const count = unit === 'token' ? counts.tokens : counts.requests;
  return [
    { name: `CPU µs of the service for a ${unit}`, value: (cpuSeconds.filter * 1e6) / count, better: 'lower' },
    { name: `CPU µs of Envoy for a ${unit}`, value: (cpuSeconds.envoy * 1e6) / count, better: 'lower' },
    { name: `${unit}s a second`, value: count / seconds, better: 'higher' },
    { name: 'p50 ms', value: latencyMs.p50, better: 'lower' },
    { name: 'p99 ms', value: latencyMs.p99, better: 'lower' },
  ];
}

/**
 * Slices of load alternate between no-op and service, so that other activity on the machine affects both; medians of
 * `rounds` slices. Returns the rows of a table: every figure with its ratio to the no-op's, p99 without one, as that is chance.
 */
export async function runScenarios(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const contenders: Contender[] = [];
  const slices = new Map<string, (readonly Figure[])[]>();
  try {
    for (const name of ['noop', 'service'] as const) contenders.push(await startContender(name, upstream.port));
    for (const contender of contenders) await contender.measure({ ...warmUp });
    for (let round = 0; round < rounds; round++)
      for (const scenario of scenarios)
        for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
          const figures = await figuresOf(scenario, contender);
          const key = keyOf(scenario, contender.name);
          slices.set(key, [...(slices.get(key) ?? []), figures]);
          note(`${round + 1}/${rounds} ${key}: ${figures[0]?.value.toFixed(1)} µs`);
        }
  } finally {
    for (const contender of contenders) await contender.stop();
    await upstream.child.stop();
  }
  return scenarios.flatMap((scenario) => rowsOf(scenario, (name) => slices.get(keyOf(scenario, name)) ?? []));
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
];

function rowsOf(scenario: Scenario, slicesOf: (name: ContenderName) => readonly (readonly Figure[])[]): Cell[][] {
  const medians = (name: ContenderName) => {
    const [first = [], ...rest] = slicesOf(name);
    return first.map((figure, index) => median([figure, ...rest.map((slice) => slice[index])].map(figureOf)));
  };
  const floor = medians('noop');
  return (['noop', 'service'] as const).map((name) => [
    `${scenario.name} (per ${scenario.unit})`,
    name,
    ...medians(name)
      .flatMap((figure, index) => [figure, name === 'noop' ? '' : ratio(figure, floor[index])])
      .slice(0, -1), // of p99
  ]);
}

function figureOf(figure: Figure | undefined): number {
  return figure?.value ?? Number.NaN;
}

function keyOf({ name }: Scenario, contender: ContenderName): string {
  return `${name} ${contender}`;
}
