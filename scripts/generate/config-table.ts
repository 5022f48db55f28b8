/** The tables of variables in README.md and docs/settings.md. */
import { type Setting, type SettingTable, settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

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
  return groups.map(([group, table]) => `## ${headings[group]}\n\n${tableOf(settingsIn(table), true)}`).join('\n\n');
}

/** The variables with these names, in that order. Throws when there is no such variable. */
export function settingsNamed(names: readonly string[]): readonly Setting[] {
  return names.map((name) => {
    const found = settingsIn(settings).find(({ variable }) => variable === name);
    if (found === undefined) throw new Error(`There is no variable ${name}.`);
    return found;
  });
}

function inShort(one: Setting): Setting {
  return { ...one, meaning: `${one.meaning.split(/[.;] | \(/)[0]?.replace(/\.$/, '')}.` };
}

function tableOf(shown: readonly Setting[], withWho = false): string {
  const rows = shown.map(({ variable, form, fallback, meaning, setBy }) => {
    const value = fallback === '' ? '' : `\`${fallback}\``;
    const about = form.values === null ? meaning : `${meaning} ${form.values}`;
    return [`\`${variable}\``, value, about.replaceAll('|', '\\|') + (withWho ? ` For: ${setBy}.` : '')];
  });
  return markdownTable(['variable', 'default', 'meaning'], rows);
}

export const configTables: Generator = {
  name: 'tables of variables',
  source: 'src/service/settings',
  files: () =>
    documentsWith({
      // What it is, without how it behaves.
      'README.md': { variables: tableOf(settingsNamed(readmeVariables).map(inShort)) },
      'docs/settings.md': { variables: allTables() },
    }),
};
