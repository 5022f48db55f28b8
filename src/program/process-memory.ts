import { totalmem } from 'node:os';
import { takeCollector } from '../memory/collector.ts';
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
    // What V8 does before it runs out of memory: it shrinks both generations and gives their pages back.
    takeCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, startEndsMs).unref();
}
