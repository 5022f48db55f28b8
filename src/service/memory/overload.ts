import { ApiError } from '../../filter/index.ts';
import type { HeapGauge, ResidentMemory } from './heap.ts';
import { Account, Ledger } from './ledger.ts';
import { MemoryMeter } from './memory-meter.ts';

/** The limit that refused an exchange. */
export type OverloadReason = keyof typeof why;

export interface OverloadLimits {
  /** Maximum concurrent exchanges; 0 for no limit. */
  readonly maxExchanges: number;
  /** Maximum bytes of bodies that are yet to be parsed; 0 for no limit. */
  readonly maxBufferedBytes: number;
}

/** Whoever holds memory: a call of the proxy's, a client's WebSocket. */
export interface Holder {
  /** Pauses and resumes reading from the other side. */
  pause(): void;
  resume(): void;
  /** Ends it with this error and frees what it holds: cheap, and immediate. */
  shed(error: ApiError): void;
  /** Whether a message may take any time to arrive, as a client's over a WebSocket: no timeout of Envoy's ends it. */
  readonly mayTakeLong?: boolean;
}

/** A holder's entry in the ledger. */
export type Admission = ReturnType<OverloadGuard['enter']>;

/** JSON.parse takes up to 21 bytes of heap per byte of body (`[{},{},…`), and a body is parsed in one go. */
const heapBytesPerBodyByte = 22;

/** Shares of the heap that may be live, and of the memory available that the process may have. */
const heapShares = {
  /** Above it nothing new is admitted. */
  busy: 0.6,
  /** Above it those that hold the most are paused, or cut if garbage was collected and it did not help. */
  short: 0.8,
  /** Nothing is taken that would lead above it. */
  full: 0.95,
};
const memoryShares = {
  /** Above it garbage is collected. */
  busy: 0.6,
  /** Above it those that hold the most are paused, and cut if a collection does not help. */
  short: 0.75,
  /** Above it nothing new is admitted, and nothing is taken that would take more. */
  full: 0.85,
};
/** How many checks in a row must find no room before the service is unavailable: a short burst only gets 503s. */
const checksUntilUnavailable = 3;
/** How long new work is refused before the largest holders are cut for it. */
const longestRefusalMs = 500;
/** The service is available again below this share of each limit that made it unavailable. */
const recoveryShare = 0.85;
/** Where connections are cut for want of room for bodies, or small holders for what is new, they leave so much of the limit. */
const roomyShare = 0.95;
/** With less room for bodies than this, hardly any request fits. */
const smallBodyBytes = 64 * 1024;
const retryAfterSeconds = 2;
/** Who holds less is not worth pausing, nor cutting while others hold more. */
const smallHolderBytes = 256 * 1024;

/** What a holder has at least: a small request is not worth counting, and yet its exchange keeps some 14 KiB (docs/operating.md). */
const leastHeldBytes = 14 * 1024;

/**
 * The one place that decides what becomes of whom when memory is low: what is new is refused, and garbage is collected. While a
 * collection is not due yet, those that hold the most are paused. After one that was not enough, what is kept for later is forgotten,
 * and then those that hold the most are cut. It goes by the ledger of what all of them say they hold, and by the process's
 * actual memory.
 */
export class OverloadGuard {
  /** Exchanges that run now. */
  exchanges = 0;
  /** Exchanges admitted since the start. */
  admitted = 0;
  readonly #limits: OverloadLimits;
  readonly #ledger = new Ledger();
  readonly #meter: MemoryMeter;
  readonly #refused: (reason: OverloadReason) => void;
  readonly #now: () => number;
  readonly #holders = new Map<Account, Holder>();
  readonly #paused = new Set<Account>();
  #store: { readonly account: Account; readonly evict: (bytes: number) => void } | null = null;
  /** Exchanges that ended since the heap was last to be measured. */
  #endedSinceMeasured = 0;
  #isAvailable = true;
  #checksWithoutRoom = 0;
  /** Since when memory keeps out what is new; null while it does not. */
  #busySince: number | null = null;

  /** `refused` is called with each refusal; `now` is a clock in milliseconds. */
  constructor(
    limits: OverloadLimits,
    heap: HeapGauge,
    refused: (reason: OverloadReason) => void,
    resident: ResidentMemory,
    now = () => performance.now(),
  ) {
    this.#limits = limits;
    this.#meter = new MemoryMeter(this.#ledger, heap, resident);
    this.#refused = refused;
    this.#now = now;
  }

  /** Bytes that are held, as counted. */
  get held(): number {
    return this.#ledger.bytes;
  }

  /** Admits one more exchange, or returns the error for its client. `holder` may be paused and shed when memory is low. */
  admit(holder?: Holder): Admission | ApiError {
    const { maxExchanges } = this.#limits;
    if (maxExchanges > 0 && this.exchanges >= maxExchanges) return this.refuse('exchanges');
    const refusal = this.refusal();
    if (refusal !== null) return refusal;
    this.exchanges += 1;
    this.admitted += 1;
    return this.enter(holder, () => {
      this.exchanges -= 1;
      this.#endedSinceMeasured += 1;
    });
  }

  /** The error for whoever would come now, if memory keeps out what is new. */
  refusal(): ApiError | null {
    // While those that hold the most are paused, there may be no work that would look.
    if (this.#keepsOut() && (this.#isRoomDue() || this.#evictForMemory() > 0)) this.#relieve();
    return this.#keepsOut() ? this.refuse('memory') : null;
  }

  /** Enters a holder; `released` is called when it ends. */
  enter(holder?: Holder, released = () => {}) {
    const account = new Account(this.#ledger);
    if (holder !== undefined) this.#holders.set(account, holder);
    let isReleased = false;
    return {
      /**
       * Sets how many bytes the holder holds; `body` of them are of a body that is yet to be parsed. Returns the error for its
       * client if there is no room for what will be made of that body; it then holds nothing.
       */
      hold: (bytes: number, body = 0): ApiError | null => this.#hold(account, bytes, body),
      /** Sets how many bytes were written that the other side has not read yet. */
      setUnsent: (bytes: number): void => account.setUnsent(bytes),
      /** Ends the admission and frees what it holds; later calls do nothing. */
      release: (): void => {
        if (isReleased) return;
        isReleased = true;
        this.#forget(account);
        released();
      },
    };
  }

  /**
   * Enters what is kept for later, at the price of an error for the client that needed it once it is gone: it counts with the
   * bodies, and is evicted before a body is refused or anybody is cut for want of room. `evict` frees at least so many bytes, or
   * all it has. The result is to be called with its size whenever that has changed. A process has one such store.
   */
  setStore(evict: (bytes: number) => void): (bytes: number) => void {
    const account = new Account(this.#ledger);
    this.#store = { account, evict };
    return (bytes) => {
      const hasGrown = bytes > account.body;
      account.set(bytes, bytes);
      if (hasGrown) this.#exceedsBytes();
    };
  }

  /**
   * To be called with the bytes of each message: what is made of them soon becomes garbage, which only the process's size
   * shows.
   */
  worked(bytes: number): void {
    if (this.#meter.worked(bytes)) this.#relieve();
  }

  /**
   * Whether requests are admitted, for readiness and health; call it regularly. With hysteresis: false once several
   * calls in a row found that every request would be refused, true again once there is room to spare. It also measures
   * the process's memory, and frees some if it is short.
   */
  checkAvailability(): boolean {
    const isMeasured = this.#relieve();
    // Once most exchanges have ended, most of what was live is likely garbage.
    const isUrgent = this.#endedSinceMeasured > this.exchanges;
    if (isMeasured || (this.#isBusy(recoveryShare) && this.#meter.collect(isUrgent))) this.#endedSinceMeasured = 0;
    if (this.#hasRoom(this.#isAvailable ? 1 : recoveryShare)) {
      this.#isAvailable = true;
      this.#checksWithoutRoom = 0;
      return true;
    }
    this.#checksWithoutRoom += 1;
    if (this.#checksWithoutRoom >= checksUntilUnavailable) this.#isAvailable = false;
    return this.#isAvailable;
  }

  #hold(account: Account, bytes: number, body: number): ApiError | null {
    if (!account.isOpen) return null;
    const growth = bytes - account.held;
    if (growth > 0) this.#meter.lookIfDue();
    account.set(bytes, body);
    if (growth <= 0) return null;
    // Little on the wire may be much in memory: windows of compressed answers. The next message relieves it, not this one's.
    this.#meter.worked(growth);
    // Only of a body is anything more to come. The rest is in memory already; when that is short, the largest are cut.
    if (body === 0) return null;
    const isTooMuch = this.#exceedsBytes() && !this.#makesRoomFor(account);
    if (!isTooMuch && this.#fits(account, growth)) return null;
    account.set(0, 0);
    return this.refuse(isTooMuch ? 'buffered_bytes' : 'memory');
  }

  /** Whether there is room for what a holder holds, together with what will be made of it; `growth` is not allocated yet. */
  #fits(account: Account, growth: number): boolean {
    const toCome = Math.max(account.body * heapBytesPerBodyByte - (account.held - account.body), 0);
    const isRoom = () => {
      const { heap, memory } = this.#meter.shares(toCome);
      return heap <= heapShares.full && memory <= memoryShares.full;
    };
    if (isRoom()) return true;
    if (this.#meter.shares().memory <= memoryShares.busy) return false;
    this.#evictForMemory();
    if (!this.#meter.collect(true)) return false;
    this.#meter.expect(growth);
    return isRoom();
  }

  /**
   * Cuts connections that hold more of their messages, which may take any time to arrive, until there is room for this one's
   * body. Returns whether there is.
   */
  #makesRoomFor({ body }: Account): boolean {
    const larger = [...this.#holders].filter(([account, { mayTakeLong }]) => mayTakeLong && account.body > body);
    larger.sort(([one], [other]) => other.body - one.body);
    const { maxBufferedBytes } = this.#limits;
    for (const [account, holder] of larger) {
      // A little more than is needed: of thousands that hold little each, the largest would be looked for at every piece.
      if (this.#ledger.bodies <= maxBufferedBytes * roomyShare) break;
      this.#cut(account, holder, 'buffered_bytes');
    }
    return this.#ledger.bodies <= maxBufferedBytes;
  }

  /** Whether the bytes of bodies exceed the limit although the store has given back what it could. */
  #exceedsBytes(): boolean {
    const { maxBufferedBytes } = this.#limits;
    if (maxBufferedBytes === 0) return false;
    this.#evict(this.#ledger.bodies - maxBufferedBytes);
    return this.#ledger.bodies > maxBufferedBytes;
  }

  /** Frees so many bytes of what is kept for later. Returns how many it freed. */
  #evict(bytes: number): number {
    const before = this.#ledger.bytes;
    if (bytes > 0) this.#store?.evict(bytes);
    const evicted = before - this.#ledger.bytes;
    this.#meter.evictedSinceMeasured += evicted;
    return evicted;
  }

  /** Evicts as many bytes as the process has too many. */
  #evictForMemory(): number {
    return this.#evict(this.#meter.excess({ heap: Number.POSITIVE_INFINITY, memory: memoryShares.busy }));
  }

  /** Whether a small request would be admitted at this share of the limits. */
  #hasRoom(share: number): boolean {
    const { maxExchanges, maxBufferedBytes } = this.#limits;
    if (maxExchanges > 0 && this.exchanges >= maxExchanges * share) return false;
    const waiting = this.#ledger.bodies - (this.#store?.account.body ?? 0);
    if (maxBufferedBytes > 0 && waiting + smallBodyBytes > maxBufferedBytes * share && waiting > 0) return false;
    return !this.#isBusy(share);
  }

  #isBusy(share = 1): boolean {
    const { heap, memory } = this.#meter.shares();
    return heap > heapShares.busy * share || memory > memoryShares.full * share;
  }

  /** Whether memory keeps out what is new. */
  #keepsOut(): boolean {
    this.#busySince = this.#isBusy() ? (this.#busySince ?? this.#now()) : null;
    return this.#busySince !== null;
  }

  /** Whether it is time to cut somebody for what is new. */
  #isRoomDue(): boolean {
    return this.#busySince !== null && this.#now() - this.#busySince >= longestRefusalMs;
  }

  /** Frees memory until what is left fits and does not keep everybody else out for long. Returns whether it measured the heap. */
  #relieve(): boolean {
    const meter = this.#meter;
    meter.look();
    const makesRoom = this.#keepsOut() && this.#isRoomDue();
    const isShort = () => {
      const { heap, memory } = meter.shares();
      return memory > memoryShares.short || heap > heapShares.short || (makesRoom && this.#isBusy());
    };
    if (meter.shares().memory <= memoryShares.busy && !isShort()) {
      this.#resumeAll();
      return false;
    }
    const isMeasured = meter.collect(isShort());
    if (isMeasured && makesRoom) this.#busySince = this.#now();
    if (!isShort()) {
      if (isMeasured) this.#resumeAll();
      return isMeasured;
    }
    // Down to where nothing needs to be done: just below the threshold, one collection would follow another.
    const heap = makesRoom ? heapShares.busy * recoveryShare : heapShares.busy;
    const excess = meter.excess({ heap, memory: memoryShares.busy });
    const largest = this.#largest(isMeasured ? excess - this.#evict(excess) : excess);
    if (!isMeasured) for (const [account, holder] of largest) this.#pause(account, holder);
    else if (largest.length > 0 || !makesRoom) for (const [account, holder] of largest) this.#cut(account, holder);
    else this.#cutSmall();
    return isMeasured;
  }

  /**
   * Where nobody holds much and all together keep out what is new: cuts the newest of those that hold no less than the others, as many as
   * it takes to let others in. Most of them may be ordinary streams.
   */
  #cutSmall(): void {
    const holders = [...this.#holders].map(([account, holder]) => ({
      account,
      holder,
      bytes: Math.max(account.total, leastHeldBytes),
    }));
    const heap = heapShares.busy * roomyShare;
    let excess = this.#meter.excess({ heap, memory: memoryShares.full * roomyShare });
    const mean = holders.reduce((sum, { bytes }) => sum + bytes, 0) / holders.length;
    for (const { account, holder, bytes } of holders.toReversed()) {
      if (excess <= 0) return;
      if (bytes < mean) continue;
      excess -= bytes;
      this.#cut(account, holder);
    }
  }

  /** Returns the largest holders: as many as together hold more than these bytes. */
  #largest(bytes: number): (readonly [Account, Holder])[] {
    const sizes = [...this.#holders].filter(([account]) => account.total > smallHolderBytes);
    sizes.sort(([one], [other]) => other.total - one.total);
    let found = 0;
    return sizes.filter(([account]) => {
      const isNeeded = found <= bytes;
      found += account.total;
      return isNeeded;
    });
  }

  #cut(account: Account, holder: Holder, reason: OverloadReason = 'memory'): void {
    const heapBefore = this.#ledger.heap;
    holder.shed(this.refuse(reason));
    this.#forget(account);
    this.#meter.cutSinceMeasured += heapBefore - this.#ledger.heap;
  }

  #forget(account: Account): void {
    account.close();
    this.#holders.delete(account);
    this.#paused.delete(account);
  }

  #pause(account: Account, holder: Holder): void {
    if (this.#paused.has(account)) return;
    this.#paused.add(account);
    holder.pause();
  }

  #resumeAll(): void {
    for (const account of this.#paused) this.#holders.get(account)?.resume();
    this.#paused.clear();
  }

  /** The error for a client, counted. */
  refuse(reason: OverloadReason): ApiError {
    this.#refused(reason);
    return new ApiError(`The gateway is overloaded: ${why[reason]}. Try again in ${retryAfterSeconds}s.`, {
      status: 503,
      code: 'server_overloaded',
      headers: { 'retry-after': String(retryAfterSeconds) },
    });
  }
}

const why = {
  exchanges: 'too many requests at once',
  buffered_bytes: 'too many bytes are buffered',
  memory: 'memory is low',
  waiting: 'large requests wait too long for their turn',
};
