/** Work in steps, between which the event loop is free (docs/decisions/0006-cpu-of-a-request.md). */
export type Steps<Result> = Generator<void, Result, void>;

/** `in_turn`: when the event loop has not been with such messages for long; `in_steps`: each step in a turn of it. */
export type Pace = 'at_once' | 'in_turn' | 'in_steps';

/** Takes all steps one after the other, without giving the event loop back, and returns their result. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
