import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readOperatorFiles } from '../../../../src/service/server/operator-files.ts';
import { ConfigError, readConfig } from '../../../../src/service/settings/config.ts';
import { defaultCompactionPrompt } from '../../../../src/service/settings/operator-texts.ts';
import { readValues } from '../../../../src/service/settings/setting.ts';
import { settings } from '../../../../src/service/settings/settings-table.ts';

const folder = mkdtempSync(join(tmpdir(), 'operator-files-'));

function read(name: string, content: string | Buffer | null) {
  const file = join(folder, `${name}-${content === null ? 'missing' : content.length}`);
  if (content !== null) writeFileSync(file, content);
  return settingsOf({ [name]: file });
}

/** What the translation and the exchange get of the files. */
function settingsOf(environment: Record<string, string>) {
  const config = readConfig(environment);
  const files = readOperatorFiles(config);
  const { compaction, catalog } = readValues(settings.translation, config, files);
  const { sessionHashKey } = readValues(settings.exchange, config, files);
  const { instructions, overrides } = catalog;
  return { prompt: compaction.prompt, instructions, overrides, sessionHashKey };
}

describe.each([['COMPACTION_PROMPT_FILE', 'prompt', defaultCompactionPrompt]] as const)(
  '%s',
  (name, field, fallback) => {
    test('unset, the text is our own', () => {
      expect(settingsOf({})[field]).toBe(fallback);
    });

    test('is the text of the file', () => {
      expect(read(name, 'Fasse zusammen.')[field]).toBe('Fasse zusammen.');
    });

    test.each([
      ['missing', null, /_FILE: cannot be read: ENOENT/],
      ['empty', ' \n', /_FILE: .* is empty/],
      ['no UTF-8', Buffer.from([0xff, 0xfe, 0x41]), /_FILE: cannot be read: .*encoded data/],
      ['larger than 64 KiB', 'x'.repeat(65_537), /_FILE: cannot be read: .* larger than 65536 bytes/],
    ])('a file that is %s is an error that names it', (_what, content, message) => {
      expect(() => read(name, content)).toThrow(ConfigError);
      expect(() => read(name, content)).toThrow(message);
      expect(() => read(name, content)).toThrow(name);
    });

    test('of 64 KiB is read', () => {
      expect(read(name, 'x'.repeat(65_536))[field]).toHaveLength(65_536);
    });
  },
);

describe('SESSION_HASH_KEY_FILE', () => {
  test('is a secret, without the line end behind it', () => {
    expect(read('SESSION_HASH_KEY_FILE', 'sixteen or more.\n').sessionHashKey).toBe('sixteen or more.');
  });

  test('must be long enough not to be guessed', () => {
    expect(() => read('SESSION_HASH_KEY_FILE', 'fifteen, alas. \n')).toThrow(/fewer than 16 characters/);
  });
});

describe('MODEL_CATALOG_FILE', () => {
  test('has fields by model', () => {
    const { overrides } = read('MODEL_CATALOG_FILE', '{"*":{"priority":1},"m":{"context_window":7}}');
    expect(Object.fromEntries(overrides)).toEqual({ '*': { priority: 1 }, m: { context_window: 7 } });
    expect(settingsOf({}).overrides.size).toBe(0);
  });

  test.each([
    ['no JSON', '{', 'it is not JSON: '],
    ['a list', '[]', 'it is not an object'],
    ['a field where a model should be', '{"context_window":7}', "'context_window' must be an object of fields (got 7)"],
    [
      'a window of no tokens',
      '{"m":{"context_window":0}}',
      "'m': 'context_window' must be a whole number above 0 (got 0)",
    ],
    ['a slug, by which Codex finds the entry', '{"m":{"slug":"n"}}', "'m': 'slug' is the model's name"],
  ])('with %s is an error that names it', (_what, content, message) => {
    expect(() => read('MODEL_CATALOG_FILE', content)).toThrow(ConfigError);
    expect(() => read('MODEL_CATALOG_FILE', content)).toThrow(/MODEL_CATALOG_FILE: .* must be a JSON object/);
    expect(() => read('MODEL_CATALOG_FILE', content)).toThrow(message);
  });
});
