import { median } from './table.ts';

/**
 * How a figure of one commit is judged against the same figure of another. Slices of both are measured one right after
 * the other, in pairs, and each pair gives a ratio. A figure is better or worse when the 95 % interval of the median ratio
 * (sign test: it assumes nothing about the distribution of the noise) excludes 1 in two independent passes,
 * both times on the same side, and the median is at least 2 % away from 1; everything else is noise.
 */

/** One figure, measured for both commits one right after the other. */
export interface Pair {
  readonly before: number;
  readonly after: number;
}

/** Which way a figure improves: CPU time is better when lower, requests per second when higher. */
export type Better = 'lower' | 'higher';

export interface Judgement {
  /** Medians of all slices. */
  readonly before: number;
  readonly after: number;
  /** Median of `after / before` over all pairs, and the 95 % interval of that median. */
  readonly ratio: number;
  readonly interval: Interval;
  readonly verdict: 'better' | 'worse' | 'noise';
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** With fewer pairs even all of them on one side have a probability above 5 %. */
export const fewestPairs = 6;
/** Twice this is the probability that equal commits give an interval without 1. */
const tail = 0.025;
/** A smaller difference is not worth reporting, however certain it is. */
const smallestChange = 0.02;

/**
 * Judges one figure by its passes, each of at least `fewestPairs` pairs. One pass always gives `noise`: a
 * difference counts only when it is seen twice. Throws a RangeError when a pass has too few pairs.
 */
export function judge(passes: readonly (readonly Pair[])[], better: Better): Judgement {
  const pairs = passes.flat();
  const ratio = median(pairs.map(ratioOf));
  const sides = passes.map(sideOf);
  const [side] = sides;
  const isSure = sides.length > 1 && side !== undefined && side !== 0 && sides.every((other) => other === side);
  const isChange = isSure && Math.abs(ratio - 1) >= smallestChange;
  return {
    before: median(pairs.map(({ before }) => before)),
    after: median(pairs.map(({ after }) => after)),
    ratio,
    interval: intervalOf(pairs.map(ratioOf)),
    verdict: !isChange ? 'noise' : side === (better === 'lower' ? -1 : 1) ? 'better' : 'worse',
  };
}

/** True when the figure looks different in this pass, so that a second pass has to decide. */
export function looksDifferent(pairs: readonly Pair[]): boolean {
  return sideOf(pairs) !== 0 && Math.abs(median(pairs.map(ratioOf)) - 1) >= smallestChange;
}

/** 1: the interval lies above 1, -1: below it, 0: it holds 1. */
function sideOf(pairs: readonly Pair[]): -1 | 0 | 1 {
  const { low, high } = intervalOf(pairs.map(ratioOf));
  return low > 1 ? 1 : high < 1 ? -1 : 0;
}

/** The 95 % confidence interval of the median of the distribution that these were drawn from. */
function intervalOf(ratios: readonly number[]): Interval {
  if (ratios.length < fewestPairs) throw new RangeError(`A verdict needs at least ${fewestPairs} pairs of slices.`);
  const sorted = ratios.toSorted((a, b) => a - b);
  const cut = strays(ratios.length);
  const [low = Number.NaN, high = Number.NaN] = [sorted[cut], sorted[sorted.length - 1 - cut]];
  return { low, high };
}

/** The largest k for which “at most k tails in `count` coin throws” has a probability of at most `tail`; −1 for none. */
function strays(count: number): number {
  let probability = 0.5 ** count;
  let below = probability;
  let most = 0;
  while (below <= tail) {
    probability *= (count - most) / (most + 1);
    below += probability;
    most += 1;
  }
  return most - 1;
}

function ratioOf({ before, after }: Pair): number {
  return after / before;
}
