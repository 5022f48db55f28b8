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
/** How often an idle process is looked at. */
const lookMs = 5000;
/** What is still there then is in use. */
const mostLooks = 4;
/** A process that has so much more than after its start has something to give back. */
const spareBytes = 8 * 1024 * 1024;

/**
 * Gives back what a start leaves behind, a sixth of an idle service's memory, and later what a load left behind: V8 would
 * collect it only under the next load. It takes some 40 ms, and is left out where `isIdle` says that there is something to do.
 */
export function releaseWhenIdle(isIdle: () => boolean): void {
  let least = Number.POSITIVE_INFINITY;
  const release = () => {
    // What V8 does before it runs out of memory: it shrinks both generations and gives their pages back.
    takeCollector()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    least = Math.min(least, process.memoryUsage.rss());
  };
  setTimeout(() => {
    if (isIdle()) release();
    /** How often it was looked at since there was something to do. */
    let looks = 0;
    setInterval(() => {
      looks = isIdle() ? looks + 1 : 0;
      const isWorthIt = looks > 1 && looks <= mostLooks && process.memoryUsage.rss() > least + spareBytes;
      if (isWorthIt) release();
    }, lookMs).unref();
  }, startEndsMs).unref();
}
