import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { bounds, flags } from '../support/work/bounds.ts';
import type { MeasuredCpu } from '../support/work/cpu-per-byte.ts';
import type { MeasuredHold, MeasuredWork } from '../support/work/measure.ts';

/** What a run of `test/unit/work.test.ts` is too short for. */

const folder = join(import.meta.dirname, '../support/work');

async function linesOf<Line>(...args: readonly string[]): Promise<Line[]> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  const lines = stdout.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Line);
}

/** The most CPU for a byte of the largest input, beside that of an eighth of it: a square has 8. */
const mostGrowth = 3;

const cpu = await linesOf<MeasuredCpu>('--max-old-space-size=4096', 'cpu-per-byte.ts');
const held = await linesOf<MeasuredHold>(...flags.held, 'measure.ts', 'held');
const [...pairs] = await linesOf<MeasuredWork>(...flags.work, 'measure.ts', 'pairs');

it.each(cpu.map((measured) => [measured.name, measured] as const))(
  '%s costs as much CPU for each of its bytes',
  (_, measured) => {
    expect(measured.growth, JSON.stringify(measured)).toBeLessThan(mostGrowth);
  },
);

describe('what is kept is counted', () => {
  it.each(held.map((measured) => [measured.name, measured] as const))('%s', (_, { held, counted }) => {
    expect(held).toBeLessThan(bounds.held * counted + bounds.ownBytes);
  });
});

describe('no two things of a request multiply each other', () => {
  it.each(pairs.map((measured) => [measured.name, measured] as const))(
    '%s',
    (_, { steps, allocated, steepest, sent }) => {
      expect(steps, JSON.stringify(steepest)).toBeLessThan(bounds.steps);
      expect(allocated, JSON.stringify(steepest)).toBeLessThan(bounds.allocated);
      expect(steepest[0]?.growth ?? 0, JSON.stringify(steepest)).toBeLessThan(bounds.steepest);
      expect(sent).toBeLessThan(bounds.sent);
    },
  );
});
