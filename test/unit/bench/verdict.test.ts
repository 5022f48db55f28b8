import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../bench/fixtures.ts';
import { fewestPairs, judge, looksDifferent, type Pair } from '../../../bench/verdict.ts';

/**
 * Pairs of a noisy machine: each pair shares a disturbance of up to 30 %, each slice has one of its own of up to 3 %, and
 * one slice in fifty takes twice as long. `change` is the true ratio.
 */
function pairsOf(count: number, change: number, random: () => number): Pair[] {
  const own = () => (0.97 + 0.06 * random()) * (random() < 0.02 ? 2 : 1);
  return Array.from({ length: count }, () => {
    const shared = 20 * (1 + 0.3 * random());
    return { before: shared * own(), after: shared * change * own() };
  });
}

function verdictsOf(change: number, runs: number, better: 'lower' | 'higher' = 'lower') {
  const random = createRandom(7);
  return Array.from({ length: runs }, () => {
    const passes = [pairsOf(9, change, random), pairsOf(9, change, random)];
    return judge(passes, better).verdict;
  });
}

describe('the verdict on a figure of two commits', () => {
  it('is noise for equal commits, in 2,000 of 2,000 figures', () => {
    expect(verdictsOf(1, 2000).filter((verdict) => verdict !== 'noise')).toEqual([]);
  });

  it('is worse for what costs 10 % more, better for what costs 10 % less, in 95 of 100 figures', () => {
    const share = (verdicts: readonly string[], wanted: string) =>
      verdicts.filter((verdict) => verdict === wanted).length / verdicts.length;
    expect(share(verdictsOf(1.1, 500), 'worse')).toBeGreaterThan(0.95);
    expect(share(verdictsOf(0.9, 500), 'better')).toBeGreaterThan(0.95);
  });

  it('is the other way round for figures that are better when higher', () => {
    const random = createRandom(1);
    const passes = [pairsOf(9, 1.2, random), pairsOf(9, 1.2, random)];
    expect(judge(passes, 'lower').verdict).toBe('worse');
    expect(judge(passes, 'higher').verdict).toBe('better');
  });

  it('is noise while a difference was seen in one pass only, or in two that disagree', () => {
    const up = Array.from({ length: 9 }, () => ({ before: 10, after: 12 }));
    const down = Array.from({ length: 9 }, () => ({ before: 10, after: 8 }));
    expect(looksDifferent(up)).toBe(true);
    expect(judge([up], 'lower').verdict).toBe('noise');
    expect(judge([up, down], 'lower').verdict).toBe('noise');
    expect(judge([up, up], 'lower').verdict).toBe('worse');
  });

  it('is noise below 2 %, however sure', () => {
    const pairs = Array.from({ length: 9 }, () => ({ before: 1000, after: 1019 }));
    expect(looksDifferent(pairs)).toBe(false);
    expect(judge([pairs, pairs], 'lower').verdict).toBe('noise');
    const more = pairs.map(({ before }) => ({ before, after: 1021 }));
    expect(judge([more, more], 'lower').verdict).toBe('worse');
  });

  it('lets one pair of nine stray, not two; none of six to eight', () => {
    const pairs = (count: number, strays: number) =>
      Array.from({ length: count }, (_, index) => ({ before: 10, after: index < strays ? 5 : 12 }));
    expect(looksDifferent(pairs(9, 1))).toBe(true);
    expect(looksDifferent(pairs(9, 2))).toBe(false);
    expect(looksDifferent(pairs(6, 0))).toBe(true);
    expect(looksDifferent(pairs(8, 1))).toBe(false);
  });

  it('gives medians, the median of the ratios, and the interval without the strays', () => {
    const ratios = [0.5, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 9];
    const judgement = judge([ratios.map((after) => ({ before: 1, after }))], 'lower');
    expect(judgement).toEqual({
      before: 1,
      after: 1.4,
      ratio: 1.4,
      interval: { low: 1.1, high: 1.7 },
      verdict: 'noise',
    });
  });

  it('is refused below the number of pairs that can tell', () => {
    const pairs = (count: number) => Array.from({ length: count }, () => ({ before: 1, after: 2 }));
    expect(() => judge([pairs(fewestPairs - 1)], 'lower')).toThrow(/at least 6 pairs/);
    expect(judge([pairs(fewestPairs)], 'lower').interval).toEqual({ low: 2, high: 2 });
  });

  it('is noise where a figure could not be measured', () => {
    const pairs = Array.from({ length: 9 }, () => ({ before: Number.NaN, after: 2 }));
    expect(judge([pairs, pairs], 'lower').verdict).toBe('noise');
    const none = pairs.map(() => ({ before: 0, after: 0 }));
    expect(judge([none, none], 'lower').verdict).toBe('noise');
  });
});
