/** The tables of variables in README.md and docs/operating.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeVariables } from '../src/settings/config.ts';
import { type Generator, withSection } from './generator.ts';

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
  return withSection(document, 'variables', configTable(names));
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
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

export const configTables: Generator = {
  name: 'tables of variables',
  source: 'src/settings',
  files: () => {
    const read = (name: string) => readFileSync(join(import.meta.dirname, '..', name), 'utf8');
    return {
      'README.md': withConfigTable(read('README.md'), readmeVariables),
      'docs/operating.md': withConfigTable(read('docs/operating.md')),
    };
  },
};
