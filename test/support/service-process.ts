import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, startChild } from '../../mesh/processes.ts';
import { serviceMain } from './service-main.ts';

export type LogLine = Readonly<Record<string, unknown>>;

/** Adds a line of that process's output to `log` if it is one of the log. SIGKILL cuts the line that is being written. */
export function readLogLine(line: string, child: Child, log: LogLine[]): void {
  if (!line.startsWith('{')) return;
  try {
    log.push(JSON.parse(line) as LogLine);
  } catch (error) {
    if (!child.stopped) throw error;
  }
}

/** The service as a separate process, on ports that the system chose. */
export interface ServiceProcess {
  readonly child: Child;
  readonly log: readonly LogLine[];
  /** Addresses that gRPC listens on, in the order of the log. */
  readonly listen: readonly string[];
  /** Process ids of its workers. */
  workers(): number[];
  /** Waits for the line that satisfies the test. */
  logged(wanted: (line: LogLine) => boolean): Promise<LogLine>;
  get(path: string): Promise<Response>;
  /** A figure of the metrics, summed over the labels that are not given. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** SIGKILL, if it still runs. */
  remove(): Promise<void>;
}

/**
 * Resolves when each of its workers listens; rejects with the output when the process exits before. Starts the build of
 * this run, or another `program`; `wrap` may wrap the command in another.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>>,
  {
    nodeOptions = [] as readonly string[],
    program = serviceMain,
    wrap = (command: string, args: readonly string[]): readonly [string, readonly string[]] => [command, args],
  } = {},
): Promise<ServiceProcess> {
  const { main, environment: ofMain } = program;
  const log: LogLine[] = [];
  const output: string[] = [];
  const child = startChild('service', ...wrap(process.execPath, [...nodeOptions, main]), {
    environment: {
      ...process.env,
      ...ofMain,
      LISTEN: '127.0.0.1:0',
      ADMIN_LISTEN: '127.0.0.1:0',
      DRAIN_DELAY_MS: '0',
      ...environment,
    },
    onLine(line) {
      output.push(line);
      readLogLine(line, child, log);
    },
  });
  let end: string | null = null;
  void child.ended.then((how) => {
    end = how;
  });

  async function logged(wanted: (line: LogLine) => boolean): Promise<LogLine> {
    for (const until = Date.now() + 240_000; ; await sleep(20)) {
      const line = log.find(wanted);
      if (line !== undefined) return line;
      if (end !== null || Date.now() > until)
        throw new Error(`The service ${end === null ? 'never said so' : `ended (${end})`}:\n${output.join('\n')}`);
    }
  }
  const listening = (line: LogLine) => line['msg'] === 'listening';
  const count = Number(environment['WORKERS'] ?? 1);
  await logged(() => log.filter(listening).length >= count);
  const { admin } = await logged((line) => typeof line['admin'] === 'string');
  const get = (path: string) => fetch(`http://${admin}${path}`);

  return {
    child,
    log,
    listen: log.filter(listening).flatMap((line) => line['listen'] as string[]),
    workers: () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number),
    logged,
    get,
    async metric(name, labels = {}) {
      const lines = (await (await get('/metrics')).text()).matchAll(
        new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'),
      );
      return [...lines]
        .filter(([, given = '']) => Object.entries(labels).every(([key, value]) => given.includes(`${key}="${value}"`)))
        .reduce((sum, [, , value]) => sum + Number(value), 0);
    },
    async remove() {
      child.kill('SIGKILL');
      await child.ended;
    },
  };
}

/** For `wrap`: the service as a process that may have so many files and connections open. */
export function withDescriptors(most: number) {
  return (command: string, args: readonly string[]): readonly [string, readonly string[]] => [
    'sh',
    ['-c', `ulimit -n ${most}; exec "$@"`, 'sh', command, ...args],
  ];
}
