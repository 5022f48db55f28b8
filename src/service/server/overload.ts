import type { HeldKind } from '../../filter/exchange/types.ts';
import { ApiError } from '../../filter/wire/schema/api-error.ts';
import { Account, Ledger } from '../memory/ledger.ts';
import type { HeapGauge, ResidentMemory } from './heap.ts';

/** The limit that refused an exchange. */
export type OverloadReason = 'exchanges' | 'buffered_bytes' | 'memory';

export interface OverloadLimits {
  /** Maximum concurrent exchanges; 0 for no limit. */
  readonly maxExchanges: number;
  /** Maximum buffered bytes of bodies; 0 for no limit. */
  readonly maxBufferedBytes: number;
}

export interface OverloadGuard {
  /** Admits one more exchange, or returns the error for its client. `call` may be paused and failed when memory is short. */
  admit(call?: SheddableCall): Admission | ApiError;
  /**
   * Whether requests are admitted, for readiness and health; call it regularly. With hysteresis: false once several
   * calls in a row found that every request would be refused, true again once there is room to spare. It also measures
   * the process's memory, and frees some if it is short.
   */
  checkAvailability(): boolean;
  /**
   * Call it with the bytes of each message: what is made of them soon becomes garbage, which only the process's size
   * shows.
   */
  worked(bytes: number): void;
  /** Counts bytes of bodies that belong to no exchange; null when there is no room for them. */
  hold(bytes: number): HeldBytes | null;
  /**
   * Counts a store's bytes beside the buffered ones. It is made to evict before anything is refused for want of room; the
   * result asks for that after the store has grown.
   */
  addEvictable(store: EvictableStore): () => void;
  readonly exchanges: number;
  /** Exchanges admitted since the start. */
  readonly admitted: number;
  /** Bytes that are held, as counted: of all kinds, or of one. */
  held(kind?: HeldKind): number;
}

/** A call as the guard sees it when memory is short. */
export interface SheddableCall {
  /** Pauses and resumes reading from the proxy. */
  pause(): void;
  resume(): void;
  /** Ends the exchange with this error and frees what it holds: cheap, and immediate. */
  shed(error: ApiError): void;
}

export interface HeldBytes {
  /** False when there is no room for more; the previous count then stays. */
  resize(bytes: number): boolean;
  release(): void;
}

/** Memory that can be freed at any time, at the price of an error for the client that needed it. */
export interface EvictableStore {
  readonly bytes: number;
  /** Frees at least this many bytes, or all it has. */
  evict(bytes: number): void;
}

export interface Admission {
  /**
   * Sets how many bytes of that kind the exchange now holds, announced ones included. Returns the error for its client
   * if that is too much; the exchange then holds nothing.
   */
  hold(kind: HeldKind, bytes: number): ApiError | null;
  /** Ends the admission and frees what it holds; later calls do nothing. */
  release(): void;
}

/** JSON.parse takes up to 21 bytes of heap per byte of body (`[{},{},…`), and a body is parsed in one go. */
const heapBytesPerBodyByte = 22;
/** No new exchange is admitted while a larger share of the heap is live. */
const busyHeapShare = 0.6;
const fullHeapShare = 0.95;
/** Above it, the calls that hold the most are failed. */
const shortHeapShare = 0.8;
/**
 * Shares of the memory available to the process: above the first, garbage is collected; above the second, the calls
 * that hold the most are paused, and failed if a collection does not help.
 */
const busyMemoryShare = 0.6;
const shortMemoryShare = 0.75;
/** What neither the heap nor a call holds is given back above this share of the memory: mostly pages that V8 keeps. */
const spareMemoryShare = 1 / 4;
/**
 * Pages are given back only while the live heap is a smaller share of them: V8 makes up to seven collections for it, whose time
 * grows with what is live, and the values of new requests fit into the pages as they are.
 */
const cheapLiveShare = 1 / 4;
/** Above it nothing new is admitted, and nothing is accepted that would take more. */
const fullMemoryShare = 0.85;
/** The process's memory is measured again after this many bytes have been held or read. */
const checkIntervalBytes = 4 * 1024 * 1024;
/** How many checks in a row must find no room before the service is unavailable: a short burst only gets 503s. */
const checksUntilUnavailable = 3;
/** What is new is refused for so long; then those that hold the most are failed for it. */
const longestRefusalMs = 500;
/** It is available again below this share of each limit that made it unavailable. */
const recoveryShare = 0.85;
/** With less room for bodies than this, hardly any request fits. */
const smallBodyBytes = 64 * 1024;
const retryAfterSeconds = 2;
/**
 * Kinds for which a call may be refused. The others are in memory already, or on their way out; when memory is short,
 * the calls that hold the most are failed.
 */
const admittedKinds: ReadonlySet<HeldKind> = new Set<HeldKind>(['received', 'parsed', 'chat']);
/** A call that holds less is not worth pausing or failing. */
const smallCallBytes = 256 * 1024;

/**
 * Keeps the ledger of what the calls of this process hold, and refuses, pauses and fails calls before memory runs out:
 * by what is counted, and by the process's actual memory. `refused` is called with each refusal; `now` is a clock in milliseconds.
 */
export function createOverloadGuard(
  { maxExchanges, maxBufferedBytes }: OverloadLimits,
  heap: HeapGauge,
  refused: (reason: OverloadReason) => void,
  resident: ResidentMemory = { limit: Number.POSITIVE_INFINITY, bytes: () => 0 },
  now = () => performance.now(),
): OverloadGuard {
  const ledger = new Ledger();
  const calls = new Map<Account, SheddableCall>();
  const paused = new Set<SheddableCall>();
  let exchanges = 0;
  let admitted = 0;
  let measuredHeap = heap.live;
  /** What was counted in the heap when it was last measured. */
  let heapWhenMeasured = 0;
  /** What calls held in the heap that were failed since: garbage, though not collected yet. */
  let failedSinceMeasured = 0;
  let residentBytes = resident.bytes();
  let heldWhenSeen = 0;
  let workedSinceSeen = 0;
  let available = true;
  let checksWithoutRoom = 0;
  /** Since when memory keeps out what is new; null while it does not. */
  let busySince: number | null = null;
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

  /** Whether a small request would be admitted at this share of the limits. */
  function hasRoom(share: number): boolean {
    if (maxExchanges > 0 && exchanges >= maxExchanges * share) return false;
    const buffered = ledger.of('received');
    if (maxBufferedBytes > 0 && buffered + smallBodyBytes > maxBufferedBytes * share && buffered > 0) return false;
    return !isBusy(share);
  }

  function isBusy(share = 1): boolean {
    return liveHeap() > heap.limit * busyHeapShare * share || memory() > resident.limit * fullMemoryShare * share;
  }

  /** Whether memory keeps out what is new. */
  function keepsOut(): boolean {
    busySince = isBusy() ? (busySince ?? now()) : null;
    return busySince !== null;
  }

  /** Whether it is time to fail calls for what is new. */
  function isRoomDue(): boolean {
    return busySince !== null && now() - busySince >= longestRefusalMs;
  }

  /** Live bytes as measured, plus what calls hold since: a burst of requests comes between two collections. */
  function liveHeap(): number {
    if (heap.live !== measuredHeap) {
      measuredHeap = heap.live;
      heapWhenMeasured = ledger.heap;
      failedSinceMeasured = 0;
    }
    const growth = ledger.heap + failedSinceMeasured - heapWhenMeasured;
    return heap.live + Math.max(growth, 0) - failedSinceMeasured;
  }

  /** The process's memory as last measured, plus what calls hold since. */
  function memory(): number {
    return residentBytes + Math.max(ledger.total() - heldWhenSeen, 0);
  }

  function look(): void {
    residentBytes = resident.bytes();
    heldWhenSeen = ledger.total();
    workedSinceSeen = 0;
  }

  /** Collects garbage at once if garbage may be what fills the memory. Returns whether it did. */
  function collect(urgent: boolean): boolean {
    if (!heap.collect(urgent)) return false;
    look();
    const spare = residentBytes - heap.live - ledger.outside;
    const isWorthIt = spare > resident.limit * spareMemoryShare && heap.live < spare * cheapLiveShare;
    if (isWorthIt && residentBytes > resident.limit * busyMemoryShare && heap.giveBack()) look();
    return true;
  }

  /** Pauses and fails the calls that hold the most, until what is left fits and does not keep everybody else out for long. */
  function relieve(): void {
    look();
    const makesRoom = keepsOut() && isRoomDue();
    const isShort = () =>
      residentBytes > resident.limit * shortMemoryShare ||
      liveHeap() > heap.limit * shortHeapShare ||
      (makesRoom && isBusy());
    if (residentBytes <= resident.limit * busyMemoryShare && !isShort()) {
      for (const call of paused) call.resume();
      paused.clear();
      return;
    }
    const isMeasured = collect(isShort());
    if (isMeasured && makesRoom) busySince = now();
    if (!isShort()) return;
    // Down to where nothing needs to be done: just below the threshold, one collection would follow another.
    const heapShare = makesRoom ? busyHeapShare * recoveryShare : busyHeapShare;
    const excess = Math.max(residentBytes - resident.limit * busyMemoryShare, liveHeap() - heap.limit * heapShare);
    const greediest = [...calls.keys()].filter((account) => account.total() > smallCallBytes);
    greediest.sort((one, other) => other.total() - one.total());
    let freed = 0;
    for (const account of greediest) {
      if (freed > excess) break;
      freed += account.total();
      const call = calls.get(account);
      if (call === undefined) continue;
      if (isMeasured) {
        const heapBefore = ledger.heap;
        call.shed(refuse('memory', 'memory is short'));
        account.close();
        failedSinceMeasured += heapBefore - ledger.heap;
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

  /** Whether what a call holds fits, together with what will be made of it; `growth` is not allocated yet. */
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
      // While the calls that hold the most are paused, there may be no work that would look.
      if (keepsOut() && isRoomDue()) relieve();
      if (keepsOut()) return refuse('memory', 'memory is short');
      exchanges += 1;
      admitted += 1;
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
    get admitted() {
      return admitted;
    },
    held: (kind) => (kind === undefined ? ledger.total() : ledger.of(kind)),
  };
}
