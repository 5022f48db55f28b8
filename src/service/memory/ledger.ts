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

/** Bytes that one call or connection holds. They count until `close`. */
export class Account {
  readonly #ledger: Ledger;
  #unsent = 0;
  /** Bytes that the holder reports. */
  held = 0;
  /** The part of `held` that is a body yet to be parsed. */
  body = 0;
  isOpen = true;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Bytes that are held or unsent. */
  get total(): number {
    return this.held + this.#unsent;
  }

  /** Sets what it holds, and how much of that is of a body. */
  set(held: number, body: number): void {
    if (!this.isOpen) return;
    this.#ledger.bytes += held - this.held;
    this.#ledger.bodies += body - this.body;
    this.held = held;
    this.body = body;
  }

  /** Sets what was written and not yet read by the other side. */
  setUnsent(bytes: number): void {
    if (!this.isOpen) return;
    this.#ledger.bytes += bytes - this.#unsent;
    this.#unsent = bytes;
  }

  /** Closes the account: the holder has nothing any more, and will not again. */
  close(): void {
    this.set(0, 0);
    this.setUnsent(0);
    this.isOpen = false;
  }
}
