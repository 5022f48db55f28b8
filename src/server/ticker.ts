/** Called with the time. */
export interface TickListener {
  /** `at` in milliseconds of a monotonic clock. */
  tick(at: number): void;
}

/** Calls its listeners at a fixed interval. */
export interface Ticker {
  add(listener: TickListener): void;
  remove(listener: TickListener): void;
  stop(): void;
}

/** One timer for all exchanges: thousands of separate ones would cost more than the work they trigger. */
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
