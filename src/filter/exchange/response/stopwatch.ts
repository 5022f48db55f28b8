/** Measures inactivity with the resolution of the ticks, so that the clock is not read for each chunk. */
export class Stopwatch {
  #touched = true;
  #since = 0;

  /** Something happened: restarts at the next tick. */
  touch(): void {
    this.#touched = true;
  }

  /** Milliseconds since the first tick after the last `touch`. */
  elapsed(at: number): number {
    if (this.#touched) this.#since = at;
    this.#touched = false;
    return at - this.#since;
  }
}
