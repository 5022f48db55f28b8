/** Work in steps, between which the event loop is free (docs/decisions/0006-cpu-of-a-request.md). */
export type Steps<Result> = Generator<void, Result, void>;

/** The way to handle an event: `queued_once` waits while large bodies keep the event loop busy; `in_steps` frees it after each step. */
export type Schedule = 'at_once' | 'queued_once' | 'in_steps';

/** Takes all steps at once, and returns their result. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
