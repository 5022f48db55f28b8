import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const committed = join(root, 'src/extproc/generated');

function contentsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return Object.fromEntries(files.sort().map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

test('the types in src/extproc/generated are those of proto/ (else: node scripts/wire-types.ts)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'wire-types-'));
  try {
    execFileSync(process.execPath, [join(root, 'scripts/wire-types.ts'), folder]);
    const generated = contentsOf(folder);
    expect(Object.keys(generated).length).toBeGreaterThan(10);
    expect(contentsOf(committed)).toEqual(generated);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
