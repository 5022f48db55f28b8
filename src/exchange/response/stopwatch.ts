/** Measures silence by the ticks alone, so that no clock is read for a chunk. */
export interface Stopwatch {
  /** Something happened: it counts from the next tick on. */
  touch(): void;
  /** Milliseconds since then, as the ticks saw it. */
  elapsed(at: number): number;
}

export function createStopwatch(): Stopwatch {
  return new TickedStopwatch();
}

class TickedStopwatch implements Stopwatch {
  #touched = true;
  #since = 0;

  touch(): void {
    this.#touched = true;
  }

  elapsed(at: number): number {
    if (this.#touched) this.#since = at;
    this.#touched = false;
    return at - this.#since;
  }
}
