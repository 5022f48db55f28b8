import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Contender, startContender, startUpstream } from './contenders.ts';
import { costOf, scenarios, warmUp } from './envoy-scenarios.ts';
import { onlyHeaders, withoutFilter } from './floor.ts';
import { type Cell, median } from './table.ts';

/** Which system calls of Envoy's do what; an Envoy of another build may use others of the same kind. */
const kinds = {
  write: ['sendto', 'writev', 'sendmsg'],
  read: ['readv', 'recvfrom', 'recvmsg'],
  wait: ['epoll_wait'],
} as const;
type Kind = keyof typeof kinds;
const kindNames = Object.keys(kinds) as Kind[];

export const tokenHeadings = [
  'Envoy',
  'CPU µs a token',
  ...kindNames.map((kind) => `in the kernel: ${kind}`),
  'other',
  'Envoy’s own code',
  ...kindNames.map((kind) => `calls of ${kind} a token`),
];

const setups = [
  { name: 'no ext_proc: a plain proxy', options: { edit: withoutFilter } },
  { name: 'headers only', options: { edit: onlyHeaders } },
  { name: 'as shipped', options: {} },
];

/**
 * Where the CPU time of a token that arrives alone goes in Envoy, with the no-op behind it: samples of `perf record` in the
 * paced load, taken by the system call they fell in, and `perf stat`'s counts of the calls. Null where there is no perf, or
 * it may not look at other processes. Medians of `rounds`.
 */
export async function runEnvoyToken(rounds: number): Promise<Cell[][] | null> {
  const folder = mkdtempSync(join(tmpdir(), 'perf-'));
  const upstream = await startUpstream();
  const running: { readonly name: string; readonly contender: Contender; readonly figures: number[][] }[] = [];
  try {
    if (spawnSync('perf', ['record', '-e', 'cpu-clock', '-o', join(folder, 'try'), 'true']).status !== 0) return null;
    for (const { name, options } of setups) {
      const contender = await startContender('noop', upstream.port, options);
      running.push({ name, contender, figures: [] });
      await contender.measure({ ...warmUp, seconds: 1.5 });
    }
    for (let round = 0; round < rounds; round++)
      for (const { contender, figures } of running) {
        const { cost, shares } = await sampled(contender, join(folder, 'samples'));
        figures.push([cost, ...shares.map((share) => cost * share), ...(await counted(contender))]);
      }
  } finally {
    for (const { contender } of running) await contender.stop();
    await upstream.child.stop();
    rmSync(folder, { recursive: true });
  }
  return running.map(({ name, figures }) => [
    name,
    ...tokenHeadings.slice(1).map((_, column) => median(figures.map((row) => row[column] ?? Number.NaN))),
  ]);
}

const [paced] = scenarios;

/** What a token costs Envoy in µs; and the shares of that in each kind of system call, in others, and outside of them. */
async function sampled(contender: Contender, file: string): Promise<{ cost: number; shares: number[] }> {
  const args = ['record', '-e', 'cpu-clock', '-F', '4999', '-g', '-p', `${contender.envoyPid}`, '-o', file];
  const { result } = await during(args, () => pacedCost(contender));
  const report = [
    'report',
    '-i',
    file,
    '--children',
    '-g',
    'none',
    '--sort',
    'symbol',
    '--percent-limit',
    '0.05',
    '--stdio',
  ];
  const { stdout } = spawnSync('perf', report, { encoding: 'utf8', maxBuffer: 1 << 26 });
  const shareOf = (symbol: string) =>
    Number(new RegExp(`^ *([\\d.]+)% +[\\d.]+% +\\[k\\] ${symbol}\\b`, 'm').exec(stdout)?.[1] ?? 0) / 100;
  const inKernel = shareOf('do_syscall_64');
  const byKind = kindNames.map((kind) => kinds[kind].reduce((sum, name) => sum + shareOf(symbolOf(name)), 0));
  const other = inKernel - byKind.reduce((sum, share) => sum + share, 0);
  return { cost: result.cost, shares: [...byKind, other, 1 - inKernel] };
}

/** readv has no function of its own that is always there. */
function symbolOf(call: string): string {
  return call === 'readv' || call === 'writev' ? `do_${call}` : `__x64_sys_${call}`;
}

/** How many system calls of each kind Envoy makes for a token; NaN where the kernel's tracepoints are not to be had. */
async function counted(contender: Contender): Promise<number[]> {
  const names = kindNames.flatMap((kind) => kinds[kind]);
  const events = names.map((name) => `syscalls:sys_enter_${name}`).join(',');
  const args = ['stat', '-x', ',', '-e', events, '-p', `${contender.envoyPid}`];
  const { result, stderr } = await during(args, () => pacedCost(contender));
  const countOf = (name: string) => Number(new RegExp(`^(\\d+),,syscalls:sys_enter_${name},`, 'm').exec(stderr)?.[1]);
  return kindNames.map((kind) => kinds[kind].reduce((sum, name) => sum + countOf(name), 0) / result.tokens);
}

async function pacedCost(contender: Contender): Promise<{ cost: number; tokens: number }> {
  const slice = await contender.measure(paced.load);
  if (slice.failures.length > 0) throw new Error(`${paced.name}: ${slice.failures[0]}`);
  return { cost: costOf(paced, slice, 'envoy'), tokens: slice.tokens };
}

/** Runs perf for as long as the work takes. */
async function during<Result>(args: readonly string[], work: () => Promise<Result>) {
  const perf = spawn('perf', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  perf.stderr.on('data', (bytes) => {
    stderr += String(bytes);
  });
  const ended = once(perf, 'close');
  await sleep(500); // until it has attached
  const result = await work();
  perf.kill('SIGINT');
  await ended;
  return { result, stderr };
}
