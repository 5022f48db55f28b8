import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, startChild } from '../tools/mesh/child-process.ts';
import { findEnvoy } from '../tools/mesh/envoy-binary.ts';
import { clusterOf, type EnvoyConfig, placeEnvoy } from '../tools/mesh/envoy-config.ts';
import { anyFreePort, untilListening } from '../tools/mesh/ports.ts';
import type { LoadOptions, LoadReport } from './load.ts';
import { cpuSeconds, residentBytes } from './process-figures.ts';

/** `noop` sends every body back as it came; `service` is this project, built. */
export type ContenderName = 'noop' | 'service';

/** A filter and its own Envoy, running. */
export interface Contender {
  readonly name: ContenderName;
  readonly filter: Started;
  /** What the filter used while it was asked for the first time. */
  readonly firstRequestCpuSeconds: number;
  /** Sends a slice of load; returns its results and its cost. */
  measure(options: Omit<LoadOptions, 'port' | 'api'>): Promise<Slice>;
  /** The longest pause of the filter's event loop during that work, in ms. */
  longestPauseMs(work: () => Promise<unknown>): Promise<number>;
  /** Resident bytes of the filter, now. */
  filterBytes(): number;
  stop(): Promise<void>;
}

export interface Slice extends LoadReport {
  readonly cpuSeconds: { readonly envoy: number; readonly filter: number };
}

/**
 * Envoy and filter share one core, upstream and load the other, where the machine allows it: saturation then shows what
 * one core can do, and the load does not compete with what is measured.
 */
const measuredCore = '0';
const loadCore = '1';
const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

const here = import.meta.dirname;
/** The root of this tree; a comparison also has another one. */
export const ownRoot = dirname(here);

/** Starts the upstream that all contenders share; returns its port. */
export async function startUpstream(): Promise<{ readonly port: number; readonly child: Child }> {
  return startTelling('upstream', loadCore, [join(here, 'upstream.ts')]);
}

export interface ContenderOptions {
  /** This many processes of the service with an address each, and as many threads of Envoy, on all cores. */
  readonly workers?: number;
  /** The built tree whose service and `envoy.yaml` are started; by default this one. */
  readonly root?: string;
  /** Puts another Envoy in front of that contender's filter; only that contender stops the filter. */
  readonly beside?: Contender;
}

/** Starts a filter and, with the shipped configuration, an Envoy in front of it. */
export async function startContender(
  name: ContenderName,
  upstreamPort: number,
  options: ContenderOptions = {},
): Promise<Contender> {
  const { workers, root = ownRoot, beside } = options;
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const filter =
    beside?.filter ??
    (name === 'noop'
      ? await startTelling('noop', measuredCore, [...probe, join(here, 'noop.ts')])
      : await startService(root, { workers, cores: coresOf(workers) }));
  const api = name === 'noop' ? 'chat' : 'responses';
  const configOf = (port: number, adminPort: number) => {
    const places = { listen: at(port), admin: at(adminPort), service: at(filter.port), upstream: at(upstreamPort) };
    const config = placeEnvoy(readFileSync(join(root, 'envoy/envoy.yaml'), 'utf8'), places);
    const endpoints: unknown[] = clusterOf(config, 'responses_extproc').load_assignment.endpoints[0].lb_endpoints;
    for (let number = 2; number <= (workers ?? 1); number++)
      endpoints.push({
        endpoint: { address: { socket_address: { address: `127.0.0.${number}`, port_value: filter.port } } },
      });
    return config;
  };
  const { envoy, port, firstRequestCpuSeconds } = await startEnvoy(folder, {
    ...{ configOf, api, threads: workers ?? 1, cores: coresOf(workers), filterPid: filter.child.pid },
  });

  return {
    name,
    filter,
    firstRequestCpuSeconds,
    async measure(options) {
      const before = { envoy: cpuSeconds(envoy.pid), filter: cpuSeconds(filter.child.pid) };
      const report = await runLoad({ ...options, port, api });
      const cpu = {
        envoy: cpuSeconds(envoy.pid) - before.envoy,
        filter: cpuSeconds(filter.child.pid) - before.filter,
      };
      return { ...report, cpuSeconds: cpu };
    },
    async longestPauseMs(work) {
      await filter.ask('watching');
      await work();
      return Number((await filter.ask('longest pause')).split(' ')[2]);
    },
    filterBytes: () => residentBytes(filter.child.pid),
    async stop() {
      await envoy.stop();
      if (beside === undefined) await filter.child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface EnvoyStart {
  readonly configOf: (port: number, adminPort: number) => EnvoyConfig;
  readonly api: LoadOptions['api'];
  readonly threads: number;
  readonly cores: string;
  readonly filterPid: number;
}

/** Starts Envoy and waits until it serves. If another process takes one of its ports meanwhile, Envoy exits and is started with others. */
async function startEnvoy(
  folder: string,
  { configOf, api, threads, cores, filterPid }: EnvoyStart,
): Promise<{ readonly envoy: Child; readonly port: number; readonly firstRequestCpuSeconds: number }> {
  const file = join(folder, 'envoy.json');
  const output: string[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = await anyFreePort();
    writeFileSync(file, JSON.stringify(configOf(port, await anyFreePort())));
    const args = ['-c', file, '--concurrency', `${threads}`, '--disable-hot-restart', '-l', 'error'];
    const envoy = startPinned('envoy', cores, findEnvoy(process.env).path, args, (line) => {
      if (output.length < 20) output.push(line);
    });
    const gone = new AbortController();
    void envoy.ended.then(() => gone.abort());
    try {
      await untilListening(port, AbortSignal.any([gone.signal, AbortSignal.timeout(30_000)]));
      const cpuBefore = cpuSeconds(filterPid);
      await untilServing({ port, api }, gone.signal);
      return { envoy, port, firstRequestCpuSeconds: cpuSeconds(filterPid) - cpuBefore };
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  }
  throw new Error(`Envoy does not start: ${output.join('\n')}`);
}

function coresOf(workers: number | undefined): string {
  return workers === undefined ? measuredCore : `${measuredCore},${loadCore}`;
}

export interface Started {
  readonly port: number;
  readonly child: Child;
  /** Asks the probe inside (`event-loop-probe.ts`); returns its line of output. */
  ask(answer: string): Promise<string>;
}

const probe = ['--import', join(here, 'event-loop-probe.ts')];

/** Starts one of our scripts that prints its port. */
async function startTelling(name: string, core: string, args: readonly string[]): Promise<Started> {
  const lines = createLineReader();
  const child = startPinned(name, core, process.execPath, args, lines.onLine);
  const port = Number(await Promise.race([lines.next(/^\d+$/), diedOf(child)]));
  return { port, child, ask: (answer) => askProbe(child, lines, answer) };
}

/** Starts the built service of the tree at `root`, on these cores; several workers have an address each, from 127.0.0.1 on. */
export async function startService(
  root: string,
  { workers, cores }: { workers: number | undefined; cores: string },
): Promise<Started> {
  const lines = createLineReader();
  const port = await anyFreePort();
  const variables = {
    ...process.env,
    NODE_ARGS: probe.join(' '),
    ...workersOf(workers, port),
    EXTPROC_PORT: String(port),
  };
  const child = startPinned('service', cores, join(root, 'bench/contender.sh'), [], lines.onLine, variables);
  await Promise.race([untilListening(port, AbortSignal.timeout(30_000)), diedOf(child)]);
  return { port, child, ask: (answer) => askProbe(child, lines, answer) };
}

/** Worker N listens on 127.0.0.N where there are several. */
function workersOf(workers: number | undefined, port: number): Record<string, string> {
  if (workers === undefined) return {};
  return { WORKERS: `${workers}`, ...(workers > 1 ? { BENCH_LISTEN: `127.0.0.{worker}:${port}` } : {}) };
}

function askProbe(child: Child, lines: LineReader, answer: string): Promise<string> {
  const line = lines.next(new RegExp(`^${answer} `));
  child.kill('SIGUSR2');
  return line;
}

/** Envoy sends nothing to a filter it has not found healthy. */
async function untilServing({ port, api }: Pick<LoadOptions, 'port' | 'api'>, signal: AbortSignal): Promise<void> {
  const knobs = { tokens: 1, pauseMs: 0, tokenBytes: 32 };
  for (let attempt = 0; attempt < 50; attempt++) {
    const { failures } = await runLoad({ port, api, knobs, stream: false, connections: 1 });
    if (failures.length === 0) return;
    if (attempt === 49) throw new Error(`The filter does not serve: ${failures[0]}`);
    await sleep(200, undefined, { signal });
  }
}

async function diedOf(child: Child): Promise<never> {
  throw new Error(`${child.name}: ${await child.ended}`);
}

function startPinned(
  name: string,
  core: string,
  command: string,
  args: readonly string[],
  onLine: (line: string) => void,
  environment = process.env,
): Child {
  const pinned = canPin ? (['taskset', ['-c', core, command, ...args]] as const) : ([command, args] as const);
  const child = startChild(name, ...pinned, { onLine, environment });
  running.add(child);
  void child.ended.then(() => running.delete(child));
  return child;
}

/** Children have their own process groups: a Ctrl-C in the middle of a slice would leave them behind. */
const running = new Set<Child>();

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

async function runLoad(options: LoadOptions): Promise<LoadReport> {
  return (await runReporting('load.ts', loadCore, options)) as LoadReport;
}

/** Runs a script of the bench to its end, its options as JSON in its argument; returns the JSON of its last line. */
export async function runReporting(script: string, cores: string, options: object): Promise<unknown> {
  const lines: string[] = [];
  const args = [join(here, script), JSON.stringify(options)];
  const load = startPinned(script, cores, process.execPath, args, (line) => lines.push(line));
  const end = await load.ended;
  const report = lines.at(-1);
  if (end !== 'exit code 0' || report === undefined) throw new Error(`${script}: ${end}\n${lines.join('\n')}`);
  return JSON.parse(report);
}

interface LineReader {
  readonly onLine: (line: string) => void;
  /** The next line that matches. */
  next(pattern: RegExp): Promise<string>;
}

function createLineReader(): LineReader {
  let waiting: { readonly pattern: RegExp; readonly resolve: (line: string) => void }[] = [];
  return {
    onLine(line) {
      const met = waiting.filter(({ pattern }) => pattern.test(line));
      waiting = waiting.filter((waiter) => !met.includes(waiter));
      for (const { resolve } of met) resolve(line);
    },
    next: (pattern) => new Promise((resolve) => waiting.push({ pattern, resolve })),
  };
}

function at(port: number) {
  return { host: '127.0.0.1', port };
}
