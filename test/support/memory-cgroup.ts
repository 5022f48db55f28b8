import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A memory cgroup as a container has one: its processes are killed when they exceed the limit. */
export interface MemoryCgroup {
  /** The command that runs `command` inside it. */
  run(command: string, args: readonly string[]): readonly [string, readonly string[]];
  remove(): void;
}

const root = '/sys/fs/cgroup';

/** Makes one, under the machine's version of cgroups. Throws if this process may not: it needs root. */
export function createMemoryCgroup(limitBytes: number): MemoryCgroup {
  const isV2 = existsSync(join(root, 'cgroup.controllers'));
  // In version 2 a group with processes has no children with limits, so it is created at the top.
  const parent = isV2 ? root : join(root, 'memory', ownGroup());
  const path = join(parent, `responses-extproc-${process.pid}-${Date.now()}`);
  mkdirSync(path);
  for (const [file, value] of isV2
    ? [
        ['memory.max', limitBytes],
        ['memory.swap.max', 0],
      ]
    : [
        ['memory.limit_in_bytes', limitBytes],
        ['memory.memsw.limit_in_bytes', limitBytes],
      ]) {
    const at = join(path, String(file));
    // Without swap accounting the file does not exist, and without swap it is not needed.
    if (existsSync(at)) writeFileSync(at, String(value));
  }
  return {
    run: (command, args) => [
      '/bin/sh',
      ['-c', 'echo $$ > "$0" && exec "$@"', join(path, 'cgroup.procs'), command, ...args],
    ],
    remove: () => rmdirSync(path),
  };
}

/** The group of this process in the hierarchy of the memory controller: limits around it hold for its children too. */
function ownGroup(): string {
  const line = readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .find((text) => text.split(':')[1]?.split(',').includes('memory'));
  return line?.split(':')[2] ?? '';
}
