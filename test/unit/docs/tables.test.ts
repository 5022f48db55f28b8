import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'envoy/README.md'],
  ...globSync('docs/**/*.md', { cwd: root }).sort(),
];

/** Pixels of GitHub's column, and of a character, a cell's padding and its border. */
const column = { width: 830, character: 8, cell: 27 };

const tables = pages.flatMap((page) =>
  readFileSync(join(root, page), 'utf8')
    .replace(/^(`{3,4}).*?^\1$/gms, '')
    .split(/\n{2,}/)
    .filter((block) => block.startsWith('|'))
    .map((table, index) => [page, index + 1, table] as const),
);

test.each(tables)('%s: table %i fits the column of GitHub', (_page, _number, table) => {
  const rows = table
    .trim()
    .split('\n')
    .filter((row) => !/^\|[\s|:-]+\|$/.test(row))
    .map((row) => row.split(/(?<!\\)\|/).slice(1, -1));
  // A browser breaks a cell between words, so that its longest word is the least width of its column.
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => longestWord(row[index] ?? ''))));
  const width = widths.reduce((sum, characters) => sum + characters * column.character + column.cell, 0);
  expect(width, `${rows[0]?.join('|')}: ${widths.join(' ')}`).toBeLessThanOrEqual(column.width);
});

/** Characters of the longest word that is shown. */
function longestWord(cell: string): number {
  const shown = cell
    .replaceAll(/<a id="[^"]*"><\/a>/g, '')
    .replaceAll(/<br>/g, ' ')
    .replaceAll(/\]\([^)]*\)|[[`*]/g, '')
    .replaceAll('\\|', '|')
    .replaceAll('&#8209;', '‑');
  return Math.max(...shown.split(/[\s/-]+/).map((word) => word.length));
}
