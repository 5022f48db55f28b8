export type StepQueue = ReturnType<typeof createStepQueue>;

/** Does one step of a long task. True once the task is done or abandoned. */
type TakeStep = () => boolean;

/**
 * Runs long tasks one after the other, so that the memory for one is needed only once. An event-loop slice has as many steps as begin
 * within `sliceMs`, but one at least: with a slice for every step, all messages that are read meanwhile would go first
 * (docs/decisions/0006-cpu-of-a-request.md). `now` is a clock in milliseconds, by default this process's CPU time: ending a slice early
 * helps nobody while another process has the core.
 */
export function createStepQueue(sliceMs: number, now: () => number = cpuMs) {
  const waiting: TakeStep[] = [];
  let isScheduled = false;
  let sliceStartedAt = 0;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    sliceStartedAt = now();
    setImmediate(next);
  }

  function hasTimeLeft(): boolean {
    return now() - sliceStartedAt < sliceMs;
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
    /** Whether a task of one step may be done at once: nothing waits, and this event-loop slice may take more. */
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
