import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config.ts';
import { readOperatorFiles } from '../../../src/server/operator-files.ts';
import { defaultCompactionPrompt } from '../../../src/translate/request/compaction.ts';

const folder = mkdtempSync(join(tmpdir(), 'operator-files-'));

function read(name: string, content: string | Buffer | null) {
  const file = join(folder, `${name}-${content === null ? 'missing' : content.length}`);
  if (content !== null) writeFileSync(file, content);
  return readOperatorFiles(readConfig({ [name]: file }));
}

describe('COMPACTION_PROMPT_FILE', () => {
  test('unset, the text is our own', () => {
    expect(readOperatorFiles(readConfig({})).compactionPrompt).toBe(defaultCompactionPrompt);
  });

  test('is what the model is asked for', () => {
    expect(read('COMPACTION_PROMPT_FILE', 'Fasse zusammen.').compactionPrompt).toBe('Fasse zusammen.');
  });

  test.each([
    ['missing', null, /COMPACTION_PROMPT_FILE: cannot be read: ENOENT/],
    ['empty', ' \n', /COMPACTION_PROMPT_FILE: .* is empty/],
    ['no UTF-8', Buffer.from([0xff, 0xfe, 0x41]), /COMPACTION_PROMPT_FILE: cannot be read: .*encoded data/],
    ['larger than 64 KiB', 'x'.repeat(65_537), /COMPACTION_PROMPT_FILE: cannot be read: .* larger than 65536 bytes/],
  ])('a file that is %s is an error that names it', (_what, content, message) => {
    expect(() => read('COMPACTION_PROMPT_FILE', content)).toThrow(ConfigError);
    expect(() => read('COMPACTION_PROMPT_FILE', content)).toThrow(message);
  });

  test('of 64 KiB is read', () => {
    expect(read('COMPACTION_PROMPT_FILE', 'x'.repeat(65_536)).compactionPrompt).toHaveLength(65_536);
  });
});
