import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isSetting, type SettingTable, settingsIn } from '../../../../src/service/settings/setting.ts';
import { settings } from '../../../../src/service/settings/settings-table.ts';

const source = join(import.meta.dirname, '../../../../src');
/** The words of all code outside src/service/settings: comments and texts read nothing. */
const words = new Set(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('service/settings/'))
    .map((file) => readFileSync(join(source, file), 'utf8'))
    .flatMap((code) => code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|'(?:[^'\\\n]|\\.)*'/gm, '').match(/[A-Za-z_]\w*/g) ?? []),
);

/** Each variable with the word that code reads it by: its own, or its name in what an exchange or the translation is told. */
function readersOf(table: SettingTable): [variable: string, word: string][] {
  return Object.entries(table).flatMap(([name, entry]) => {
    if (typeof entry !== 'object') return [];
    if (!isSetting(entry)) return readersOf(entry);
    return [[entry.variable, Array.isArray(table) ? entry.variable : name]];
  });
}

test.each(readersOf(settings))('%s is read, as %s', (variable, word) => {
  const advice = `nothing in src/ reads \`${word}\`: use ${variable} where it applies, or remove its row from src/service/settings/settings-table.ts`;
  expect(words.has(word), advice).toBe(true);
});

test('SESSION_HEADER is worth trying the other way: with a header where there is none, and without', () => {
  const { others } = settings.exchange.sessionHeader;
  expect([others('', {}), others('x-affinity', {})]).toEqual([['x-session'], ['']]);
});

describe('a row', () => {
  const all = settingsIn(settings);

  test('is there once for each variable', () => {
    const names = all.map(({ variable }) => variable);
    expect(names).toEqual([...new Set(names)]);
  });

  test.each(all)(
    'of $variable has a default and other values that can be used',
    ({ form, fallback, others, use, file }) => {
      const value = form.read(fallback);
      expect(value).toBeDefined();
      for (const other of others(value, { tools: [{ type: 'mcp' }] })) expect(typeof other).toBe(typeof value);
      for (const content of file?.others ?? []) expect(use('/file', content)).toBe(content);
    },
  );
});
