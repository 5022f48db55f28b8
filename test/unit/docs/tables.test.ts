import { expect, test } from 'vitest';
import { columnWidth, docTables } from '../../support/doc-tables.ts';

/** Pixels of a character, and of a cell's padding and border. */
const [character, cell] = [8, 27];

test.each(docTables)('%s: table %i fits the column of GitHub', (_page, _number, rows) => {
  // A browser breaks a cell between words, so that its longest word is the least width of its column.
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => longestWord(row[index] ?? ''))));
  const width = widths.reduce((sum, characters) => sum + characters * character + cell, 0);
  expect(width, `${rows[0]?.join('|')}: ${widths.join(' ')}`).toBeLessThanOrEqual(columnWidth);
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
