import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { needOfEach, readmeVariables, settingsNamed } from '../../../scripts/generate/config-table.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';

const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');

test('the README’s table of variables has six, and links the page that has all', () => {
  const shown = [...readme.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(shown).toEqual(readmeVariables);
  expect(shown).toHaveLength(6);
  const [, path = ''] = /\[all of them\]\(([^)]+)\)/.exec(readme) ?? [];
  const page = readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');
  for (const { variable } of settingsIn(settings)) expect(page).toContain(`| \`${variable}\` |`);
});

test('a variable that does not exist is not shown', () => {
  expect(() => settingsNamed(['LISTEN', 'LISTENS'])).toThrow('There is no variable LISTENS.');
});

test('a variable that is listed for two needs is an error', () => {
  const twice = [
    ['some', 'A B'],
    ['others', 'C A'],
  ] as const;
  expect(() => needOfEach(twice)).toThrow('A is listed for two needs');
});
