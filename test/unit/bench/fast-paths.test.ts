import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FastPath, fastPaths } from '../../../bench/fast-paths.ts';
import { readResults } from '../../../bench/results.ts';

const src = join(import.meta.dirname, '../../../src');
const withComment = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && /\bfast path\b/i.test(readFileSync(join(src, file), 'utf8')))
  .sort();

test('every fast path says in bench/fast-paths.ts when it goes', () => {
  expect(Object.keys(fastPaths).sort()).toEqual(withComment);
});

const { date, rows } = readResults().micro ?? { date: '', rows: [] };
const costs = new Map(rows.map(([, what, cost]) => [String(what), Number(cost)]));
const measured = Object.entries(fastPaths).flatMap(([file, path]) =>
  'general' in path ? [[file, path] as const] : [],
);

test.each(measured)('%s is worth it in the last recorded run', (file, path) => {
  const verdict = verdictOf(file, path, costs);
  expect(verdict, verdict ?? '').toBeNull(); // vitest cuts long values, and not messages
});

test('a run in which it is not says what to delete', () => {
  const [file = '', path] = measured[0] ?? [];
  if (path === undefined) throw new Error('no fast path is measured');
  const equal = new Map([path.general, path.fast].map((row) => [row, 0.1]));
  expect(verdictOf(file, path, equal)).toMatch(
    /^Delete the fast path of src\/extproc\/deserialize-request\.ts: .* 1\.00 times/,
  );
  expect(verdictOf(file, path, new Map())).toMatch(/^bench\/results\.json has no row/);
});

/** What to do about a fast path; null where it stays. */
function verdictOf(
  file: string,
  { general, fast, least }: Extract<FastPath, { general: string }>,
  known: ReadonlyMap<string, number>,
): string | null {
  const [slow, quick] = [known.get(general), known.get(fast)];
  if (slow === undefined || quick === undefined)
    return `bench/results.json has no row “${slow === undefined ? general : fast}”, which bench/fast-paths.ts names.`;
  if (slow >= least * quick) return null;
  const times = (slow / quick).toFixed(2);
  return `Delete the fast path of src/${file}: in the run of ${date} the general way cost ${times} times as much, and ${least} was the least.`;
}
