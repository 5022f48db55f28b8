import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What relieving memory needs to know of the JavaScript heap, and may do with it. */
export type HeapGauge = Pick<MeasuredHeap, 'limit' | 'live' | 'pages' | 'collect'>;

export interface ResidentMemory {
  /** A process that takes more bytes is killed. */
  readonly limit: number;
  readonly bytes: () => number;
}

/** The pauses before a forced collection: `factor` times what the last one took (for `give_back`, the last `give_back`), at least `leastMs`. */
const pauses = {
  /** Takes a twentieth of the time at most. */
  affordable: { factor: 20, leastMs: 0 },
  /** Leaves half of the time to those who are served. */
  urgent: { factor: 1, leastMs: 100 },
  /** Frees the pages of what was collected, too, in several collections: else calls would be cut for pages that are empty. */
  give_back: { factor: 5, leastMs: 0 },
};
export type CollectionKind = keyof typeof pauses;

/** V8's default semi-space of the young generation in Node 24, which has room for three of them. */
const defaultSemiSpaceMib = 64;
const semiSpaceCount = 3;
const MiB = 1024 * 1024;

export interface CollectorOptions {
  /** Makes a full collection; `givesBack` frees the pages of what it freed, too. */
  readonly collect: (givesBack: boolean) => void;
  readonly used: () => number;
  readonly pages: () => number;
  readonly now: () => number;
}

/** The collection that V8 makes before it runs out of memory. After any other, V8 keeps the empty pages in a pool (`pooled` in `--trace-gc`). */
const lastResort = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

/**
 * Creates the gauge of this process's heap, of which `limit` bytes may be live. Only a full collection shows what is live, and V8 makes none
 * in a process that refuses all requests: `collect` makes one, so that garbage is not taken for live bytes for minutes.
 */
export function createHeapGauge(limit: number, take = takeCollector): HeapGauge {
  let collector: NodeJS.GCFunction | undefined;
  const collect = (givesBack: boolean) => {
    collector ??= take();
    if (!givesBack) return collector();
    collector(lastResort);
    collector = undefined; // an idle process does not keep its megabyte
  };
  const used = () => getHeapStatistics().used_heap_size;
  const pages = () => getHeapStatistics().total_heap_size;
  const gauge = new MeasuredHeap(limit, { collect, used, pages, now: () => performance.now() });
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
  /** A process with more live bytes dies. */
  readonly limit: number;
  /** Live bytes as of the last full collection; what has become garbage since is still counted. */
  live = 0;
  readonly #options: CollectorOptions;
  #measuredAt = Number.NEGATIVE_INFINITY;
  readonly #allowedAt: Record<CollectionKind, number> = { affordable: 0, urgent: 0, give_back: 0 };

  constructor(limit: number, options: CollectorOptions) {
    this.limit = limit;
    this.#options = options;
  }

  /** Takes what is on the heap now as live, unless that has been measured since: Node reports a collection late, when more is garbage. */
  collected(endedAt: number): void {
    if (endedAt > this.#measuredAt) this.#measure();
  }

  /** Bytes of the pages that the heap has now. Those that a collection has emptied are no longer among them, and yet in the process. */
  pages(): number {
    return this.#options.pages();
  }

  /** Makes a full collection now, unless it is too soon for one of this kind. Returns whether it did. */
  collect(kind: CollectionKind): boolean {
    const { collect, now } = this.#options;
    const startedAt = now();
    if (startedAt < this.#allowedAt[kind]) return false;
    collect(kind === 'give_back');
    this.#measure();
    const endedAt = now();
    for (const delayed of ['affordable', 'urgent', kind] as const) {
      const { factor, leastMs } = pauses[delayed];
      this.#allowedAt[delayed] = endedAt + Math.max(leastMs, factor * (endedAt - startedAt));
    }
    return true;
  }

  #measure(): void {
    this.live = this.#options.used();
    this.#measuredAt = this.#options.now();
  }
}

/** V8's full garbage collection, which JavaScript can call only with a flag: it is set for a moment. The function keeps a context of 1 MB alive. */
export function takeCollector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/** Returns the bytes of the heap that may be live: V8's limit without the young generation, which is sized by `--max-semi-space-size`. */
export function heapLimit(flags: readonly string[], total = getHeapStatistics().heap_size_limit): number {
  const flag = flags.findLast((text) => /^--max[-_]semi[-_]space[-_]size=\d+$/.test(text));
  const semiSpace = flag === undefined ? defaultSemiSpaceMib : Number(flag.split('=')[1]);
  return Math.max(total - semiSpaceCount * semiSpace * MiB, total / 3);
}
