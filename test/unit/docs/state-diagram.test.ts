import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withStateDiagrams } from '../../../scripts/state-diagram.ts';

test('the diagrams of docs/architecture.md are those of the legs’ tables (else: node scripts/state-diagram.ts)', () => {
  const document = readFileSync(join(import.meta.dirname, '../../../docs/architecture.md'), 'utf8');
  expect(document).toBe(withStateDiagrams(document));
});
