/** The tables of variables, made from `src/settings/config.ts`: `node scripts/config-table.ts` writes them into the files that show them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeVariables } from '../src/settings/config.ts';

const start = '<!-- variables: written by scripts/config-table.ts -->';
const end = '<!-- end of variables -->';

/** The variables on the first page: what most people set. All of them are in docs/operating.md. */
export const readmeVariables = [
  'LISTEN',
  'ADMIN_LISTEN',
  'UPSTREAM_PROFILE',
  'UPSTREAM_PROFILES_FILE',
  'WORKERS',
  'LOG_LEVEL',
] as const;

/**
 * A document with its table of variables as it should be: of those that are named, in that order, else of all. Throws when the
 * markers are missing, and when there is no such variable.
 */
export function withConfigTable(document: string, names?: readonly string[]): string {
  const [before, rest] = document.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`There is no ${start} … ${end}`);
  return `${before}${start}\n${configTable(names)}\n${end}${after}`;
}

function configTable(names?: readonly string[]): string {
  const all = describeVariables();
  const shown = names?.map((wanted) => {
    const variable = all.find(({ name }) => name === wanted);
    if (variable === undefined) throw new Error(`There is no variable ${wanted}.`);
    return variable;
  });
  const rows = (shown ?? all).map(({ name, fallback, meaning }) => {
    const value = fallback === '' ? '' : `\`${fallback}\``;
    return `| \`${name}\` | ${value} | ${meaning.replaceAll('|', '\\|')} |`;
  });
  return ['', '| variable | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

if (import.meta.main) {
  for (const [name, names] of [['README.md', readmeVariables], ['docs/operating.md']] as const) {
    const file = join(import.meta.dirname, '..', name);
    writeFileSync(file, withConfigTable(readFileSync(file, 'utf8'), names));
  }
}
