import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Pages that people read on GitHub. */
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'envoy/README.md'],
  ...globSync('docs/**/*.md', { cwd: root }).sort(),
];

/** Pixels of GitHub's column. */
export const columnWidth = 830;

/** Every table: its page, its number there, its rows of cells, of which the first are the headings. */
export const docTables: readonly (readonly [page: string, number: number, rows: readonly (readonly string[])[]])[] =
  pages.flatMap((page) =>
    readFileSync(join(root, page), 'utf8')
      .replace(/^(`{3,4}).*?^\1$/gms, '')
      .split(/\n{2,}/)
      .filter((block) => block.startsWith('|'))
      .map((table, index) => [page, index + 1, rowsOf(table)] as const),
  );

function rowsOf(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .filter((row) => !/^\|[\s|:-]+\|$/.test(row))
    .map((row) => row.split(/(?<!\\)\|/).slice(1, -1));
}
