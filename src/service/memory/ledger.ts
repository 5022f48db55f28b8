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

  /** Sets the bytes that were written, and are yet to be read by the other side. */
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
