import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { untilListening } from '../tools/mesh/ports.ts';
import { ownRoot, runReporting, type Started, startService } from './contenders.ts';
import type { ExtProcLoadOptions, ExtProcLoadReport, Shape } from './extproc-load.ts';
import { cpuSeconds, cpuSecondsOfChildren } from './process-figures.ts';
import { type Cell, median, ratio } from './table.ts';

/** What one core of the service can do: no Envoy, no HTTP client, no upstream, only messages of ext_proc on a connection. */
export const capacityNote = `paced: 100 streams of 50 tokens a second for each worker. The others wait for each reply and are sent the next message at once:
token: 100 streams, a token to a message; burst: 32 streams, 64 tokens to a message; json: 32 small JSON answers at a time;
history: 16 requests of 256 KB at a time. Measured: messages/s and its ratio to one worker beside its load (by clock), CPU time,
latency. Computed: messages/s of a core is 1 s divided by the CPU time of a message, × by CPU what that makes of N cores.`;

export const capacityHeadings = [
  'shape',
  'workers',
  'load',
  'messages/s',
  '× by clock',
  '× by CPU',
  'exchanges/s',
  'CPU µs a message',
  'load’s CPU µs',
  'p50 ms',
  'p99 ms',
  'busiest worker',
  'messages/s of a core',
];

interface Setup {
  readonly workers: number;
  /** Where each worker's load runs. `a core each`: a worker and its load have one core to themselves. */
  readonly load: 'on another core' | 'a core each' | 'where it likes';
}

interface CapacitySlice {
  readonly messagesPerSecond: number;
  readonly exchangesPerSecond: number;
  readonly serviceCpu: number;
  readonly loadCpu: number;
  readonly p50: number;
  readonly p99: number;
  /** Its share of all the workers' CPU time. */
  readonly busiest: number;
}

const shapes: readonly { readonly shape: Shape; readonly streams: number }[] = [
  { shape: 'paced', streams: 100 },
  { shape: 'token', streams: 100 },
  { shape: 'burst', streams: 32 },
  { shape: 'json', streams: 32 },
  { shape: 'history', streams: 16 },
];
const sliceSeconds = 2.5;

/**
 * One worker to as many as there are cores, each with its own address and load. Each worker shares a core with its load, so
 * that each further worker adds one core for both: the ratio to one worker shows how it scales. For comparison, one worker
 * with its load on another core, which shows what a core achieves; and all workers where the system puts them.
 */
export async function runCapacity(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const running: Running[] = [];
  const slices = new Map<string, CapacitySlice[]>();
  try {
    for (const setup of setupsOf(availableParallelism())) {
      const one = await start(setup);
      running.push(one);
      for (const shape of shapes) await measure(one, { ...shape, seconds: 1.5 });
    }
    for (let round = 0; round < rounds; round++) {
      for (const shape of shapes)
        for (const one of round % 2 === 0 ? running : running.toReversed()) {
          const key = keyOf(shape.shape, one.setup);
          slices.set(key, [...(slices.get(key) ?? []), await measure(one, { ...shape, seconds: sliceSeconds })]);
        }
      note(`capacity: round ${round + 1} of ${rounds}`);
    }
  } finally {
    for (const { service } of running) await service.child.stop();
  }
  const setups = running.map(({ setup }) => setup);
  return shapes.flatMap(({ shape }) => rowsOf(shape, setups, (setup) => slices.get(keyOf(shape, setup)) ?? []));
}

function setupsOf(cores: number): Setup[] {
  const each = Array.from({ length: cores }, (_, index): Setup => ({ workers: index + 1, load: 'a core each' }));
  if (cores === 1) return each;
  return [{ workers: 1, load: 'on another core' }, ...each, { workers: cores, load: 'where it likes' }];
}

interface Running {
  readonly setup: Setup;
  readonly service: Started;
}

async function start(setup: Setup): Promise<Running> {
  const { workers, load } = setup;
  const all = Array.from({ length: workers }, (_, core) => core);
  const service = await startService(ownRoot, { workers, cores: all.join(',') });
  for (const core of all) await untilListening(service.port, AbortSignal.timeout(30_000), hostOf(core));
  if (workers > 1 && load === 'a core each') {
    // In the order of their numbers, since they are forked one after the other.
    const pids = [...cpuSecondsOfChildren(service.child.pid).keys()].sort((a, b) => a - b);
    pids.forEach((pid, core) => void pin(pid, core));
  }
  return { setup, service };
}

/** Worker N listens on 127.0.0.N. */
function hostOf(core: number): string {
  return `127.0.0.${core + 1}`;
}

function pin(pid: number, core: number): void {
  spawnSync('taskset', ['--all-tasks', '--pid', '--cpu-list', `${core}`, `${pid}`]);
}

function coresOfLoad({ workers, load }: Setup, index: number): string {
  if (load === 'on another core') return '1';
  return load === 'a core each' ? `${index}` : Array.from({ length: workers }, (_, core) => core).join(',');
}

type SliceOptions = Pick<ExtProcLoadOptions, 'shape' | 'streams' | 'seconds'>;

async function measure({ setup, service }: Running, options: SliceOptions): Promise<CapacitySlice> {
  const { port, child } = service;
  const before = { all: cpuSeconds(child.pid), workers: cpuSecondsOfChildren(child.pid) };
  const reports = await Promise.all(
    Array.from({ length: setup.workers }, (_, index) => {
      const load: ExtProcLoadOptions = { ...options, targets: [{ host: hostOf(index), port }] };
      return runReporting('extproc-load.ts', coresOfLoad(setup, index), load) as Promise<ExtProcLoadReport>;
    }),
  );
  const after = { all: cpuSeconds(child.pid), workers: cpuSecondsOfChildren(child.pid) };
  const failures = reports.flatMap((report) => report.failures);
  if (failures.length > 0) throw new Error(`capacity, ${options.shape}: ${failures[0]}`);
  const messages = sumOf(reports.map((report) => report.messages));
  const shares = [...after.workers].map(([pid, seconds]) => seconds - (before.workers.get(pid) ?? 0));
  return {
    messagesPerSecond: sumOf(reports.map((report) => report.messages / report.seconds)),
    exchangesPerSecond: sumOf(reports.map((report) => report.exchanges / report.seconds)),
    serviceCpu: ((after.all - before.all) * 1e6) / messages,
    loadCpu: (sumOf(reports.map((report) => report.cpuSeconds)) * 1e6) / messages,
    p50: median(reports.map((report) => report.latencyMs.p50)),
    p99: Math.max(...reports.map((report) => report.latencyMs.p99)),
    busiest: shares.length === 0 ? 1 : Math.max(...shares) / sumOf(shares),
  };
}

function rowsOf(shape: Shape, setups: readonly Setup[], of: (setup: Setup) => readonly CapacitySlice[]): Cell[][] {
  const figure = (setup: Setup, name: keyof CapacitySlice) => median(of(setup).map((slice) => slice[name]));
  const one = setups.find(({ workers, load }) => workers === 1 && load === 'a core each');
  return setups.map((setup) => {
    const rate = figure(setup, 'messagesPerSecond');
    const cpu = figure(setup, 'serviceCpu');
    const isScaled = setup.workers > 1 && one !== undefined;
    return [
      shape,
      `${setup.workers}`,
      setup.load,
      rate,
      isScaled ? ratio(rate, figure(one, 'messagesPerSecond')) : '',
      isScaled ? ratio(setup.workers / cpu, 1 / figure(one, 'serviceCpu')) : '',
      figure(setup, 'exchangesPerSecond'),
      cpu,
      figure(setup, 'loadCpu'),
      figure(setup, 'p50'),
      figure(setup, 'p99'),
      setup.workers === 1 ? '' : `${Math.round(figure(setup, 'busiest') * 100)} %`,
      1e6 / cpu,
    ];
  });
}

function keyOf(shape: Shape, { workers, load }: Setup): string {
  return `${shape} ${workers} ${load}`;
}

function sumOf(figures: readonly number[]): number {
  return figures.reduce((sum, figure) => sum + figure, 0);
}
