/** Work in steps, between which the event loop is free (docs/decisions/0006-cpu-of-a-request.md). */
export type Steps<Result> = Generator<void, Result, void>;

/** How an event is handled: `queued_once` waits while other large bodies keep the event loop busy; `in_steps` gives it back after each step. */
export type Schedule = 'at_once' | 'queued_once' | 'in_steps';

/** Takes all steps one after the other, without giving the event loop back, and returns their result. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
