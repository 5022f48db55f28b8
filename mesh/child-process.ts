import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A process that the mesh starts and stops. */
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
  /** A process that still runs so many milliseconds after SIGTERM gets SIGKILL. */
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
