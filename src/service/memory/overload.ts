import { ApiError } from '../../filter/index.ts';
import type { HeapGauge, ResidentMemory } from './heap.ts';
import { Account, Ledger, MemoryMeter } from './memory-meter.ts';

export type OverloadReason = keyof typeof why;

export interface OverloadLimits {
  /** Maximum concurrent exchanges; 0 for no limit. */
  readonly maxExchanges: number;
  /** Maximum bytes of bodies that are yet to be parsed; 0 for no limit. */
  readonly maxBufferedBytes: number;
}

/** A call of Envoy's or a client's WebSocket, which holds memory. */
export interface Holder {
  /** Stops reading from the other side, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends the call or the connection with this error, and frees what it holds: cheap, and immediate. */
  shed(error: ApiError): void;
  /** A message may take any time to arrive, as a client's does over a WebSocket: no timeout of Envoy's ends it. */
  readonly mayTakeLong?: boolean;
}

export type Admission = ReturnType<OverloadGuard['enter']>;

/** JSON.parse takes up to 21 bytes of heap per byte of body (`[{},{},…`), and a body is parsed in one go. */
const heapBytesPerBodyByte = 22;

/** Shares of the live heap above which no exchange is admitted, the largest holders are paused or cut, no body is taken. */
const heapShares = { refuse: 0.6, cut: 0.8, refuseBodies: 0.95 };
/** Shares of the memory above which garbage is collected, the largest holders are paused or cut, no exchange and no body is taken. */
const memoryShares = { collect: 0.6, cut: 0.75, refuse: 0.85 };
/** The service is unavailable once so many checks in a row have found no room: a short burst only gets 503s. */
const checksUntilUnavailable = 3;
/** New work is refused for so long before the largest holders are cut for it. */
const longestRefusalMs = 500;
/** The service is available again below this share of each limit that made it unavailable. */
const recoveryShare = 0.85;
/** Cutting connections for the sake of bodies, or small holders for new exchanges, leaves this share of the limit in use. */
const roomyShare = 0.95;
/** With less room for bodies than this, hardly any request fits. */
const leastRoomBytes = 64 * 1024;
const retryAfterSeconds = 2;
/** A holder of less is not paused, nor cut while others hold more. */
const smallHolderBytes = 256 * 1024;
/** The bytes of a holder at least: a small request is not counted, and yet its exchange keeps some 14 KiB (docs/operating.md). */
const leastHeldBytes = 14 * 1024;

/**
 * Decides, for all calls and connections, what happens when memory is low: garbage is collected; while no collection is due yet, the
 * largest holders are paused; after one that was not enough, conversations are evicted, and then the largest holders are cut. Above the
 * highest shares new exchanges are refused as well. The guard goes by what all holders report, and by the process's actual memory.
 */
export class OverloadGuard {
  exchanges = 0;
  readonly #limits: OverloadLimits;
  readonly #ledger = new Ledger();
  readonly #meter: MemoryMeter;
  readonly #refused: (reason: OverloadReason) => void;
  readonly #now: () => number;
  readonly #holders = new Map<Account, Holder>();
  readonly #paused = new Set<Account>();
  #store: { readonly account: Account; readonly evict: (bytes: number) => void } | null = null;
  /** Exchanges that ended since the last collection. */
  #endedSinceMeasured = 0;
  /** An exchange was admitted since the last check. */
  #hadWork = false;
  #isAvailable = true;
  #checksWithoutRoom = 0;
  /** The time since which memory keeps new exchanges out; null while it does not. */
  #busySince: number | null = null;

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
    this.#hadWork = true;
    return this.enter(holder, () => {
      this.exchanges -= 1;
      this.#endedSinceMeasured += 1;
    });
  }

  /** Returns the error for a new exchange or handshake, if memory keeps it out. */
  refusal(): ApiError | null {
    // While the largest holders are paused, there may be no work that would look.
    if (this.#keepsOut() && (this.#isRoomDue() || this.#evictForMemory() > 0)) this.#relieve();
    return this.#keepsOut() ? this.refuse('memory') : null;
  }

  /** Enters a holder in the ledger; `released` is called when it ends. */
  enter(holder?: Holder, released = () => {}) {
    const account = new Account(this.#ledger);
    if (holder !== undefined) this.#holders.set(account, holder);
    let isReleased = false;
    return {
      /** Sets the bytes that are held, `body` of them yet to be parsed. Returns an error, and counts nothing, if there is no room to parse that. */
      hold: (bytes: number, body = 0): ApiError | null => this.#hold(account, bytes, body),
      setUnsent: (bytes: number): void => account.setUnsent(bytes),
      release: (): void => {
        if (isReleased) return;
        isReleased = true;
        this.#forget(account);
        released();
      },
    };
  }

  /** Enters the store of conversations, which are evicted before anything is refused or cut. The result is to be called with its size. */
  setStore(evict: (bytes: number) => void): (bytes: number) => void {
    const account = new Account(this.#ledger);
    this.#store = { account, evict };
    return (bytes) => {
      const hasGrown = bytes > account.body;
      account.set(bytes, bytes);
      if (hasGrown) this.#exceedsBytes();
    };
  }

  /** Counts the bytes of each message: what is made of them soon becomes garbage, which only the process's size shows. */
  worked(bytes: number): void {
    if (this.#meter.worked(bytes)) this.#relieve();
  }

  /**
   * Measures the process's memory, and frees some if it is short or the process idle; to be called regularly. Returns, for readiness and
   * health, whether requests are admitted: false once several calls in a row found that every request would be refused, true again
   * once there is room to spare.
   */
  checkAvailability(): boolean {
    this.#meter.giveBackIfIdle(this.exchanges === 0 && !this.#hadWork, this.#now());
    this.#hadWork = false;
    const isMeasured = this.#relieve();
    // Once most exchanges have ended, most of what was live is likely garbage.
    const isUrgent = this.#endedSinceMeasured > this.exchanges;
    if (isMeasured || (this.#isBusy(recoveryShare) && this.#meter.collect(isUrgent ? 'urgent' : 'affordable')))
      this.#endedSinceMeasured = 0;
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
    // A few bytes on the wire may be many in memory, as windows of compressed answers are. The next message relieves memory, not this one.
    this.#meter.worked(growth);
    // Only of a body more is to be made. Anything else is in memory already; when that is short, the largest holders are cut.
    if (body === 0) return null;
    const isTooMuch = this.#exceedsBytes() && !this.#makesRoomFor(account);
    if (!isTooMuch && this.#fits(account, growth)) return null;
    account.set(0, 0);
    return this.refuse(isTooMuch ? 'buffered_bytes' : 'memory');
  }

  /** Is there room for what a holder holds, with what will be made of its body? `growth` bytes are not allocated yet. */
  #fits(account: Account, growth: number): boolean {
    const toCome = Math.max(account.body * heapBytesPerBodyByte - (account.held - account.body), 0);
    const isRoom = () => {
      const { heap, memory } = this.#meter.shares(toCome);
      return heap <= heapShares.refuseBodies && memory <= memoryShares.refuse;
    };
    if (isRoom()) return true;
    if (this.#meter.shares().memory <= memoryShares.collect) return false;
    this.#evictForMemory();
    if (!this.#meter.collect('urgent')) return false;
    this.#meter.expect(growth);
    return isRoom();
  }

  /** Cuts connections whose messages are larger and may take any time to arrive, until there is room for this body. Returns whether there is. */
  #makesRoomFor({ body }: Account): boolean {
    const larger = [...this.#holders].filter(([account, { mayTakeLong }]) => mayTakeLong && account.body > body);
    larger.sort(([one], [other]) => other.body - one.body);
    const { maxBufferedBytes } = this.#limits;
    for (const [account, holder] of larger) {
      // A little more is cut than is needed: else, of thousands of small ones, the largest would be looked for at every piece.
      if (this.#ledger.bodies <= maxBufferedBytes * roomyShare) break;
      this.#cut(account, holder, 'buffered_bytes');
    }
    return this.#ledger.bodies <= maxBufferedBytes;
  }

  /** Do the bodies exceed the limit, although the store has evicted what it could? */
  #exceedsBytes(): boolean {
    const { maxBufferedBytes } = this.#limits;
    if (maxBufferedBytes === 0) return false;
    this.#evict(this.#ledger.bodies - maxBufferedBytes);
    return this.#ledger.bodies > maxBufferedBytes;
  }

  /** Has the store evict so many bytes. Returns how many it did. */
  #evict(bytes: number): number {
    const before = this.#ledger.bytes;
    if (bytes > 0) this.#store?.evict(bytes);
    const evicted = before - this.#ledger.bytes;
    this.#meter.evictedSinceMeasured += evicted;
    return evicted;
  }

  #evictForMemory(): number {
    return this.#evict(this.#meter.excess({ heap: Number.POSITIVE_INFINITY, memory: memoryShares.collect }));
  }

  /** Would a small request be admitted at this share of the limits? */
  #hasRoom(share: number): boolean {
    const { maxExchanges, maxBufferedBytes } = this.#limits;
    if (maxExchanges > 0 && this.exchanges >= maxExchanges * share) return false;
    const waiting = this.#ledger.bodies - (this.#store?.account.body ?? 0);
    if (maxBufferedBytes > 0 && waiting + leastRoomBytes > maxBufferedBytes * share && waiting > 0) return false;
    return !this.#isBusy(share);
  }

  #isBusy(share = 1): boolean {
    const { heap, memory } = this.#meter.shares();
    return heap > heapShares.refuse * share || memory > memoryShares.refuse * share;
  }

  #keepsOut(): boolean {
    this.#busySince = this.#isBusy() ? (this.#busySince ?? this.#now()) : null;
    return this.#busySince !== null;
  }

  /** Have new exchanges been kept out for so long that others are cut for them? */
  #isRoomDue(): boolean {
    return this.#busySince !== null && this.#now() - this.#busySince >= longestRefusalMs;
  }

  /** Frees memory until what is left fits and does not keep new exchanges out for long. Returns whether it collected garbage. */
  #relieve(): boolean {
    const meter = this.#meter;
    meter.look();
    const makesRoom = this.#keepsOut() && this.#isRoomDue();
    const isShort = () => {
      const { heap, memory } = meter.shares();
      return memory > memoryShares.cut || heap > heapShares.cut || (makesRoom && this.#isBusy());
    };
    if (meter.shares().memory <= memoryShares.collect && !isShort()) {
      this.#resumeAll();
      return false;
    }
    const isMeasured = meter.collect(isShort() ? 'urgent' : 'affordable');
    if (isMeasured && makesRoom) this.#busySince = this.#now();
    if (!isShort()) {
      if (isMeasured) this.#resumeAll();
      return isMeasured;
    }
    // Memory is freed until nothing needs to be done: just below the threshold, one collection would follow another.
    const heap = makesRoom ? heapShares.refuse * recoveryShare : heapShares.refuse;
    const excess = meter.excess({ heap, memory: memoryShares.collect });
    const largest = this.#findLargest(isMeasured ? excess - this.#evict(excess) : excess);
    if (!isMeasured) this.#pause(largest);
    else if (largest.length > 0 || !makesRoom) for (const [account, holder] of largest) this.#cut(account, holder);
    else this.#cutSmall();
    return isMeasured;
  }

  /** Cuts the newest small holders with at least the mean, as many as it takes to admit exchanges; most holders may be ordinary streams. */
  #cutSmall(): void {
    const holders = [...this.#holders].map(([account, holder]) => ({
      account,
      holder,
      bytes: Math.max(account.total, leastHeldBytes),
    }));
    const heap = heapShares.refuse * roomyShare;
    let excess = this.#meter.excess({ heap, memory: memoryShares.refuse * roomyShare });
    const mean = holders.reduce((sum, { bytes }) => sum + bytes, 0) / holders.length;
    for (const { account, holder, bytes } of holders.toReversed()) {
      if (excess <= 0) return;
      if (bytes < mean) continue;
      excess -= bytes;
      this.#cut(account, holder);
    }
  }

  /** Finds the largest holders: as many as together hold more than these bytes. */
  #findLargest(bytes: number): (readonly [Account, Holder])[] {
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

  #pause(holders: readonly (readonly [Account, Holder])[]): void {
    for (const [account, holder] of holders) {
      if (this.#paused.has(account)) continue;
      this.#paused.add(account);
      holder.pause();
    }
  }

  #resumeAll(): void {
    for (const account of this.#paused) this.#holders.get(account)?.resume();
    this.#paused.clear();
  }

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
