import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { EnvoyBinary } from './envoy-binary.ts';
import type { EnvoyConfig } from './envoy-config.ts';

const root = join(import.meta.dirname, '..');
/** The service's program file. The npm package has only the bundle, a clone only the sources. */
const program = ['src/main.ts', 'dist/main.js'].map((file) => join(root, file)).find(existsSync) ?? '';

export const shippedEnvoyConfig = join(root, 'envoy/envoy.yaml');

export const stopAtOnce = { DRAIN_DELAY_MS: '0', DRAIN_TIMEOUT_MS: '1000' } as const;

/** The Node flags that the Dockerfile sets as well. docs/operating.md explains them under “The garbage collector”. */
export const asTheImage = ['--single-threaded-gc', '--max-semi-space-size=16', '--initial-heap-size=96'];

/** Starts the service as in production except for the addresses. `environment` overrides its variables; `main` is its program. */
export function startService(environment: NodeJS.ProcessEnv, onLine: (line: string) => void, main = program): Child {
  const own = { DRAIN_DELAY_MS: '0', ...process.env, ...environment };
  return startChild('service', process.execPath, [...asTheImage, main], { environment: own, onLine });
}

export interface EnvoyOptions {
  /** Folder for `envoy.json`, which may contain the upstream's key: readable only by this user. */
  readonly folder: string;
  readonly concurrency: number;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug';
  readonly onLine: (line: string) => void;
}

export function startEnvoy(binary: EnvoyBinary, config: EnvoyConfig, options: EnvoyOptions): Child {
  const { folder, concurrency, logLevel, onLine } = options;
  const file = join(folder, 'envoy.json');
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  // Hot restart shares memory between Envoys of one machine; several run side by side here.
  // Access log lines wait 10 s by default.
  const modes = '--disable-hot-restart --file-flush-interval-msec 100'.split(' ');
  const args = ['-c', file, '--concurrency', `${concurrency}`, '-l', logLevel, ...modes];
  return startChild('envoy', binary.path, args, { onLine });
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves, never rejects, when the process has exited, with the reason (`exit code 1`, `signal SIGKILL`). */
  readonly ended: Promise<string>;
  readonly stopped: boolean;
  /** Sends SIGTERM, and SIGKILL after the grace period. Resolves when the process has exited. */
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

export interface ChildOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /** The mesh calls this for each line that the process writes to standard output or error. */
  readonly onLine?: (line: string) => void;
  /** A process that still runs this many milliseconds after SIGTERM gets SIGKILL. */
  readonly graceMs?: number;
}

/** Starts a program in its own process group, so that a terminal's Ctrl-C reaches only the mesh, which stops its children in order. */
export function startChild(
  name: string,
  command: string,
  args: readonly string[],
  { environment = process.env, onLine = () => {}, graceMs = 3000 }: ChildOptions = {},
): Child {
  const child = spawn(command, args, { env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', onLine);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  let stopped = false;
  const kill = (signal: NodeJS.Signals): void => {
    stopped = true;
    child.kill(signal);
  };
  return {
    name,
    pid: child.pid ?? -1,
    ended,
    get stopped() {
      return stopped;
    },
    kill,
    async stop() {
      kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(force);
    },
  };
}

/**
 * Starts a process that kills the children if this one is killed with SIGKILL: it reads from a pipe that closes when
 * this process exits. Returns a function that cancels it, to be called once the children have exited.
 */
export function startWatchdog(children: readonly Child[]): () => void {
  const pids = children.map((child) => String(child.pid));
  const script = 'cat > /dev/null; kill -KILL "$@" 2> /dev/null';
  const watchdog = spawn('sh', ['-c', script, 'mesh-watchdog', ...pids], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog.on('error', () => {}); // no `sh`: the mesh works without it
  watchdog.unref();
  return () => watchdog.kill('SIGKILL');
}
