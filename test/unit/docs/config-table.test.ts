import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readmeVariables, settingsNamed } from '../../../scripts/generate/config-table.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';

const root = join(import.meta.dirname, '../../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

test('the README’s table of variables has six, and links the page that has all', () => {
  const shown = [...readme.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(shown).toEqual(readmeVariables);
  expect(shown).toHaveLength(6);
  const [, path = ''] = /\[all of them\]\(([^)]+)\)/.exec(readme) ?? [];
  const page = readFileSync(join(root, path), 'utf8');
  for (const { variable } of settingsIn(settings)) expect(page).toContain(`| \`${variable}\` |`);
});

test('a variable that does not exist is not shown', () => {
  expect(() => settingsNamed(['LISTEN', 'LISTENS'])).toThrow('There is no variable LISTENS.');
});

test.each(settingsIn(settings))('$variable says who sets it, and the page that it names is there', ({ setBy }) => {
  expect(setBy).toMatch(/^\S+ \S/);
  for (const [path] of setBy.matchAll(/(?:docs|envoy)\/[\w./-]+\w/g))
    expect(existsSync(join(root, path)), path).toBe(true);
});
