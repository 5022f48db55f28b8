import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { heapLimit } from '../server/heap.ts';

/** The memory of this process in bytes: the heap that V8 was given, and what the machine or container has in all. */
export function memoryOfProcess(): { readonly heap: number; readonly total: number } {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return {
    heap: heapLimit(flags),
    total: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}

/** By then what starts is over, and what was compiled for it. */
const startEndsMs = 1000;

/**
 * Gives back, once, what a start leaves behind: a sixth of an idle service's memory, which V8 would collect only under load.
 * It takes some 40 ms, and is left out where `isIdle` says that there is something to do.
 */
export function releaseAfterStart(isIdle: () => boolean): void {
  setTimeout(() => {
    if (!isIdle()) return;
    // V8 collects on request only where a flag says so.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as NodeJS.GCFunction;
    setFlagsFromString('--no-expose-gc');
    // What V8 does before it runs out of memory: it shrinks both generations and gives their pages back.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, startEndsMs).unref();
}
