import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort, isListening } from '../mesh/ports.ts';
import { type Child, startChild } from '../mesh/processes.ts';
import { cpuSeconds, residentBytes } from './process-figures.ts';
import { median } from './table.ts';
import { measureYoung } from './young.ts';

/** The cost of one start of a process. */
interface Start {
  readonly ms: number;
  /** User and system time of all its threads. */
  readonly cpuMs: number;
}

/** One cold start of a tree's built service, next to bare Node (`node -e 0`). */
export interface StartSlice {
  readonly bare: Start;
  /** `main.js --print-config`: reads the configuration and exits. */
  readonly printConfig: Start;
  /** From the start of the process to the first connection that is accepted. */
  readonly listening: Start;
}

/** Trees of which a process has served since they were built. */
const served = new Set<string>();

/**
 * Starts the built service of the tree at `root` cold, after one that has served: what that one left of the code cache
 * counts. Rejects when it does not start.
 */
export async function measureStart(root: string): Promise<StartSlice> {
  if (!served.has(root)) await measureYoung(root);
  served.add(root);
  const printConfig = timed([join(root, 'dist/main.js'), '--print-config']);
  const { child, ...listening } = await startListening(root);
  await child.stop();
  return { bare: measureBare(), printConfig, listening };
}

function measureBare(): Start {
  const runs = Array.from({ length: 3 }, () => timed(['-e', '0']));
  return { ms: median(runs.map(({ ms }) => ms)), cpuMs: median(runs.map(({ cpuMs }) => cpuMs)) };
}

/** Resident MB of an idle service that has just started listening; and of a Node that only waits. */
export async function measureIdle(root: string): Promise<{ readonly serviceMb: number; readonly bareMb: number }> {
  const { child } = await startListening(root);
  const bare = startChild('bare', process.execPath, ['-e', 'setInterval(() => {}, 1e9)']);
  await sleep(1_500);
  const [serviceMb, bareMb] = [child, bare].map(({ pid }) => residentBytes(pid) / 1e6) as [number, number];
  await Promise.all([child.stop(), bare.stop()]);
  return { serviceMb, bareMb };
}

/** Runs Node to its end. The shell's `time` reads what the kernel has counted for the ended process, to the millisecond. */
function timed(args: readonly string[]): Start {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" > /dev/null';
  const { stderr } = spawnSync('bash', ['-c', script, 'bash', process.execPath, ...args], { encoding: 'utf8' });
  const figures = /^([\d.]+) ([\d.]+) ([\d.]+)$/m.exec(stderr)?.slice(1).map(Number);
  const [real = Number.NaN, user = Number.NaN, system = Number.NaN] = figures ?? [];
  if (figures === undefined) throw new Error(`node ${args.join(' ')} could not be timed: ${stderr}`);
  return { ms: real * 1000, cpuMs: (user + system) * 1000 };
}

async function startListening(root: string): Promise<Start & { readonly child: Child }> {
  const port = await findFreePort();
  const begun = performance.now();
  const lines: string[] = [];
  const child = startChild('service', join(root, 'bench/contender.sh'), [], {
    environment: { ...process.env, EXTPROC_PORT: String(port), DRAIN_DELAY_MS: '0' },
    onLine: (line) => lines.push(line),
  });
  let ended = false;
  void child.ended.then(() => {
    ended = true;
  });
  while (!(await isListening({ host: '127.0.0.1', port }))) {
    if (ended) throw new Error(`The service did not start: ${lines.join('\n')}`);
    await sleep(2);
  }
  return { ms: performance.now() - begun, cpuMs: cpuSeconds(child.pid) * 1000, child };
}
