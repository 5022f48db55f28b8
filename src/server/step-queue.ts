/** Does one step of a long task. True once the task is done or abandoned. */
export type TakeStep = () => boolean;

/** Runs long tasks one after the other, so that the memory for one is needed only once. */
export interface StepQueue {
  add(takeStep: TakeStep): void;
}

/** The event loop is free between two steps, of one task or of two. */
export function createStepQueue(): StepQueue {
  const waiting: TakeStep[] = [];
  let isRunning = false;

  function next(): void {
    if (waiting[0]?.() === true) waiting.shift();
    isRunning = waiting.length > 0;
    if (isRunning) setImmediate(next);
  }

  return {
    add(takeStep) {
      waiting.push(takeStep);
      if (isRunning) return;
      isRunning = true;
      setImmediate(next);
    },
  };
}
