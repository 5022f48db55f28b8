import type { HeapGauge, ResidentMemory } from './heap.ts';

export interface MemoryShares {
  readonly heap: number;
  readonly memory: number;
}

/** The process's memory is measured again after this many bytes have been held or read. */
const checkIntervalBytes = 4 * 1024 * 1024;
/** Pages are given back only where the process has a larger share of the memory. */
const giveBackMemoryShare = 0.6;
/** Pages are given back only where V8 may keep a larger share of the memory in empty ones. */
const emptyMemoryShare = 1 / 4;
/** Giving back takes up to eight collections, whose time grows with the live heap: it may be no larger share of the empty pages. */
const cheapLiveShare = 1 / 4;

/** Milliseconds after which the memory of a start is given back, a sixth of an idle service's: most of it is compiled code. */
const startMs = 1000;
/** Idle times after which memory is given back: sooner, a load after a pause took up to half as much CPU again in its first seconds. */
const idleMs = [20_000, 25_000];
/** An idle process that has grown by less does not give memory back, which takes some 40 ms. */
const growthBytes = 8 * 1024 * 1024;

/** How full the process's memory is: as last measured, with what the ledger says that has come since. */
export class MemoryMeter {
  /** Heap bytes of holders that were cut since the last measurement: garbage, though not collected yet. */
  cutSinceMeasured = 0;
  /** Bytes that the store has evicted since the last measurement: they stay in the process until the next. */
  evictedSinceMeasured = 0;
  readonly #ledger: Ledger;
  readonly #heap: HeapGauge;
  readonly #resident: ResidentMemory;
  #measuredHeap: number;
  /** Bytes that the ledger counted in the heap at the last measurement. */
  #heapWhenMeasured = 0;
  #residentBytes: number;
  #heldWhenSeen = 0;
  #workedSinceSeen = 0;
  /** The most bytes of pages that the heap was seen to have since it last gave them back. */
  #mostPages = 0;
  #idleSince: number | null = null;
  /** The idle times, in milliseconds, at which memory is yet to be given back. */
  #giveBackAfter: readonly number[] = [startMs, ...idleMs];
  /** The smallest size after giving back; null before the first time, for which a process under load since its start has to wait. */
  #leastBytes: number | null = null;

  constructor(ledger: Ledger, heap: HeapGauge, resident: ResidentMemory) {
    this.#ledger = ledger;
    this.#heap = heap;
    this.#resident = resident;
    this.#measuredHeap = heap.live;
    this.#residentBytes = resident.bytes();
  }

  /** The shares that are in use, once `more` bytes of heap are taken. */
  shares(more = 0): MemoryShares {
    return { heap: (this.#liveHeap() + more) / this.#heap.limit, memory: this.#memory() / this.#resident.limit };
  }

  /** Bytes by which either is above these shares, without what is garbage for certain; less than 0 if neither is. */
  excess({ heap, memory }: MemoryShares): number {
    const live = this.#liveHeap();
    const kept = this.#memory() - this.evictedSinceMeasured;
    return Math.max(kept - this.#resident.limit * memory, live - this.#heap.limit * heap);
  }

  /** Measures the process's memory, and counts the work until the next measurement from 0. */
  look(): void {
    this.#see();
    this.#workedSinceSeen = 0;
  }

  /** Measures the process's memory if much has been held or freed since. Work is counted on, since nothing was relieved. */
  lookIfDue(): void {
    if (Math.abs(this.#ledger.bytes - this.#heldWhenSeen) > checkIntervalBytes) this.#see();
  }

  /** Counts the bytes of messages, of which garbage is made that only the process's size shows. Returns whether it is time to look. */
  worked(bytes: number): boolean {
    this.#workedSinceSeen += bytes;
    return this.#workedSinceSeen >= checkIntervalBytes;
  }

  /** Counts so many bytes on top of the measured size: the ledger has them already, the process does not yet. */
  expect(bytes: number): void {
    this.#heldWhenSeen -= bytes;
  }

  /** Collects garbage, and gives empty pages back where these are much of the memory. Returns whether it collected. */
  collect(kind: 'affordable' | 'urgent'): boolean {
    if (!this.#heap.collect(kind)) return false;
    this.look();
    const { limit } = this.#resident;
    const empty = this.#mostPages - this.#heap.live;
    const isWorthIt = empty > limit * emptyMemoryShare && this.#heap.live < empty * cheapLiveShare;
    if (isWorthIt && this.#residentBytes > limit * giveBackMemoryShare) this.#giveBack();
    return true;
  }

  /** Gives back what a start or a load has left, which V8 keeps until the next load. `isIdle`: there was no work since the last call. */
  giveBackIfIdle(isIdle: boolean, at: number): void {
    if (!isIdle) this.#giveBackAfter = idleMs;
    if (!isIdle || this.#idleSince === null) this.#idleSince = at;
    const [after = Number.POSITIVE_INFINITY, ...later] = this.#giveBackAfter;
    if (at - this.#idleSince < after) return;
    this.#giveBackAfter = later;
    this.look();
    const least = this.#leastBytes;
    if (least !== null && this.#residentBytes <= least + growthBytes) return;
    if (!this.#giveBack()) return;
    this.#leastBytes = Math.min(least ?? this.#residentBytes, this.#residentBytes);
  }

  #giveBack(): boolean {
    if (!this.#heap.collect('give_back')) return false;
    this.#mostPages = 0;
    this.look();
    return true;
  }

  #see(): void {
    this.#residentBytes = this.#resident.bytes();
    this.#mostPages = Math.max(this.#mostPages, this.#heap.pages());
    this.#heldWhenSeen = this.#ledger.bytes;
  }

  #liveHeap(): number {
    const { live } = this.#heap;
    if (live !== this.#measuredHeap) {
      this.#measuredHeap = live;
      this.#heapWhenMeasured = this.#ledger.heap;
      this.cutSinceMeasured = 0;
      this.evictedSinceMeasured = 0;
    }
    const growth = this.#ledger.heap + this.cutSinceMeasured - this.#heapWhenMeasured;
    return live + Math.max(growth, 0) - this.cutSinceMeasured;
  }

  #memory(): number {
    return this.#residentBytes + Math.max(this.#ledger.bytes - this.#heldWhenSeen, 0);
  }
}

/** Bytes that all calls and connections of the process hold. */
export class Ledger {
  bytes = 0;
  /** Bytes outside V8's heap: bodies that are yet to be parsed, and what is kept as bytes for later. */
  bodies = 0;

  /** Bytes that are or may be in V8's heap. */
  get heap(): number {
    return this.bytes - this.bodies;
  }
}

/** Counts the bytes of one call or connection, until `close`. */
export class Account {
  readonly #ledger: Ledger;
  #unsent = 0;
  held = 0;
  /** The part of `held` that is a body yet to be parsed. */
  body = 0;
  isOpen = true;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get total(): number {
    return this.held + this.#unsent;
  }

  set(held: number, body: number): void {
    if (!this.isOpen) return;
    this.#ledger.bytes += held - this.held;
    this.#ledger.bodies += body - this.body;
    this.held = held;
    this.body = body;
  }

  setUnsent(bytes: number): void {
    if (!this.isOpen) return;
    this.#ledger.bytes += bytes - this.#unsent;
    this.#unsent = bytes;
  }

  close(): void {
    this.set(0, 0);
    this.setUnsent(0);
    this.isOpen = false;
  }
}
