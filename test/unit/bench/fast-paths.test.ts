import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FastPath, fastPaths, unpaired } from '../../../bench/fast-paths.ts';
import { readResults } from '../../../bench/results.ts';

const src = join(import.meta.dirname, '../../../src');
const withComment = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && /\bfast path\b/i.test(readFileSync(join(src, file), 'utf8')))
  .sort();

test('every fast path says in bench/fast-paths.ts when it goes', () => {
  expect([...fastPaths.flatMap(({ files }) => files), ...Object.keys(unpaired)].sort()).toEqual(withComment);
});

const { date, rows } = readResults().pairs ?? { date: '', rows: [] };
const recorded = new Map(rows.map(([work, general, fast]) => [String(work), [Number(general), Number(fast)] as const]));

test.each(fastPaths)('to $work it is worth it in the last recorded run', (path) => {
  const verdict = verdictOf(path, recorded.get(path.work));
  expect(verdict, verdict ?? '').toBeNull(); // vitest cuts long values, and not messages
});

test('a run in which it is not says what to delete', () => {
  const [path] = fastPaths;
  if (path === undefined) throw new Error('no fast path is measured');
  expect(verdictOf(path, [0.1, 0.1])).toMatch(
    /^Delete the fast path of src\/filter\/extproc\/deserialize-request\.ts: .* 1\.00 times/,
  );
  expect(verdictOf(path, undefined)).toMatch(/^bench\/results\.json has no row/);
});

test.each(fastPaths)('both ways to $work run', ({ prepare }) => {
  const { general, fast } = prepare();
  expect(() => [general(), fast()]).not.toThrow();
});

/** What to do about a fast path; null where it stays. */
function verdictOf({ files, work, least }: FastPath, known: readonly [number, number] | undefined): string | null {
  if (known === undefined)
    return `bench/results.json has no row “${work}”: npm run bench -- --only pairs --record, on a quiet machine.`;
  const [general, fast] = known;
  if (general >= least * fast) return null;
  const where = files.map((file) => `src/${file}`).join(', ');
  return `Delete the fast path of ${where}: in the run of ${date} the general way cost ${(general / fast).toFixed(2)} times as much, and ${least} was the least.`;
}
