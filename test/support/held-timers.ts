import { onTestFinished, vi } from 'vitest';

/** Timers that pass when the test says so. */
export interface HeldTimers {
  /** Those that were set and neither cleared nor passed. */
  readonly count: number;
  /** Calls what waits for them. */
  pass(): void;
}

/** Holds the timers of exactly `ms` milliseconds that this process sets from now on, until the test has finished. */
export function holdTimers(ms: number): HeldTimers {
  const held = new Map<unknown, () => void>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const setting = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    call: (...args: unknown[]) => void,
    after?: number,
    ...args: unknown[]
  ) => {
    if (after !== ms) return set(call, after, ...args);
    const timer = set(() => {}, 2 ** 31 - 1).unref();
    held.set(timer, () => call(...args));
    return timer;
  }) as typeof setTimeout);
  const clearing = vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    held.delete(timer);
    clear(timer);
  });
  onTestFinished(() => {
    setting.mockRestore();
    clearing.mockRestore();
    for (const timer of held.keys()) clear(timer as NodeJS.Timeout);
  });
  return {
    get count() {
      return held.size;
    },
    pass() {
      for (const [timer, call] of [...held]) {
        held.delete(timer);
        clear(timer as NodeJS.Timeout);
        call();
      }
    },
  };
}
