import { ApiError } from '../schema/api-error.ts';
import type { Config } from '../settings/config.ts';
import type { HeapGauge } from './heap.ts';

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
  /**
   * Whether requests are admitted, for readiness and health; to be called regularly. With hysteresis: false once every
   * request would have been refused at several calls in a row, true again once there is room to spare.
   */
  checkAvailability(): boolean;
  /** Counts bytes of bodies that belong to no exchange; null when there is no room for them. */
  hold(bytes: number): HeldBytes | null;
  /**
   * Counts a store's bytes beside the buffered ones. It is made to evict before anything is refused for want of room; the
   * result asks for that after the store has grown.
   */
  addEvictable(store: EvictableStore): () => void;
  readonly exchanges: number;
  readonly bufferedBytes: number;
}

export interface HeldBytes {
  /** False when there is no room for a larger number; then what was counted before still is. */
  resize(bytes: number): boolean;
  release(): void;
}

/** Memory that can be given back at any time, at the price of an error for whoever wanted it. */
export interface EvictableStore {
  readonly bytes: number;
  /** Gives back at least so many bytes, or all. */
  evict(bytes: number): void;
}

export interface Admission {
  /**
   * Sets how many bytes of bodies the exchange buffers from now on, announced ones included, and how much of the heap it
   * keeps besides. Returns the error for its client when that is too much; the exchange then has none reserved.
   */
  reserve(bodyBytes: number, keptHeapBytes?: number): ApiError | null;
  /** Ends the admission and frees what it reserved; later calls do nothing. */
  release(): void;
}

/**
 * JSON.parse takes up to 21 bytes of heap per byte of body (`[{},{},…`), and a body is parsed in one go: it may be at most
 * a 30th of the heap, less what the service itself needs.
 */
const HEAP_BYTES_PER_BODY_BYTE = 22;
const LARGEST_SHARE_OF_HEAP = 1 / 30;
const HEAP_OF_THE_SERVICE = 32 * 1024 * 1024;
/** Buffered bodies live outside the JavaScript heap, and are copied once or twice on the way. */
const BUFFERED_SHARE_OF_MEMORY = 1 / 4;
/** No new exchange is admitted while a larger share of the heap is live. */
const BUSY_HEAP = 0.6;
const FULL_HEAP = 0.95;
/** How many checks in a row must find no room before the service is unavailable: a short burst is answered with 503s. */
const CHECKS_UNTIL_UNAVAILABLE = 3;
/** It is available again below this share of each limit that made it unavailable. */
const ROOM_TO_SPARE = 0.85;
/** With less room for bodies than this, hardly any request fits. */
const SMALL_BODY = 64 * 1024;
const RETRY_AFTER_SECONDS = 2;

/** Counts the exchanges and buffered bytes of this process and refuses more before memory runs out. `refused` is called with each refusal. */
export function createOverloadGuard(
  { maxExchanges, maxBufferedBytes }: OverloadLimits,
  heap: HeapGauge,
  refused: (reason: OverloadReason) => void,
): OverloadGuard {
  let exchanges = 0;
  let bufferedBytes = 0;
  /** Heap that exchanges keep and that no measurement has seen yet. */
  let unmeasuredHeap = 0;
  let measurement = 0;
  let measuredHeap = heap.live;
  let available = true;
  let checksWithoutRoom = 0;
  /** Exchanges that ended since the heap was last to be measured. */
  let endedSinceRefresh = 0;
  const stores: EvictableStore[] = [];

  /** Whether the buffered bytes exceed the limit although every store has given back what it could. */
  function exceedsBytes(): boolean {
    if (maxBufferedBytes === 0) return false;
    for (const store of stores) {
      const excess = bufferedBytes + stores.reduce((sum, { bytes }) => sum + bytes, 0) - maxBufferedBytes;
      if (excess <= 0) return false;
      store.evict(excess);
    }
    return bufferedBytes > maxBufferedBytes;
  }

  /** Whether a small request would be admitted if the limits were this share of what they are. */
  function hasRoom(share: number): boolean {
    if (maxExchanges > 0 && exchanges >= maxExchanges * share) return false;
    if (maxBufferedBytes > 0 && bufferedBytes + SMALL_BODY > maxBufferedBytes * share && bufferedBytes > 0)
      return false;
    return liveHeap() <= heap.limit * BUSY_HEAP * share;
  }

  /** What was measured as live, and what exchanges have kept since: a burst of requests comes between two collections. */
  function liveHeap(): number {
    if (heap.live !== measuredHeap) {
      measuredHeap = heap.live;
      measurement += 1;
      unmeasuredHeap = 0;
    }
    return heap.live + unmeasuredHeap;
  }

  function refreshHeap(): void {
    if (heap.refresh(endedSinceRefresh > exchanges)) endedSinceRefresh = 0;
  }

  function refuse(reason: OverloadReason, why: string): ApiError {
    refused(reason);
    if (reason === 'memory') refreshHeap();
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
      if (liveHeap() > heap.limit * BUSY_HEAP) return refuse('memory', 'memory is short');
      exchanges += 1;
      let reserved = 0;
      let kept = 0;
      let keptSince = measurement;
      let released = false;

      function keep(bytes: number): void {
        if (kept === bytes) return;
        liveHeap();
        if (keptSince === measurement) unmeasuredHeap -= kept;
        unmeasuredHeap += bytes;
        kept = bytes;
        keptSince = measurement;
      }

      return {
        reserve(bytes, keptHeapBytes = 0) {
          if (released) return null;
          if (keptHeapBytes > 0) keep(keptHeapBytes);
          if (bytes === reserved) return null;
          const growing = bytes > reserved;
          bufferedBytes += bytes - reserved;
          reserved = bytes;
          if (!growing) return null;
          const tooMany = exceedsBytes();
          if (!tooMany && liveHeap() + bytes * HEAP_BYTES_PER_BODY_BYTE <= heap.limit * FULL_HEAP) return null;
          // A refused exchange keeps nothing.
          bufferedBytes -= reserved;
          reserved = 0;
          keep(0);
          return tooMany ? refuse('buffered_bytes', 'too many bytes are waiting') : refuse('memory', 'memory is short');
        },
        release() {
          if (released) return;
          released = true;
          exchanges -= 1;
          endedSinceRefresh += 1;
          bufferedBytes -= reserved;
          reserved = 0;
          keep(0);
        },
      };
    },
    hold(bytes) {
      let held = 0;
      const resize = (wanted: number) => {
        bufferedBytes += wanted - held;
        if (wanted > held && exceedsBytes()) {
          bufferedBytes -= wanted - held;
          refused('buffered_bytes');
          return false;
        }
        held = wanted;
        return true;
      };
      return resize(bytes) ? { resize, release: () => void resize(0) } : null;
    },
    addEvictable(store) {
      stores.push(store);
      return () => void exceedsBytes();
    },
    checkAvailability() {
      if (hasRoom(available ? 1 : ROOM_TO_SPARE)) {
        available = true;
        checksWithoutRoom = 0;
        return true;
      }
      if (liveHeap() > heap.limit * BUSY_HEAP * ROOM_TO_SPARE) refreshHeap();
      checksWithoutRoom += 1;
      if (checksWithoutRoom >= CHECKS_UNTIL_UNAVAILABLE) available = false;
      return available;
    },
    get exchanges() {
      return exchanges;
    },
    get bufferedBytes() {
      return bufferedBytes;
    },
  };
}

/** The configuration with the sizes lowered that do not fit this process's memory; `lowered` says which, and why. */
export function fitToMemory(
  config: Config,
  memory: { readonly heap: number; readonly total: number },
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
