/**
 * Work in steps, between which the event loop is free. A large body takes several times the 100 ms for which one request
 * may block it (docs/decisions/0006-cpu-of-a-request.md); a single step does not.
 */
export type Steps<Result> = Generator<void, Result, void>;

/**
 * When a message is handled. `in_turn`: as soon as the event loop has been with such messages for a short time only, since
 * many may arrive together; `in_steps`: one after the other, and each step in a turn of the event loop of its own.
 */
export type Pace = 'at_once' | 'in_turn' | 'in_steps';

/** All steps at once. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
