export type StepQueue = ReturnType<typeof createStepQueue>;

/** Does one step of a long task. True once the task is done or abandoned. */
type TakeStep = () => boolean;

/**
 * Runs long tasks one after the other, so that the memory for one is needed only once. A turn of the event loop takes as many steps as begin within `turnMs`, but one at least. A turn for every step would let
 * all that is read meanwhile go first (docs/decisions/0006-cpu-of-a-request.md). `now` is a clock in milliseconds: by default
 * of this process's CPU time, since a turn that ends earlier is of no use to anybody while another process has the core.
 */
export function createStepQueue(turnMs: number, now: () => number = cpuMs) {
  const waiting: TakeStep[] = [];
  let isScheduled = false;
  let turnStartedAt = 0;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    turnStartedAt = now();
    setImmediate(next);
  }

  function hasTimeLeft(): boolean {
    return now() - turnStartedAt < turnMs;
  }

  function next(): void {
    isScheduled = false;
    do {
      if (waiting[0]?.() === true) waiting.shift();
    } while (waiting.length > 0 && hasTimeLeft());
    if (waiting.length > 0) schedule();
  }

  return {
    add(takeStep: TakeStep): void {
      waiting.push(takeStep);
      schedule();
    },
    /** Whether a task of one step may be done at once: nothing waits, and this turn of the event loop may take more. */
    hasTime(): boolean {
      if (waiting.length > 0) return false;
      if (isScheduled) return hasTimeLeft();
      schedule();
      return true;
    },
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
