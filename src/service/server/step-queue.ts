export type StepQueue = ReturnType<typeof createStepQueue>;

/** Does one step of a long task. Returns true once the task is done or abandoned. */
type TakeStep = () => boolean;

/**
 * Runs long tasks one after the other, so that their memory is needed only once. An event-loop slice takes the steps that begin within
 * `sliceMs`, but at least one. With a slice for every step, all that is read meanwhile would go first
 * (docs/decisions/0006-cpu-of-a-request.md). `now` counts milliseconds, by default the CPU time of this process: a slice that ends
 * while another process has the core would help nobody.
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
    /** True if a task of one step need not wait: the queue is empty, and this event-loop slice has time left. */
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
