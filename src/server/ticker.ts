/** Hears of the time. */
export interface TickListener {
  /** `at` in milliseconds of a clock that only grows. */
  tick(at: number): void;
}

/** Calls everyone who listens, at a steady pace. */
export interface Ticker {
  add(listener: TickListener): void;
  remove(listener: TickListener): void;
  stop(): void;
}

/** One timer for all exchanges: thousands of their own would cost more than what they do. */
export function createTicker(periodMs: number): Ticker {
  const listeners = new Set<TickListener>();
  const timer = setInterval(() => {
    const at = performance.now();
    for (const listener of listeners) listener.tick(at);
  }, periodMs);
  timer.unref();
  return {
    add: (listener) => void listeners.add(listener),
    remove: (listener) => void listeners.delete(listener),
    stop: () => clearInterval(timer),
  };
}
