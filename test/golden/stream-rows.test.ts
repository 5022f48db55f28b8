import { globSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  choiceFields,
  chunkFields,
  messageKinds,
  tokenDetailsFields,
  usageFields,
} from '../../src/filter/wire/schema/chat-completion.ts';
import { readGoldenCases } from '../support/golden.ts';

const folder = new URL('./', import.meta.url);
const titles = readdirSync(folder)
  .filter((name) => /^stream-.*\.md$/.test(name))
  .flatMap((name) => readGoldenCases(new URL(name, folder)))
  .map(({ title }) => title);

/** Groups of quirks (`docs/answers.md` §2.8), and how many each has. */
const groups = { A: 22, B: 10, C: 23, S: 11, E: 9, F: 13 };
const rows = Object.entries(groups).flatMap(([group, count]) =>
  Array.from({ length: count }, (_, row) => `${group}${row + 1}`),
);
/** About an HTTP answer as a whole, so not to be told in events: E7 in test/unit/filter/exchange, E9 in errors.md. */
const rowsElsewhere = ['E7', 'E9'];

it.each(rows.filter((row) => !rowsElsewhere.includes(row)))('row %s has a case', (row) => {
  expect(titles.filter((title) => title.split(/[\s,]+/).includes(row))).not.toEqual([]);
});

const answers = globSync('{stream,completion}-*.md', { cwd: folder.pathname })
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n');

const fields = { ...chunkFields, ...choiceFields, ...messageKinds, ...usageFields, ...tokenDetailsFields };

it.each(Object.keys(fields))('the field %s of an answer has a case', (name) => {
  const message = `Write a case in test/golden/stream-*.md or completion-*.md in which an answer has the field "${name}".`;
  expect(answers.includes(`"${name}"`), message).toBe(true);
});
