import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The state of the JavaScript heap. */
export type HeapGauge = Pick<MeasuredHeap, 'limit' | 'live' | 'collect' | 'giveBack'>;

/** The memory of this process, within the machine's or its container's. */
export interface ResidentMemory {
  /** Beyond it the process is killed. */
  readonly limit: number;
  readonly bytes: () => number;
}

/** Maximum share of the time spent in forced collections that are not urgent. */
const maxCollectionTimeShare = 1 / 20;
/** Maximum share of the time spent in collections that give pages back: without them calls would be failed for pages that are empty. */
const maxGiveBackTimeShare = 1 / 5;
/** Minimum time between two urgent ones. */
const minUrgentIntervalMs = 100;
/** V8's default semi-space of the young generation in Node 24, which has room for three of them. */
const defaultSemiSpaceMib = 64;
const semiSpaceCount = 3;
const MiB = 1024 * 1024;

export interface CollectorOptions {
  /** Makes a full collection; `givesBack` frees the pages of what it freed, too. */
  readonly collect: (givesBack: boolean) => void;
  /** Bytes on the heap now. */
  readonly used: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

/**
 * The heap of this process, of which `limit` bytes may be live. Only a full collection shows what is live; until then
 * most of the heap may be garbage. V8 makes one when memory is allocated, so a process that refuses all requests would
 * make none for minutes and go on refusing because of garbage; `collect` makes one then.
 */
export function createHeapGauge(limit: number, take = takeCollector): HeapGauge {
  /** Most processes never need it. */
  let collector: NodeJS.GCFunction | undefined;
  const collect = (givesBack: boolean) => {
    collector ??= take();
    if (givesBack) collectAndGiveBack(collector);
    else collector();
  };
  const used = () => getHeapStatistics().used_heap_size;
  const gauge = new MeasuredHeap(limit, { collect, used, now: () => performance.now() });
  new PerformanceObserver((list) => {
    // The declarations know `detail` only for marks and measures.
    const entries = list.getEntries() as (PerformanceEntry & { readonly detail?: { readonly kind?: number } })[];
    for (const { detail, startTime, duration } of entries)
      if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) gauge.collected(startTime + duration);
  }).observe({ entryTypes: ['gc'] });
  return gauge;
}

/** A gauge that is notified of collections (`collected`), and forces some. */
export class MeasuredHeap {
  /** Maximum live bytes; beyond it the process dies. */
  readonly limit: number;
  /** Live bytes as of the last full collection; what has become garbage since is still counted. */
  live = 0;
  readonly #options: CollectorOptions;
  #measuredAt = Number.NEGATIVE_INFINITY;
  /** Before this time only an urgent collection is forced. */
  #affordableAt = 0;
  /** Before this time none is forced. */
  #urgentAt = 0;
  /** Before this time nothing is given back. */
  #giveBackAt = 0;

  constructor(limit: number, options: CollectorOptions) {
    this.limit = limit;
    this.#options = options;
  }

  /**
   * A full collection ended then: what is on the heap now is taken as live. Node tells of it later, when what calls held that
   * were failed since is garbage: one that has been measured is not measured again.
   */
  collected(endedAt: number): void {
    if (endedAt > this.#measuredAt) this.#measure();
  }

  /**
   * Makes a full collection now, unless the last one is too recent or, if not urgent (most of what was live is likely garbage
   * now), it costs too much. Returns whether it did.
   */
  collect(urgent: boolean): boolean {
    const at = this.#options.now();
    if (at < (urgent ? this.#urgentAt : this.#affordableAt)) return false;
    this.#collect();
    return true;
  }

  /**
   * Gives the pages back that V8 keeps of what it has collected, unless the last time is too recent for its cost: it takes
   * several collections. Returns whether it did.
   */
  giveBack(): boolean {
    const startedAt = this.#options.now();
    if (startedAt < this.#giveBackAt) return false;
    this.#collect(true);
    const endedAt = this.#options.now();
    this.#giveBackAt = endedAt + (endedAt - startedAt) / maxGiveBackTimeShare;
    return true;
  }

  #measure(): void {
    this.live = this.#options.used();
    this.#measuredAt = this.#options.now();
  }

  #collect(givesBack = false): void {
    const { collect, now } = this.#options;
    const startedAt = now();
    collect(givesBack);
    this.#measure();
    const took = now() - startedAt;
    this.#affordableAt = now() + took / maxCollectionTimeShare;
    // Half of the time is left to those who are served.
    this.#urgentAt = now() + Math.max(minUrgentIntervalMs, took);
  }
}

/**
 * Makes the collection that V8 makes before it runs out of memory: it shrinks both generations and gives their pages back. Any other
 * puts the pages that become free into a pool, where they stay in the process (`pooled` in `--trace-gc`).
 */
export function collectAndGiveBack(collect: NodeJS.GCFunction): void {
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * V8's full garbage collection, which JavaScript can call only with a flag: it is set for a moment. The function keeps
 * a context of a megabyte alive: do not hold on to it after a single collection.
 */
export function takeCollector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/**
 * Bytes that may be live on the heap: V8's limit without the young generation, which `--max-semi-space-size` sizes and
 * where nothing lives for long. `flags` are Node's.
 */
export function heapLimit(flags: readonly string[], total = getHeapStatistics().heap_size_limit): number {
  const flag = flags.findLast((text) => /^--max[-_]semi[-_]space[-_]size=\d+$/.test(text));
  const semiSpace = flag === undefined ? defaultSemiSpaceMib : Number(flag.split('=')[1]);
  return Math.max(total - semiSpaceCount * semiSpace * MiB, total / 3);
}
