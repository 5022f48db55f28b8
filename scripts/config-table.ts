/** The README's table of variables, made from `src/config.ts`: `node scripts/config-table.ts` writes it into the file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeVariables } from '../src/config.ts';

const start = '<!-- variables: written by scripts/config-table.ts -->';
const end = '<!-- end of variables -->';

/** The README with its table of variables as it should be. Throws when the markers are missing. */
export function withConfigTable(readme: string): string {
  const [before, rest] = readme.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`README.md has no ${start} … ${end}`);
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
  const file = join(import.meta.dirname, '../README.md');
  writeFileSync(file, withConfigTable(readFileSync(file, 'utf8')));
}
