/** The table of variables, made from `src/config.ts`: `node scripts/config-table.ts` writes it into the files that show it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeVariables } from '../src/config.ts';

const start = '<!-- variables: written by scripts/config-table.ts -->';
const end = '<!-- end of variables -->';

/** Files with the table, from the root. */
const filesWithConfigTable = ['README.md', 'docs/operating.md'] as const;

/** A document with its table of variables as it should be. Throws when the markers are missing. */
export function withConfigTable(document: string): string {
  const [before, rest] = document.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`There is no ${start} … ${end}`);
  return `${before}${start}\n${configTable()}\n${end}${after}`;
}

function configTable(): string {
  const rows = describeVariables().map(({ name, fallback, meaning }) => {
    const value = fallback === '' ? '' : `\`${fallback}\``;
    return `| \`${name}\` | ${value} | ${meaning.replaceAll('|', '\\|')} |`;
  });
  return ['', '| variable | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

if (import.meta.main) {
  for (const name of filesWithConfigTable) {
    const file = join(import.meta.dirname, '..', name);
    writeFileSync(file, withConfigTable(readFileSync(file, 'utf8')));
  }
}
