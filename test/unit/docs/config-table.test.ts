import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withConfigTable } from '../../../scripts/config-table.ts';

test('the README’s table of variables is the one of src/config.ts (else: node scripts/config-table.ts)', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
  expect(readme).toBe(withConfigTable(readme));
});
