import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEnvoy } from '../mesh/envoy-binary.ts';
import { type EnvoyConfig, placeEnvoy } from '../mesh/envoy-config.ts';
import { findFreePort, waitUntilListening } from '../mesh/ports.ts';
import { type Child, startChild } from '../mesh/processes.ts';
import type { ContenderName } from './arguments.ts';
import type { LoadOptions, LoadReport } from './load.ts';
import { cpuSeconds, residentBytes } from './process-figures.ts';

/** A filter and its own Envoy, running. */
export interface Contender {
  readonly name: ContenderName;
  /** Sends a slice of load; returns its results and its cost. */
  measure(options: Omit<LoadOptions, 'port' | 'api'>): Promise<Slice>;
  /** Resident bytes, now. */
  bytes(): PerProcess;
  stop(): Promise<void>;
}

/** A figure of both processes; 0 for a filter that is not there. */
export interface PerProcess {
  readonly envoy: number;
  readonly filter: number;
}

export interface Slice extends LoadReport {
  readonly cpuSeconds: PerProcess;
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
  return startTelling('upstream', loadCore, process.execPath, [join(here, 'upstream.ts')]);
}

/**
 * Starts a filter and, with the shipped configuration, an Envoy in front of it: those of the built tree at `root`. Throws when
 * `noop-go` is wanted and there is no Go.
 */
export async function startContender(name: ContenderName, upstreamPort: number, root = ownRoot): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const filter = await startFilter(name, root);
  const api = name === 'service' ? 'responses' : 'chat';
  const configOf = (port: number, adminPort: number) => {
    const service = at(filter?.port ?? upstreamPort);
    const places = { listen: at(port), admin: at(adminPort), service, upstream: at(upstreamPort) };
    const config = placeEnvoy(readFileSync(join(root, 'envoy/envoy.yaml'), 'utf8'), places);
    if (filter === null) bypassFilter(config);
    return config;
  };
  const { envoy, port } = await startEnvoy(folder, configOf, api);
  const both = (figureOf: (pid: number) => number): PerProcess => ({
    envoy: figureOf(envoy.pid),
    filter: filter === null ? 0 : figureOf(filter.child.pid),
  });

  return {
    name,
    async measure(options) {
      const before = both(cpuSeconds);
      const report = await runLoad({ ...options, port, api });
      const after = both(cpuSeconds);
      const cpu = { envoy: after.envoy - before.envoy, filter: after.filter - before.filter };
      return { ...report, cpuSeconds: cpu };
    },
    bytes: () => both(residentBytes),
    async stop() {
      await envoy.stop();
      await filter?.child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts the filter of that contender, without an Envoy; null for the one that has none. */
export async function startFilter(name: ContenderName, root = ownRoot): Promise<Started | null> {
  switch (name) {
    case 'envoy':
      return null;
    case 'noop-go':
      return startTelling(name, measuredCore, buildGoNoop());
    case 'noop':
      return startTelling(name, measuredCore, process.execPath, [join(here, 'noop.ts')]);
    case 'service':
      return startService(root);
  }
}

/** Path of the built `noop-go`. Go compiles only what has changed. */
function buildGoNoop(): string {
  const binary = join(ownRoot, '.cache/bench/noop-go');
  const args = ['build', '-o', binary, '.'];
  const { status, error } = spawnSync('go', args, { cwd: join(here, 'noop-go'), stdio: ['ignore', 2, 2] });
  if (status !== 0)
    throw new Error(`bench/noop-go could not be built (https://go.dev/dl): ${error?.message ?? status}`);
  return binary;
}

/** A plain proxy: no route switches the filter on. */
function bypassFilter(config: EnvoyConfig): void {
  for (const { filters } of config.static_resources.listeners[0].filter_chains)
    for (const { typed_config } of filters)
      for (const { routes } of typed_config.route_config.virtual_hosts)
        for (const route of routes) delete route.typed_per_filter_config;
}

/** Starts Envoy and waits until it serves. If another process takes one of its ports meanwhile, Envoy exits and is started with others. */
async function startEnvoy(
  folder: string,
  configOf: (port: number, adminPort: number) => EnvoyConfig,
  api: LoadOptions['api'],
): Promise<{ readonly envoy: Child; readonly port: number }> {
  const file = join(folder, 'envoy.json');
  const output: string[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = await findFreePort();
    writeFileSync(file, JSON.stringify(configOf(port, await findFreePort())));
    const args = ['-c', file, '--concurrency', '1', '--disable-hot-restart', '-l', 'error'];
    const envoy = startPinned('envoy', measuredCore, findEnvoy(process.env).path, args, (line) => {
      if (output.length < 20) output.push(line);
    });
    const gone = new AbortController();
    void envoy.ended.then(() => gone.abort());
    try {
      await waitUntilListening(port, AbortSignal.any([gone.signal, AbortSignal.timeout(30_000)]));
      await untilServing({ port, api }, gone.signal);
      return { envoy, port };
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  }
  throw new Error(`Envoy does not start: ${output.join('\n')}`);
}

interface Started {
  readonly port: number;
  readonly child: Child;
}

/** Starts a program that prints its port. */
async function startTelling(
  name: string,
  core: string,
  command: string,
  args: readonly string[] = [],
): Promise<Started> {
  let tell: (port: number) => void = () => {};
  const told = new Promise<number>((resolve) => {
    tell = resolve;
  });
  const child = startPinned(name, core, command, args, (line) => tell(Number(line)));
  return { port: await Promise.race([told, diedOf(child)]), child };
}

/** Starts the built service of the tree at `root`. */
export async function startService(root: string): Promise<Started> {
  const port = await findFreePort();
  const environment = { ...process.env, EXTPROC_PORT: String(port) };
  const child = startPinned('service', measuredCore, join(root, 'bench/contender.sh'), [], () => {}, environment);
  await Promise.race([waitUntilListening(port, AbortSignal.timeout(30_000)), diedOf(child)]);
  return { port, child };
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

/** Runs `load.ts` to its end: the JSON of its last line. */
async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const lines: string[] = [];
  const args = [join(here, 'load.ts'), JSON.stringify(options)];
  const load = startPinned('load', loadCore, process.execPath, args, (line) => lines.push(line));
  const end = await load.ended;
  const report = lines.at(-1);
  if (end !== 'exit code 0' || report === undefined) throw new Error(`load.ts: ${end}\n${lines.join('\n')}`);
  return JSON.parse(report) as LoadReport;
}

function at(port: number) {
  return { host: '127.0.0.1', port };
}
