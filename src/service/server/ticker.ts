/** Called with the time. */
export interface TickListener {
  /** `at` in milliseconds of a monotonic clock. */
  tick(at: number): void;
  /** The slot in the ticker, which alone writes it; -1 when there is none. */
  tickSlot: number;
}

export type Ticker = ReturnType<typeof createTicker>;

/**
 * Calls its listeners at a fixed interval. One timer for all exchanges: thousands of separate ones would cost more than the work they trigger.
 *
 * They are in an array in which the last listener takes the slot of one that is removed. A `Set` that thousands enter
 * and leave per second often makes a new table; old tables that have moved to the old generation keep their entries
 * alive until that is collected: a fifth of what survives a collection of the young one under small JSON answers.
 */
export function createTicker(periodMs: number) {
  const listeners: TickListener[] = [];
  const timer = setInterval(() => {
    const at = performance.now();
    // Backwards, since a listener may be removed when it is called, and the last one then takes its slot.
    for (let slot = listeners.length - 1; slot >= 0; slot--) listeners[slot]?.tick(at);
  }, periodMs).unref();
  return {
    add(listener: TickListener): void {
      listener.tickSlot = listeners.push(listener) - 1;
    },
    remove(listener: TickListener): void {
      const slot = listener.tickSlot;
      const last = listeners.at(-1);
      if (slot === -1 || last === undefined) return;
      listeners[slot] = last;
      last.tickSlot = slot;
      listeners.pop();
      listener.tickSlot = -1;
    },
    stop: () => clearInterval(timer),
  };
}
