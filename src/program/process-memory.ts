import { totalmem } from 'node:os';
import { collectAndGiveBack, takeCollector } from '../memory/collector.ts';
import { heapLimit } from '../server/heap.ts';

/** The memory of this process in bytes: the heap that V8 was given, and what the machine or container has in all. */
export function memoryOfProcess(): { readonly heap: number; readonly total: number } {
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return {
    heap: heapLimit(flags),
    total: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  };
}

/** By then start-up is over, and its compiled code can go. */
const startEndsMs = 1000;
/** How often an idle process is checked. */
const lookMs = 5000;
/** What remains then is in use. */
const mostLooks = 4;
/** Growth since the start from which it is worth giving memory back. */
const spareBytes = 8 * 1024 * 1024;

/**
 * Gives back what a start leaves behind, a sixth of an idle service's memory, and later what a load left behind: V8
 * would collect it only under the next load. It takes some 40 ms, and is skipped when `isIdle` returns false.
 */
export function releaseWhenIdle(isIdle: () => boolean, everyMs = lookMs): void {
  /** Null until it could be measured: a process may be under load from its first second on. */
  let least: number | null = null;
  const release = () => {
    collectAndGiveBack(takeCollector());
    least = Math.min(least ?? Number.POSITIVE_INFINITY, process.memoryUsage.rss());
  };
  setTimeout(() => {
    if (isIdle()) release();
    /** Checks since the process was last busy. */
    let looks = 0;
    setInterval(() => {
      looks = isIdle() ? looks + 1 : 0;
      if (looks <= 1 || looks > mostLooks) return;
      if (least === null || process.memoryUsage.rss() > least + spareBytes) release();
    }, everyMs).unref();
  }, startEndsMs).unref();
}
