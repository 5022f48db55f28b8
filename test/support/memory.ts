import { spawnSync } from 'node:child_process';

/** Resident memory of a process in MiB; 0 when it is gone. */
export function residentMiB(pid: number): number {
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Math.round(Number(stdout) / 1024);
}

/** Looks at processes' memory every 100 ms until stopped; returns the highest figure of each. */
export function watchMemory<Name extends string>(pids: Readonly<Record<Name, number>>): () => Record<Name, number> {
  const highest = {} as Record<Name, number>;
  const look = () => {
    for (const [name, pid] of Object.entries<number>(pids))
      highest[name as Name] = Math.max(highest[name as Name] ?? 0, residentMiB(pid));
  };
  look();
  const timer = setInterval(look, 100);
  return () => {
    clearInterval(timer);
    look();
    return highest;
  };
}
