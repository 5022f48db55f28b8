import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** Timers that pass when the test says so. */
export interface HeldTimers {
  /** Those that were set and neither cleared nor passed. */
  readonly count: number;
  /** Calls what waits for them. */
  pass(): void;
}

/**
 * Holds the timers of exactly `ms` milliseconds that this process sets from now on, until the test has finished; those of
 * `node:timers/promises` too, which cannot be cleared here.
 */
export function holdTimers(ms: number): HeldTimers {
  const held = new Map<unknown, () => void>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const sleep = timersPromises.setTimeout;
  const spies = [
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
      call: (...args: unknown[]) => void,
      after?: number,
      ...args: unknown[]
    ) => {
      if (after !== ms) return set(call, after, ...args);
      const timer = set(() => {}, 2 ** 31 - 1).unref();
      held.set(timer, () => call(...args));
      return timer;
    }) as typeof setTimeout),
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
      held.delete(timer);
      clear(timer);
    }),
    vi.spyOn(timersPromises, 'setTimeout').mockImplementation(((after?: number, value?: unknown, options?: object) => {
      if (after !== ms) return sleep(after, value, options);
      return new Promise<unknown>((resolve) => held.set({}, () => resolve(value)));
    }) as typeof sleep),
  ];
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
    syncBuiltinESMExports();
  });
  return {
    get count() {
      return held.size;
    },
    pass() {
      for (const [timer, call] of [...held]) {
        held.delete(timer);
        call();
      }
    },
  };
}
