export interface TickListener {
  /** `at` is in milliseconds of a monotonic clock. */
  tick(at: number): void;
  /** Index in the ticker's array, which only the ticker writes; -1 outside it. */
  tickSlot: number;
}

export type Ticker = ReturnType<typeof createTicker>;

/**
 * Calls its listeners at a fixed interval, from one timer: thousands of timers would cost more than the work that they trigger. The
 * listeners are in an array, in which the last one takes the slot of one that is removed. A `Set` makes new tables when thousands
 * of listeners come and go; its old tables keep ended calls in memory until V8 collects the old generation.
 */
export function createTicker(periodMs: number) {
  const listeners: TickListener[] = [];
  const timer = setInterval(() => {
    const at = performance.now();
    // Backwards, because a listener may remove itself, and the last one then takes its slot.
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
