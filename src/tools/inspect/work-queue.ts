/** Work for pages that is done one after the other: it competes with the service for its CPU time. */
export interface Queue {
  /** Null if too many wait already. A task is not begun if its signal has been aborted by then. */
  run<Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result> | null;
}

/** At most `maxWaiting` tasks wait for the one that runs. */
export function createQueue(maxWaiting: number): Queue {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    run(task, signal) {
      if (waiting > maxWaiting) return null;
      waiting += 1;
      const result = last.then(async () => {
        signal.throwIfAborted();
        return task();
      });
      last = result
        .catch(() => {})
        .finally(() => {
          waiting -= 1;
        });
      return result;
    },
  };
}
