/** The tables of variables in README.md and docs/settings.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Setting, type SettingTable, settingsIn } from '../src/service/settings/setting.ts';
import { settings } from '../src/service/settings/settings.ts';
import { type Generator, withSection } from './generator.ts';

/** The variables on the first page: what most people set. All of them are in docs/settings.md. */
export const readmeVariables = [
  'LISTEN',
  'ADMIN_LISTEN',
  'UPSTREAM_PROFILE',
  'UPSTREAM_PROFILES_FILE',
  'WORKERS',
  'LOG_LEVEL',
] as const;

/** What a group of settings applies to, as the documentation's heading. */
const headings: Readonly<Record<keyof typeof settings, string>> = {
  process: 'The process',
  upstream: 'The upstream',
  exchange: 'Each exchange',
  translation: 'The translation',
  webSocket: 'WebSockets',
};

/** All variables, a table for each group. */
function allTables(): string {
  const groups = Object.entries(settings) as [keyof typeof settings, SettingTable][];
  return groups.map(([group, table]) => `## ${headings[group]}\n\n${tableOf(settingsIn(table))}`).join('\n\n');
}

/** The variables with these names, in that order. Throws when there is no such variable. */
export function settingsNamed(names: readonly string[]): readonly Setting[] {
  return names.map((name) => {
    const found = settingsIn(settings).find(({ variable }) => variable === name);
    if (found === undefined) throw new Error(`There is no variable ${name}.`);
    return found;
  });
}

function tableOf(shown: readonly Setting[]): string {
  const rows = shown.map(({ variable, form, fallback, meaning }) => {
    const value = fallback === '' ? '' : `\`${fallback}\``;
    const about = form.values === null ? meaning : `${meaning} ${form.values}`;
    return `| \`${variable}\` | ${value} | ${about.replaceAll('|', '\\|')} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

export const configTables: Generator = {
  name: 'tables of variables',
  source: 'src/service/settings',
  files: () => {
    const read = (name: string) => readFileSync(join(import.meta.dirname, '..', name), 'utf8');
    return {
      'README.md': withSection(read('README.md'), 'variables', tableOf(settingsNamed(readmeVariables))),
      'docs/settings.md': withSection(read('docs/settings.md'), 'variables', allTables()),
    };
  },
};
