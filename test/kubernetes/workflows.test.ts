import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runTool } from './tools.ts';

const root = join(import.meta.dirname, '../..');

test.each(globSync('.github/workflows/*.yml', { cwd: root }).sort())(
  'actionlint finds no problem in %s',
  (workflow) => {
    expect(runTool('actionlint', ['-no-color', join(root, workflow)])).toBe('');
  },
);

test('the notes of a release are what CHANGELOG.md says of its version, and an unknown version fails', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const notes = (of: string) => spawnSync(join(root, 'scripts/release-notes.sh'), [of], { encoding: 'utf8' });
  expect(notes(version)).toMatchObject({ status: 0, stdout: expect.stringContaining('- ') });
  expect(notes('99.0.0')).toMatchObject({ status: 1, stdout: '' });
});
