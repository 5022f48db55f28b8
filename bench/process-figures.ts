import { readdirSync, readFileSync } from 'node:fs';

/** What Linux counts in: `getconf CLK_TCK` is 100 on every platform Node runs on. */
const ticksPerSecond = 100;
const pageBytes = 4096;

/**
 * CPU seconds (user and system) that the living threads of a process and its descendants have used. Linux only: it reads
 * /proc. In ns where the kernel counts them (CONFIG_SCHED_INFO), else in ticks of 10 ms, which are 4 % of a slice of
 * the paced load.
 */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, member) => sum + (scheduledSeconds(member) ?? tickSeconds(member)), 0);
}

function scheduledSeconds(pid: number): number | null {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const ns = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]));
    return ns.reduce((sum, part) => sum + part, 0) / 1e9;
  } catch {
    return null; // no such file on this kernel, or a thread that ended just now
  }
}

function tickSeconds(pid: number): number {
  const fields = statOf(pid);
  return fields.length === 0 ? 0 : (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident bytes of a process and its descendants. */
export function residentBytes(pid: number): number {
  return family(pid).reduce((sum, member) => sum + Number(statOf(member)[21] ?? 0) * pageBytes, 0);
}

function family(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statOf(Number(name))[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const members = [pid];
  for (const member of members) members.push(...(children.get(member) ?? []));
  return members;
}

/** The fields of /proc/PID/stat from the state on; empty when the process is gone. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
