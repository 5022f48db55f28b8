import type { HeapGauge, ResidentMemory } from './heap.ts';
import type { Ledger } from './ledger.ts';

/** Parts of a whole that are of V8's heap and of the process's memory. */
export interface MemoryShares {
  readonly heap: number;
  readonly memory: number;
}

/** The process's memory is measured again after this many bytes have been held or read. */
const checkIntervalBytes = 4 * 1024 * 1024;
/** Pages are given back only where the process has a larger share of the memory. */
const giveBackMemoryShare = 0.6;
/** The share of the memory above which pages of neither the heap nor a holder are given back: V8 keeps most of them. */
const spareMemoryShare = 1 / 4;
/**
 * Pages are given back only while the live heap is a smaller share of them: V8 makes up to seven collections for it, whose time
 * grows with what is live, and the values of new requests fit into the pages as they are.
 */
const cheapLiveShare = 1 / 4;

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

  /** Measures the process's memory, for whoever relieves it. */
  look(): void {
    this.#see();
    this.#workedSinceSeen = 0;
  }

  /** Measures it if much has been held or freed since. That relieves nobody: what is worked counts on. */
  lookIfDue(): void {
    if (Math.abs(this.#ledger.bytes - this.#heldWhenSeen) > checkIntervalBytes) this.#see();
  }

  /** So many bytes of messages were read, which soon become garbage that only the process's size shows. Is it time to look? */
  worked(bytes: number): boolean {
    this.#workedSinceSeen += bytes;
    return this.#workedSinceSeen >= checkIntervalBytes;
  }

  /** Counts so many bytes on top of the measured size: the ledger has them already, the process does not yet. */
  expect(bytes: number): void {
    this.#heldWhenSeen -= bytes;
  }

  /** Collects garbage at once if garbage may be what fills the memory. Returns whether it did. */
  collect(isUrgent: boolean): boolean {
    if (!this.#heap.collect(isUrgent)) return false;
    this.look();
    const { limit } = this.#resident;
    const spare = this.#residentBytes - this.#heap.live - this.#ledger.bodies;
    const isWorthIt = spare > limit * spareMemoryShare && this.#heap.live < spare * cheapLiveShare;
    if (isWorthIt && this.#residentBytes > limit * giveBackMemoryShare && this.#heap.giveBack()) this.look();
    return true;
  }

  #see(): void {
    this.#residentBytes = this.#resident.bytes();
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
