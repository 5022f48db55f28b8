/** Takes one step of a work that may take long. True once it is done, or nobody wants it any more. */
export type TakeStep = () => boolean;

/** Works that take long, one after the other, so that what one of them needs in memory is needed once. */
export interface StepQueue {
  add(takeStep: TakeStep): void;
}

/** Between two steps everything else has the event loop. */
export function createStepQueue(): StepQueue {
  const waiting: TakeStep[] = [];
  let isRunning = false;

  function next(): void {
    while (waiting.length > 0) {
      if (waiting[0]?.() !== true) {
        setImmediate(next);
        return;
      }
      waiting.shift();
    }
    isRunning = false;
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
