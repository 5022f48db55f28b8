import { availableParallelism } from 'node:os';
import { ownRoot, runReporting, type Started, startService } from './contenders.ts';
import type { ExtProcLoadOptions, ExtProcLoadReport, Shape } from './extproc-load.ts';
import { cpuSeconds, cpuSecondsOfChildren } from './process-figures.ts';
import { type Cell, median, ratio } from './table.ts';

/** What one core of the service can do: no Envoy, no HTTP client, no upstream, only messages of ext_proc on a connection. */
export const capacityNote = [
  'paced: 100 streams of 50 tokens a second, for each worker; the others wait for each reply and are sent the next at once:',
  'token: 100 streams, a token to a message; burst: 32 streams, 64 tokens to a message; json: 32 small JSON answers at a time;',
  'history: 16 requests of 256 KB at a time. Measured: messages/s, their ratio to one worker (by clock), CPU time, latency.',
  'Computed: `messages/s of a core`, 1 s divided by the CPU time of a message; `× by CPU`, what that makes of N cores.',
].join('\n');

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
  /** Where the load runs: beside the service on its cores, or on others. */
  readonly load: 'same cores' | 'other cores';
  readonly cores: { readonly service: string; readonly load: string };
}

interface CapacitySlice {
  readonly messagesPerSecond: number;
  readonly exchangesPerSecond: number;
  readonly serviceCpu: number;
  readonly loadCpu: number;
  readonly p50: number;
  readonly p99: number;
  /** Its part of all the workers' CPU time. */
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
 * One to so many workers as there are cores, each with an address and a load of its own. N workers and their loads share N
 * cores, so that one worker more brings one core more for both: the ratio to one worker is what workers are worth. With one
 * worker also the load elsewhere, which is what one core achieves.
 */
export async function runCapacity(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const running: { setup: Setup; service: Started }[] = [];
  const slices = new Map<string, CapacitySlice[]>();
  try {
    for (const setup of setupsOf(availableParallelism())) {
      const service = await startService(ownRoot, { workers: setup.workers, cores: setup.cores.service });
      running.push({ setup, service });
      for (const { shape, streams } of shapes) await measure(setup, service, { shape, streams, seconds: 1.5 });
    }
    for (let round = 0; round < rounds; round++) {
      for (const { shape, streams } of shapes)
        for (const { setup, service } of round % 2 === 0 ? running : running.toReversed()) {
          const slice = await measure(setup, service, { shape, streams, seconds: sliceSeconds });
          const key = keyOf(shape, setup);
          slices.set(key, [...(slices.get(key) ?? []), slice]);
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
  const upTo = (count: number) => Array.from({ length: count }, (_, core) => core).join(',');
  const beside = Array.from({ length: cores }, (_, index): Setup => {
    const shared = upTo(index + 1);
    return { workers: index + 1, load: 'same cores', cores: { service: shared, load: shared } };
  });
  const apart: Setup[] = cores < 2 ? [] : [{ workers: 1, load: 'other cores', cores: { service: '0', load: '1' } }];
  return [...apart, ...beside];
}

type SliceOptions = Pick<ExtProcLoadOptions, 'shape' | 'streams' | 'seconds'>;

async function measure(setup: Setup, { port, child }: Started, options: SliceOptions): Promise<CapacitySlice> {
  const before = { all: cpuSeconds(child.pid), workers: cpuSecondsOfChildren(child.pid) };
  const reports = await Promise.all(
    Array.from({ length: setup.workers }, (_, index) => {
      const load: ExtProcLoadOptions = { ...options, targets: [{ host: `127.0.0.${index + 1}`, port }] };
      return runReporting('extproc-load.ts', setup.cores.load, load) as Promise<ExtProcLoadReport>;
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
  const one = setups.find(({ workers, load }) => workers === 1 && load === 'same cores');
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
