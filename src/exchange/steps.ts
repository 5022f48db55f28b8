/**
 * Work in steps, between which the event loop is free. A large body takes several times the 100 ms for which one request
 * may block it (docs/decisions/0006-cpu-of-a-request.md); a single step does not.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** All steps at once. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
