import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readProfilesFile } from '../../../src/filter/upstream/profiles-file.ts';

const upstreams = readFileSync(join(import.meta.dirname, '../../../docs/upstreams.md'), 'utf8');

test('the example of a profiles file is valid', () => {
  const example = /```yaml\n([^`]+)```/.exec(upstreams)?.[1] ?? '';
  expect([...readProfilesFile(example, join('docs', 'upstreams.md')).keys()]).toEqual(['team-vllm']);
});

/** Pixels of GitHub's column, and of a character, a cell's padding and its border. */
const column = { width: 830, character: 8, cell: 27 };

test.each(['upstreams.md', 'upstreams-reference.md'])('the tables of docs/%s fit the column', (name) => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');
  const tables = page.split(/\n{2,}/).filter((block) => block.startsWith('|'));
  expect(tables.length).toBeGreaterThan(0);
  for (const table of tables) {
    const rows = table.split('\n').map((row) => row.split(/(?<!\\)\|/).slice(1, -1));
    // A browser breaks a cell between words, so that its longest word is the least width of its column.
    const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => longestWord(row[index] ?? ''))));
    const width = widths.reduce((sum, characters) => sum + characters * column.character + column.cell, 0);
    expect(width, rows[0]?.join()).toBeLessThanOrEqual(column.width);
    expect(widths.length, 'columns').toBeLessThanOrEqual(4);
  }
});

/** Characters of the longest word that is shown. */
function longestWord(cell: string): number {
  const shown = cell.replaceAll(/\]\([^)]*\)|[[`*]/g, '').replaceAll('\\|', '|');
  return Math.max(...shown.split(/[\s/-]+/).map((word) => word.length));
}
