import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readGoldenCases } from '../support/golden.ts';

const folder = new URL('./', import.meta.url);
const titles = readdirSync(folder)
  .filter((name) => /^stream-.*\.md$/.test(name))
  .flatMap((name) => readGoldenCases(new URL(name, folder)))
  .map(({ title }) => title);

/** Groups of the quirk table in `docs/mapping.md`, and how many rows each has. */
const groups = { A: 22, B: 10, C: 23, S: 11, E: 9, F: 12 };

/** About an HTTP answer as a whole, so not to be told in events; with the tests that have them. */
const elsewhere: Readonly<Record<string, string>> = {
  E7: 'an event stream that answers a plain request: test/unit/exchange',
  E9: 'an error status for a stream: test/golden/errors.md',
};

it.each(
  Object.entries(groups).flatMap(([group, rows]) => Array.from({ length: rows }, (_, row) => `${group}${row + 1}`)),
)('row %s has a case', (row) => {
  const named = titles.filter((title) => title.split(/[\s,]+/).includes(row));
  expect(named.length > 0 || elsewhere[row] !== undefined).toBe(true);
});

/** Cases of `docs/mapping.md` §5.1 that are no stream of chunks; with the tests that have them. */
const casesElsewhere: Readonly<Record<number, string>> = {
  58: 'sizes: test/unit/translate/stream.test.ts',
  60: 'a 429 for a stream: test/golden/errors.md',
  63: 'whole events in every write: all cases of stream.test.ts',
};

it.each(Array.from({ length: 64 }, (_, index) => index + 1))('case %i is there', (number) => {
  const pattern = new RegExp(`\\(case ${number}\\b`);
  expect(titles.some((title) => pattern.test(title)) || casesElsewhere[number] !== undefined).toBe(true);
});
