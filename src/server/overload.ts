import { totalmem } from 'node:os';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config.ts';
import { ApiError } from '../schema/api-error.ts';

/** The limit that refused an exchange. */
export type OverloadReason = 'exchanges' | 'buffered_bytes' | 'memory';

export interface OverloadLimits {
  /** Exchanges at once; 0 for no limit. */
  readonly maxExchanges: number;
  /** Buffered bytes of bodies at once; 0 for no limit. */
  readonly maxBufferedBytes: number;
}

export interface OverloadGuard {
  /** Admits one more exchange, or returns the error for its client. */
  admit(): Admission | ApiError;
  readonly exchanges: number;
  readonly bufferedBytes: number;
}

export interface Admission {
  /**
   * Sets how many bytes of bodies the exchange buffers from now on, announced ones included. Returns the error for its
   * client when that is too much; the exchange then has none reserved.
   */
  reserve(bytes: number): ApiError | null;
  /** Ends the admission and frees what it reserved; later calls do nothing. */
  release(): void;
}

export interface HeapGauge {
  /** Bytes that may live on the JavaScript heap; at that point the process dies. */
  readonly limit: number;
  /** Bytes that survived the last full collection. */
  readonly live: number;
}

/**
 * JSON.parse takes up to 21 bytes of heap per byte of body (`[{},{},…`), and a body is parsed in one go: it may be at most
 * a 30th of the heap, less what the service itself needs.
 */
const HEAP_BYTES_PER_BODY_BYTE = 22;
const LARGEST_SHARE_OF_HEAP = 1 / 30;
const HEAP_OF_THE_SERVICE = 32 * 1024 * 1024;
/** V8's limit includes the young generation, where nothing lives for long: three times 64 MiB in Node 24. */
const YOUNG_GENERATION = 192 * 1024 * 1024;
/** Buffered bodies live outside the JavaScript heap, and are copied once or twice on the way. */
const BUFFERED_SHARE_OF_MEMORY = 1 / 4;
/** No new exchange is admitted while a larger share of the heap is live. */
const BUSY_HEAP = 0.6;
const FULL_HEAP = 0.95;
const RETRY_AFTER_SECONDS = 2;

/** Counts the exchanges and buffered bytes of this process and refuses more before memory runs out. `refused` is called with each refusal. */
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
      let reserved = 0;
      let released = false;
      return {
        reserve(bytes) {
          if (released || bytes === reserved) return null;
          const growing = bytes > reserved;
          bufferedBytes += bytes - reserved;
          reserved = bytes;
          if (!growing) return null;
          const tooMany = maxBufferedBytes > 0 && bufferedBytes > maxBufferedBytes;
          if (!tooMany && heap.live + bytes * HEAP_BYTES_PER_BODY_BYTE <= heap.limit * FULL_HEAP) return null;
          // A refused exchange keeps nothing.
          bufferedBytes -= reserved;
          reserved = 0;
          return tooMany ? refuse('buffered_bytes', 'too many bytes are waiting') : refuse('memory', 'memory is short');
        },
        release() {
          if (released) return;
          released = true;
          exchanges -= 1;
          bufferedBytes -= reserved;
          reserved = 0;
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

/** Bytes that may be live on the heap. */
function heapLimit(): number {
  const limit = getHeapStatistics().heap_size_limit;
  return Math.max(limit - YOUNG_GENERATION, limit / 3);
}

/** The configuration with the sizes lowered that do not fit this process's memory; `lowered` says which, and why. */
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
