import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withConfigTable } from '../../../scripts/config-table.ts';

const root = join(import.meta.dirname, '../../..');

describe('docs/operating.md', () => {
  const file = join(root, 'docs/operating.md');
  const text = readFileSync(file, 'utf8');

  it('has every variable as src/config.ts has it (else: node scripts/config-table.ts)', () => {
    expect(text).toBe(withConfigTable(text));
  });

  it('links files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)\)/g)].map(([, path]) => path ?? '');
    expect(links.length).toBeGreaterThan(3);
    for (const path of links) expect(existsSync(join(dirname(file), path)), path).toBe(true);
  });

  it('names tests that exist', () => {
    for (const [, path] of text.matchAll(/`(test\/[^`]+\.ts)`/g))
      expect(existsSync(join(root, path ?? '')), path).toBe(true);
  });

  it('names the flags of Node that image, mesh and bench start the service with', () => {
    const flags = /starts Node with `([^`]+)`/.exec(text)?.[1]?.split(' ') ?? [];
    expect(flags).toHaveLength(2);
    for (const starter of ['Dockerfile', 'tools/mesh/parts.ts', 'bench/contender.sh'])
      for (const flag of flags) expect(readFileSync(join(root, starter), 'utf8'), starter).toContain(flag);
  });
});
