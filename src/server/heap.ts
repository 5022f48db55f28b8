import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { takeCollector } from '../memory/collector.ts';

/** What is known of the JavaScript heap. */
export interface HeapGauge {
  /** Bytes that may be live on the heap; when more are, the process dies. */
  readonly limit: number;
  /** Live bytes as of the last full collection; whatever became garbage since is still counted. */
  readonly live: number;
  /**
   * Asks for a new measurement, because requests are refused on this one. Returns whether one will be made; it comes
   * soon, not at once, and as often as its cost allows. With `urgent`, because most of what was live then is likely
   * garbage now, its cost does not matter.
   */
  refresh(urgent: boolean): boolean;
  /** Makes a full collection now, unless the last is too young or, where it is not urgent, costs too much. Whether it did. */
  collect(urgent: boolean): boolean;
}

/** What this process has of the machine's memory, or of its container's. */
export interface ResidentMemory {
  /** When it has more, the process is killed. */
  readonly limit: number;
  readonly bytes: () => number;
}

/** A measurement is at least this old before a collection of our own makes another. */
const minMeasurementAgeMs = 1_000;
/** Collections of our own that are not urgent may take this share of the time. */
const maxCollectionTimeShare = 1 / 20;
/** Between two of our own that are urgent. */
const minUrgentIntervalMs = 100;
/** V8's default semi-space of the young generation in Node 24, which has room for three of them. */
const defaultSemiSpaceMib = 64;
const semiSpaceCount = 3;
const MiB = 1024 * 1024;

export interface CollectorOptions {
  /** Makes a full collection. */
  readonly collect: () => void;
  /** Bytes on the heap now. */
  readonly used: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Runs a function soon, after what is being done. */
  readonly soon: (run: () => void) => void;
}

/**
 * The heap of this process, of which `limit` bytes may be live. Only a full collection tells what is live: before it, most of the heap may be garbage. V8
 * makes one when memory is allocated, so a process that refuses all requests would make none for minutes and go on
 * refusing because of garbage; `refresh` makes one then.
 */
export function createHeapGauge(limit: number): HeapGauge {
  const used = () => getHeapStatistics().used_heap_size;
  const gauge = new MeasuredHeap(limit, {
    collect: collectGarbage,
    used,
    now: () => performance.now(),
    soon: (run) => void setImmediate(run),
  });
  new PerformanceObserver((list) => {
    // The declarations know `detail` only for marks and measures.
    const entries = list.getEntries() as readonly { readonly detail?: { readonly kind?: number } }[];
    if (entries.some(({ detail }) => detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) gauge.measure();
  }).observe({ entryTypes: ['gc'] });
  return gauge;
}

/** A gauge that is told of collections (`measure`), and makes its own when asked to refresh. */
export class MeasuredHeap implements HeapGauge {
  readonly limit: number;
  readonly #options: CollectorOptions;
  #live = 0;
  #measuredAt = Number.NEGATIVE_INFINITY;
  /** Before this time only an urgent collection of our own is made. */
  #affordableAt = 0;
  /** Before this time none is. */
  #urgentAt = 0;
  #scheduled = false;

  constructor(limit: number, options: CollectorOptions) {
    this.limit = limit;
    this.#options = options;
  }

  get live(): number {
    return this.#live;
  }

  /** Takes what is on the heap now as live: to be called right after a full collection. */
  measure(): void {
    this.#live = this.#options.used();
    this.#measuredAt = this.#options.now();
  }

  refresh(urgent: boolean): boolean {
    const { soon } = this.#options;
    if (this.#scheduled || !this.#mayCollect(urgent)) return false;
    this.#scheduled = true;
    soon(() => {
      this.#scheduled = false;
      this.#collect();
    });
    return true;
  }

  collect(urgent: boolean): boolean {
    const at = this.#options.now();
    if (at < (urgent ? this.#urgentAt : this.#affordableAt)) return false;
    this.#collect();
    return true;
  }

  #mayCollect(urgent: boolean): boolean {
    const now = this.#options.now();
    return now >= this.#measuredAt + minMeasurementAgeMs && (urgent || now >= this.#affordableAt);
  }

  #collect(): void {
    const { collect, now } = this.#options;
    const startedAt = now();
    collect();
    this.measure();
    const took = now() - startedAt;
    this.#affordableAt = now() + took / maxCollectionTimeShare;
    this.#urgentAt = now() + minUrgentIntervalMs;
  }
}

let collector: NodeJS.GCFunction | undefined;

/** Most processes never need it. */
function collectGarbage(): void {
  collector ??= takeCollector();
  collector();
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
