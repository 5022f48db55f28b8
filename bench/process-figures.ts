import { readdirSync, readFileSync } from 'node:fs';

/** What Linux counts in: `getconf CLK_TCK` is 100 on every platform Node runs on. */
const ticksPerSecond = 100;
const pageBytes = 4096;

/** CPU seconds (user and system) a process and its descendants have used. Linux only: it reads /proc. */
export function cpuSeconds(pid: number): number {
  let ticks = 0;
  for (const member of family(pid)) {
    const fields = statOf(member);
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / ticksPerSecond;
}

/** Resident bytes of a process and its descendants. */
export function residentBytes(pid: number): number {
  return family(pid).reduce((sum, member) => sum + Number(statOf(member)[21]) * pageBytes, 0);
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
