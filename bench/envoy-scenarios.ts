import type { ScenarioName } from './arguments.ts';
import type { Contender } from './contenders.ts';
import type { LoadOptions } from './load.ts';
import type { Better } from './verdict.ts';

export interface Scenario {
  readonly name: ScenarioName;
  readonly what: string;
  readonly unit: 'token' | 'request';
  readonly load: Omit<LoadOptions, 'port' | 'api'>;
  /** Requests of each connection after which V8 has compiled what runs often: counted, since a busy machine serves fewer in a second. */
  readonly warmUpRequests: number;
}

const json = { tokens: 16, pauseMs: 0, tokenBytes: 32 };

export const scenarios: readonly Scenario[] = [
  {
    name: 'paced',
    warmUpRequests: 2,
    what: 'a token alone: 100 streams of 50 tokens a second, every token its own message',
    unit: 'token',
    load: {
      stream: true,
      knobs: { tokens: 125, pauseMs: 20, tokenBytes: 32 },
      connections: 100,
      requests: 1,
      rampSeconds: 0.5,
    },
  },
  {
    name: 'burst',
    warmUpRequests: 20,
    what: 'a token in a burst: 32 streams as fast as they go, many tokens in a message',
    unit: 'token',
    load: { stream: true, knobs: { tokens: 256, pauseMs: 0, tokenBytes: 32 }, connections: 32, seconds: 2.5 },
  },
  {
    name: 'json',
    warmUpRequests: 600,
    what: 'a small JSON answer: 32 requests at a time',
    unit: 'request',
    load: { stream: false, knobs: json, connections: 32, seconds: 2.5 },
  },
  {
    name: 'history',
    warmUpRequests: 25,
    what: '1 MB of history: 4 requests at a time, long texts in turns',
    unit: 'request',
    load: { stream: false, knobs: json, connections: 4, seconds: 2.5, history: 'texts' },
  },
  {
    name: 'agent',
    warmUpRequests: 50,
    what: 'a turn of an agent such as Codex: 4 requests at a time of 400 items and 60 tools, 550 kB',
    unit: 'request',
    load: { stream: false, knobs: json, connections: 4, seconds: 2.5, history: 'agent' },
  },
];

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

export const warmUp = {
  stream: true,
  knobs: { tokens: 64, pauseMs: 0, tokenBytes: 32 },
  connections: 16,
  seconds: 4,
} as const;
