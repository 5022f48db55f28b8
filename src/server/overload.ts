import { totalmem } from 'node:os';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config.ts';
import { ApiError } from '../schema/api-error.ts';

/** Why an exchange was turned away. */
export type OverloadReason = 'exchanges' | 'buffered_bytes' | 'memory';

export interface OverloadLimits {
  /** Exchanges at once; 0 for no limit. */
  readonly maxExchanges: number;
  /** Bytes of bodies held at once; 0 for no limit. */
  readonly maxBufferedBytes: number;
}

export interface OverloadGuard {
  /** A place for one more exchange, or what its client is told. */
  admit(): Admission | ApiError;
  readonly exchanges: number;
  readonly bufferedBytes: number;
}

export interface Admission {
  /**
   * Bytes of bodies the exchange holds from now on, those announced included. Gives what its client is told when that is
   * too much; the exchange then holds none.
   */
  reserve(bytes: number): ApiError | null;
  /** The exchange is over; more than once does no harm. */
  release(): void;
}

export interface HeapGauge {
  /** Bytes that may live on the JavaScript heap; at that point the process dies. */
  readonly limit: number;
  /** Bytes that survived the last full collection. */
  readonly live: number;
}

/**
 * JSON.parse takes up to 21 bytes of heap for one of the body (`[{},{},…`), and a body is parsed in one go: it may be a
 * 30th of the heap at most, without what the service needs for itself.
 */
const HEAP_BYTES_PER_BODY_BYTE = 22;
const LARGEST_SHARE_OF_HEAP = 1 / 30;
const HEAP_OF_THE_SERVICE = 32 * 1024 * 1024;
/** V8's limit includes the young generation, where nothing stays: three times 64 MiB in Node 24. */
const YOUNG_GENERATION = 192 * 1024 * 1024;
/** Bodies that wait lie outside the JavaScript heap, and are copied once or twice on the way. */
const BUFFERED_SHARE_OF_MEMORY = 1 / 4;
/** Nothing new begins while this much of the heap is in use for good. */
const BUSY_HEAP = 0.6;
const FULL_HEAP = 0.95;
const RETRY_AFTER_SECONDS = 2;

/** Counts what is under way in this process and says no before memory runs out. `refused` hears of each refusal. */
export function createOverloadGuard(
  { maxExchanges, maxBufferedBytes }: OverloadLimits,
  heap: HeapGauge,
  refused: (reason: OverloadReason) => void,
): OverloadGuard {
  let exchanges = 0;
  let bufferedBytes = 0;

  function refuse(reason: OverloadReason, why: string): ApiError {
    refused(reason);
    return new ApiError(`The gateway is overloaded: ${why}. Try again in ${RETRY_AFTER_SECONDS}s.`, {
      status: 503,
      type: 'server_error',
      code: 'server_overloaded',
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    });
  }

  return {
    admit() {
      if (maxExchanges > 0 && exchanges >= maxExchanges) return refuse('exchanges', 'too many requests at once');
      if (heap.live > heap.limit * BUSY_HEAP) return refuse('memory', 'memory is short');
      exchanges += 1;
      let held = 0;
      let left = false;
      return {
        reserve(bytes) {
          if (left || bytes === held) return null;
          const growing = bytes > held;
          bufferedBytes += bytes - held;
          held = bytes;
          if (!growing) return null;
          const tooMany = maxBufferedBytes > 0 && bufferedBytes > maxBufferedBytes;
          if (!tooMany && heap.live + bytes * HEAP_BYTES_PER_BODY_BYTE <= heap.limit * FULL_HEAP) return null;
          // Who is refused keeps nothing.
          bufferedBytes -= held;
          held = 0;
          return tooMany ? refuse('buffered_bytes', 'too many bytes are waiting') : refuse('memory', 'memory is short');
        },
        release() {
          if (left) return;
          left = true;
          exchanges -= 1;
          bufferedBytes -= held;
          held = 0;
        },
      };
    },
    get exchanges() {
      return exchanges;
    },
    get bufferedBytes() {
      return bufferedBytes;
    },
  };
}

/** The heap of this process. What is in use is read after full collections only: before one, most of it may be garbage. */
export function createHeapGauge(): HeapGauge {
  let live = 0;
  new PerformanceObserver((list) => {
    // The declarations know `detail` only for marks and measures.
    const entries = list.getEntries() as readonly { readonly detail?: { readonly kind?: number } }[];
    if (entries.some(({ detail }) => detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR))
      live = getHeapStatistics().used_heap_size;
  }).observe({ entryTypes: ['gc'] });
  return {
    limit: heapLimit(),
    get live() {
      return live;
    },
  };
}

/** Bytes that may live on the heap for long. */
function heapLimit(): number {
  const limit = getHeapStatistics().heap_size_limit;
  return Math.max(limit - YOUNG_GENERATION, limit / 3);
}

/** The configuration with those sizes lowered that this process could not honour; `lowered` says which, and why. */
export function fitToMemory(
  config: Config,
  memory = {
    heap: heapLimit(),
    total: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
  },
): { readonly config: Config; readonly lowered: readonly string[] } {
  const lowered: string[] = [];
  const ofHeap = {
    most: Math.max(Math.floor((memory.heap - HEAP_OF_THE_SERVICE) * LARGEST_SHARE_OF_HEAP), 1024 * 1024),
    why: `a 30th of the heap (${memory.heap} bytes); NODE_OPTIONS=--max-old-space-size=… raises it`,
  };
  const ofMemory = {
    most: Math.floor(memory.total * BUFFERED_SHARE_OF_MEMORY),
    why: `a quarter of the memory (${memory.total} bytes)`,
  };
  const atMost = (name: keyof Config & `MAX_${string}_BYTES`, { most, why }: typeof ofHeap) => {
    const wanted = config[name];
    if (wanted > 0 && wanted <= most) return wanted;
    lowered.push(`${name} is ${most}, ${why}`);
    return most;
  };
  return {
    config: {
      ...config,
      MAX_REQUEST_BYTES: atMost('MAX_REQUEST_BYTES', ofHeap),
      MAX_RESPONSE_BYTES: atMost('MAX_RESPONSE_BYTES', ofHeap),
      MAX_SSE_EVENT_BYTES: atMost('MAX_SSE_EVENT_BYTES', ofHeap),
      MAX_BUFFERED_BYTES: atMost('MAX_BUFFERED_BYTES', ofMemory),
    },
    lowered,
  };
}
