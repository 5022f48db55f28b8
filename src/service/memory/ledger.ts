import type { HeldKind } from '../../filter/exchange/types.ts';

const heapKinds: ReadonlySet<HeldKind> = new Set<HeldKind>(['parsed', 'context', 'stream']);

const heldKinds: readonly HeldKind[] = ['parsed', 'context', 'stream', 'received', 'chat', 'echo', 'unsent'];

/** Bytes held by all calls of the process, in V8's heap and outside it. */
export class Ledger {
  heap = 0;
  outside = 0;
  readonly #byKind: Record<HeldKind, number> = nothing();

  of(kind: HeldKind): number {
    return this.#byKind[kind];
  }

  add(kind: HeldKind, bytes: number): void {
    this.#byKind[kind] += bytes;
    if (heapKinds.has(kind)) this.heap += bytes;
    else this.outside += bytes;
  }

  total(): number {
    return this.heap + this.outside;
  }
}

/** What one call holds. It counts from `open` to `close`. */
export class Account {
  readonly #ledger: Ledger;
  readonly #held: Record<HeldKind, number> = nothing();
  #total = 0;
  #isOpen = true;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Sets how many bytes of that kind the call holds. */
  set(kind: HeldKind, bytes: number): void {
    const change = bytes - this.#held[kind];
    if (change === 0 || !this.#isOpen) return;
    this.#held[kind] = bytes;
    this.#total += change;
    this.#ledger.add(kind, change);
  }

  of(kind: HeldKind): number {
    return this.#held[kind];
  }

  total(): number {
    return this.#total;
  }

  /** The call no longer holds anything. */
  clear(): void {
    for (const kind of heldKinds) this.set(kind, 0);
  }

  /** The same, and will not again. */
  close(): void {
    this.clear();
    this.#isOpen = false;
  }
}

/** Written out, so that they all have one hidden class in V8. */
function nothing(): Record<HeldKind, number> {
  return { parsed: 0, context: 0, stream: 0, received: 0, chat: 0, echo: 0, unsent: 0 };
}
