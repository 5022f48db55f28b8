import { expect, it } from 'vitest';
import { restartDelay } from '../../../../src/service/server/workers.ts';

it('a worker that exits at once waits twice as long each time, and one that ran well as short as the first', () => {
  const delays: number[] = [];
  for (let time = 0; time < 9; time += 1) delays.push(restartDelay(delays.at(-1) ?? 0, 50));
  expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  expect([30_000, 30_001].map((ranMs) => restartDelay(10_000, ranMs))).toEqual([10_000, 100]);
});
