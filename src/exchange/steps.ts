/**
 * Work in steps: after each, others may have the event loop. A large body takes several times the 100 ms that one request
 * may hold it for (docs/decisions/0006-cpu-of-a-request.md); one of the steps does not.
 */
export type Steps<Result> = Generator<void, Result, void>;

/** All steps at once. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
