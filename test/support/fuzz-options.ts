import type { Parameters } from 'fast-check';

/** `npm test -- fuzz` gives each property minutes; in `npm test` each gets a fixed, small number of runs. */
export const fuzzSeconds = Number(process.env['FUZZ_SECONDS'] ?? 0);

/** How often a property is tried. */
export function tries(
  count: number,
): Pick<Parameters, 'numRuns' | 'interruptAfterTimeLimit' | 'markInterruptAsFailure'> {
  return fuzzSeconds > 0
    ? { numRuns: 1e9, interruptAfterTimeLimit: fuzzSeconds * 1000, markInterruptAsFailure: false }
    : { numRuns: count };
}

export const fuzzTimeout = fuzzSeconds * 1000 + 600_000;
