/** What all calls and connections of the process hold, in bytes. */
export class Ledger {
  bytes = 0;
  /** Those outside V8's heap: bodies that are yet to be parsed, and what is kept as bytes for later. */
  bodies = 0;

  /** Those that are or may be in V8's heap. */
  get heap(): number {
    return this.bytes - this.bodies;
  }
}

/** What one of them holds. It counts until `close`. */
export class Account {
  readonly #ledger: Ledger;
  #unsent = 0;
  /** What it says that it holds. */
  held = 0;
  /** Of that, bytes of a body that is yet to be parsed. */
  body = 0;
  isOpen = true;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** What is held, with what is unsent. */
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

  /** It holds nothing any more, and will not again. */
  close(): void {
    this.set(0, 0);
    this.setUnsent(0);
    this.isOpen = false;
  }
}
