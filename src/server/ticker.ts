/** Calls everyone who listens, at a steady pace, with a clock that only grows (milliseconds). */
export interface Ticker {
  /** Gives back the function that ends it. */
  add(listener: (at: number) => void): () => void;
  stop(): void;
}

/** One timer for all exchanges: thousands of their own would cost more than what they do. */
export function createTicker(periodMs: number): Ticker {
  const listeners = new Set<(at: number) => void>();
  const timer = setInterval(() => {
    const at = performance.now();
    for (const listener of listeners) listener(at);
  }, periodMs);
  timer.unref();
  return {
    add(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => clearInterval(timer),
  };
}
