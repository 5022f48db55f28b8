import { Account, type HeldKind, Ledger } from '../memory/ledger.ts';
import { ApiError } from '../schema/api-error.ts';
import type { Config } from '../settings/config.ts';
import type { HeapGauge, ResidentMemory } from './heap.ts';

/** The limit that refused an exchange. */
export type OverloadReason = 'exchanges' | 'buffered_bytes' | 'memory';

export interface OverloadLimits {
  /** Exchanges at once; 0 for no limit. */
  readonly maxExchanges: number;
  /** Buffered bytes of bodies at once; 0 for no limit. */
  readonly maxBufferedBytes: number;
}

export interface OverloadGuard {
  /** Admits one more exchange, or returns the error for its client. `call` may be paused and failed when memory is short. */
  admit(call?: SheddableCall): Admission | ApiError;
  /**
   * Whether requests are admitted, for readiness and health; to be called regularly. With hysteresis: false once every
   * request would have been refused at several calls in a row, true again once there is room to spare. It also looks at
   * what the process really has, and relieves it.
   */
  checkAvailability(): boolean;
  /** To be called with the bytes of each message: what is made of them is garbage soon, which only the process's size shows. */
  worked(bytes: number): void;
  /** Counts bytes of bodies that belong to no exchange; null when there is no room for them. */
  hold(bytes: number): HeldBytes | null;
  /**
   * Counts a store's bytes beside the buffered ones. It is made to evict before anything is refused for want of room; the
   * result asks for that after the store has grown.
   */
  addEvictable(store: EvictableStore): () => void;
  readonly exchanges: number;
  /** Bytes that are held, as counted: of all kinds, or of one. */
  held(kind?: HeldKind): number;
}

/** A call as the guard sees it when memory is short. */
export interface SheddableCall {
  /** Stops and goes on reading what the proxy sends on it. */
  pause(): void;
  resume(): void;
  /** Ends the exchange with this error, and lets go of what it holds: cheap, and at once. */
  shed(error: ApiError): void;
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
   * Sets how many bytes of that kind the exchange holds from now on, announced ones included. Returns the error for its client
   * when that is too much; the exchange then holds nothing.
   */
  hold(kind: HeldKind, bytes: number): ApiError | null;
  /** Ends the admission and frees what it holds; later calls do nothing. */
  release(): void;
}

/**
 * JSON.parse takes up to 21 bytes of heap per byte of body (`[{},{},…`), and a body is parsed in one go: it may be at most
 * a 30th of the heap, less what the service itself needs.
 */
const heapBytesPerBodyByte = 22;
const maxBodyHeapShare = 1 / 30;
const ownHeapBytes = 32 * 1024 * 1024;
/** Buffered bodies live outside the JavaScript heap, and are copied once or twice on the way. */
const maxBufferedMemoryShare = 1 / 4;
/** No new exchange is admitted while a larger share of the heap is live. */
const busyHeapShare = 0.6;
const fullHeapShare = 0.95;
/** Above it, calls that hold the most are failed. */
const shortHeapShare = 0.8;
/**
 * Shares of the memory that the whole process has: above the first garbage is collected; above the second the calls that hold
 * the most are paused, and failed when a collection has shown that it is no garbage.
 */
const busyMemoryShare = 0.6;
const shortMemoryShare = 0.75;
/** Nothing new is admitted above it, and nothing is taken that would fill more. */
const fullMemoryShare = 0.85;
/** The process is looked at again after so much has been held or read. */
const checkIntervalBytes = 4 * 1024 * 1024;
/** How many checks in a row must find no room before the service is unavailable: a short burst is answered with 503s. */
const checksUntilUnavailable = 3;
/** It is available again below this share of each limit that made it unavailable. */
const recoveryShare = 0.85;
/** With less room for bodies than this, hardly any request fits. */
const smallBodyBytes = 64 * 1024;
const retryAfterSeconds = 2;
/** What a call may be refused for. The rest is there already, or on its way out: it is relieved of where it is the most. */
const admittedKinds: ReadonlySet<HeldKind> = new Set<HeldKind>(['received', 'parsed', 'chat']);
/** A call that holds less is not worth pausing or failing. */
const smallCallBytes = 256 * 1024;

/**
 * Keeps the ledger of what the calls of this process hold, and refuses, pauses and fails calls before memory runs out: by what
 * is counted, and by what the process really has. `refused` is called with each refusal.
 */
export function createOverloadGuard(
  { maxExchanges, maxBufferedBytes }: OverloadLimits,
  heap: HeapGauge,
  refused: (reason: OverloadReason) => void,
  resident: ResidentMemory = { limit: Number.POSITIVE_INFINITY, bytes: () => 0 },
): OverloadGuard {
  const ledger = new Ledger();
  const calls = new Map<Account, SheddableCall>();
  const paused = new Set<SheddableCall>();
  let exchanges = 0;
  let measuredHeap = heap.live;
  /** What was counted in the heap when it was last measured. */
  let heapWhenMeasured = 0;
  let residentBytes = resident.bytes();
  let heldWhenSeen = 0;
  let workedSinceSeen = 0;
  let available = true;
  let checksWithoutRoom = 0;
  /** Exchanges that ended since the heap was last to be measured. */
  let endedSinceRefresh = 0;
  const stores: EvictableStore[] = [];

  /** Whether the buffered bytes exceed the limit although every store has given back what it could. */
  function exceedsBytes(): boolean {
    if (maxBufferedBytes === 0) return false;
    for (const store of stores) {
      const excess = ledger.of('received') + stores.reduce((sum, { bytes }) => sum + bytes, 0) - maxBufferedBytes;
      if (excess <= 0) return false;
      store.evict(excess);
    }
    return ledger.of('received') > maxBufferedBytes;
  }

  /** Whether a small request would be admitted if the limits were this share of what they are. */
  function hasRoom(share: number): boolean {
    if (maxExchanges > 0 && exchanges >= maxExchanges * share) return false;
    const buffered = ledger.of('received');
    if (maxBufferedBytes > 0 && buffered + smallBodyBytes > maxBufferedBytes * share && buffered > 0) return false;
    return !isBusy(share);
  }

  function isBusy(share = 1): boolean {
    return liveHeap() > heap.limit * busyHeapShare * share || memory() > resident.limit * fullMemoryShare * share;
  }

  /** What was measured as live, and what calls have come to hold since: a burst of requests comes between two collections. */
  function liveHeap(): number {
    if (heap.live !== measuredHeap) {
      measuredHeap = heap.live;
      heapWhenMeasured = ledger.heap;
    }
    return heap.live + Math.max(ledger.heap - heapWhenMeasured, 0);
  }

  /** What the process has: as last seen, and what calls have come to hold since. */
  function memory(): number {
    return residentBytes + Math.max(ledger.total() - heldWhenSeen, 0);
  }

  function look(): void {
    residentBytes = resident.bytes();
    heldWhenSeen = ledger.total();
    workedSinceSeen = 0;
  }

  /** Collects garbage at once, where some may be what fills the memory. Whether it did. */
  function collect(urgent: boolean): boolean {
    if (!heap.collect(urgent)) return false;
    look();
    return true;
  }

  /** Pauses and fails the calls that hold the most, until what is left fits. */
  function relieve(): void {
    look();
    if (residentBytes <= resident.limit * busyMemoryShare && liveHeap() <= heap.limit * shortHeapShare) {
      for (const call of paused) call.resume();
      paused.clear();
      return;
    }
    const isMeasured = collect(
      residentBytes > resident.limit * shortMemoryShare || liveHeap() > heap.limit * shortHeapShare,
    );
    const isShort = residentBytes > resident.limit * shortMemoryShare || liveHeap() > heap.limit * shortHeapShare;
    if (!isShort) return;
    // Down to where nothing has to be done: at the mark itself one collection would follow the other.
    const excess = Math.max(residentBytes - resident.limit * busyMemoryShare, liveHeap() - heap.limit * busyHeapShare);
    const greediest = [...calls.keys()].filter((account) => account.total() > smallCallBytes);
    greediest.sort((one, other) => other.total() - one.total());
    let freed = 0;
    for (const account of greediest) {
      if (freed > excess) break;
      freed += account.total();
      const call = calls.get(account);
      if (call === undefined) continue;
      if (isMeasured) {
        call.shed(refuse('memory', 'memory is short'));
        account.close();
        calls.delete(account);
        paused.delete(call);
      } else if (!paused.has(call)) {
        paused.add(call);
        call.pause();
      }
    }
  }

  function refreshHeap(): void {
    if (heap.refresh(endedSinceRefresh > exchanges)) endedSinceRefresh = 0;
  }

  function refuse(reason: OverloadReason, why: string): ApiError {
    refused(reason);
    if (reason === 'memory') refreshHeap();
    return new ApiError(`The gateway is overloaded: ${why}. Try again in ${retryAfterSeconds}s.`, {
      status: 503,
      type: 'server_error',
      code: 'server_overloaded',
      headers: { 'retry-after': String(retryAfterSeconds) },
    });
  }

  /** Whether what a call has come to hold fits, and what will be made of it; `growth` is not there yet. */
  function fits(account: Account, kind: HeldKind, growth: number): boolean {
    const toParse = kind === 'received' ? account.of(kind) * heapBytesPerBodyByte : 0;
    const isRoom = () =>
      liveHeap() + toParse <= heap.limit * fullHeapShare && memory() <= resident.limit * fullMemoryShare;
    if (isRoom()) return true;
    if (memory() <= resident.limit * busyMemoryShare || !collect(true)) return false;
    heldWhenSeen -= growth;
    return isRoom();
  }

  return {
    admit(call) {
      if (maxExchanges > 0 && exchanges >= maxExchanges) return refuse('exchanges', 'too many requests at once');
      if (isBusy()) return refuse('memory', 'memory is short');
      exchanges += 1;
      const account = new Account(ledger);
      if (call !== undefined) calls.set(account, call);
      let released = false;

      return {
        hold(kind, bytes) {
          if (released) return null;
          const growth = bytes - account.of(kind);
          if (growth > 0 && Math.abs(ledger.total() - heldWhenSeen) > checkIntervalBytes) look();
          account.set(kind, bytes);
          if (growth <= 0 || !admittedKinds.has(kind)) return null;
          const tooMany = kind === 'received' && exceedsBytes();
          if (!tooMany && fits(account, kind, growth)) return null;
          account.clear();
          return tooMany ? refuse('buffered_bytes', 'too many bytes are waiting') : refuse('memory', 'memory is short');
        },
        release() {
          if (released) return;
          released = true;
          exchanges -= 1;
          endedSinceRefresh += 1;
          account.close();
          calls.delete(account);
          if (call !== undefined) paused.delete(call);
        },
      };
    },
    worked(bytes) {
      workedSinceSeen += bytes;
      if (workedSinceSeen >= checkIntervalBytes) relieve();
    },
    hold(bytes) {
      const account = new Account(ledger);
      const resize = (wanted: number) => {
        const before = account.of('received');
        account.set('received', wanted);
        if (wanted > before && exceedsBytes()) {
          account.set('received', before);
          refused('buffered_bytes');
          return false;
        }
        return true;
      };
      if (resize(bytes)) return { resize, release: () => account.close() };
      account.close();
      return null;
    },
    addEvictable(store) {
      stores.push(store);
      return () => void exceedsBytes();
    },
    checkAvailability() {
      relieve();
      if (hasRoom(available ? 1 : recoveryShare)) {
        available = true;
        checksWithoutRoom = 0;
        return true;
      }
      if (isBusy(recoveryShare)) refreshHeap();
      checksWithoutRoom += 1;
      if (checksWithoutRoom >= checksUntilUnavailable) available = false;
      return available;
    },
    get exchanges() {
      return exchanges;
    },
    held: (kind) => (kind === undefined ? ledger.total() : ledger.of(kind)),
  };
}

/** The configuration with the sizes lowered that do not fit this process's memory; `lowered` says which, and why. */
export function fitToMemory(
  config: Config,
  memory: { readonly heap: number; readonly total: number },
): { readonly config: Config; readonly lowered: readonly string[] } {
  const lowered: string[] = [];
  const ofHeap = {
    most: Math.max(Math.floor((memory.heap - ownHeapBytes) * maxBodyHeapShare), 1024 * 1024),
    why: `a 30th of the heap (${memory.heap} bytes); NODE_OPTIONS=--max-old-space-size=… raises it`,
  };
  const ofMemory = {
    most: Math.floor(memory.total * maxBufferedMemoryShare),
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
