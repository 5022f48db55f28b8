/** Measures silence by the ticks alone, so that no clock is read for a chunk. */
export interface Stopwatch {
  /** Something happened: it counts from the next tick on. */
  touch(): void;
  /** Milliseconds since then, as the ticks saw it. */
  elapsed(at: number): number;
}

export function createStopwatch(): Stopwatch {
  let touched = true;
  let since = 0;
  return {
    touch() {
      touched = true;
    },
    elapsed(at) {
      if (touched) since = at;
      touched = false;
      return at - since;
    },
  };
}
