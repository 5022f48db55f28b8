import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');

describe('docs/operating.md', () => {
  const file = join(root, 'docs/operating.md');
  const text = readFileSync(file, 'utf8');

  it('links files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)\)/g)].map(([, path]) => path ?? '');
    expect(links.length).toBeGreaterThan(3);
    for (const path of links) expect(existsSync(join(dirname(file), path)), path).toBe(true);
  });

  it('names tests that exist', () => {
    for (const [, path] of text.matchAll(/`(test\/[^`]+\.ts)`/g))
      expect(existsSync(join(root, path ?? '')), path).toBe(true);
  });

  it('gives the largest body of each heap as the service computes it under the image’s flags', () => {
    const flags = /starts Node with `([^`]+)`/.exec(text)?.[1]?.split(' ') ?? [];
    const rows = [...text.matchAll(/\| `(--max-old-space-size=\d+)` \| ([\d.]+) MiB \|/g)];
    expect(rows).toHaveLength(4);
    for (const [, option = '', shown] of rows) {
      const environment = { ...process.env, NODE_OPTIONS: option };
      const args = [...flags, join(root, 'src/main.ts'), '--print-config'];
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env: environment });
      const bytes = (JSON.parse(stdout) as { MAX_REQUEST_BYTES: number }).MAX_REQUEST_BYTES;
      expect((bytes / 1024 / 1024).toFixed(1), option).toBe(shown);
    }
  });

  it('names the flags of Node that image, mesh and bench start the service with', () => {
    const flags = /starts Node with `([^`]+)`/.exec(text)?.[1]?.split(' ') ?? [];
    expect(flags).toHaveLength(2);
    for (const starter of ['Dockerfile', 'tools/mesh/parts.ts', 'bench/contender.sh'])
      for (const flag of flags) expect(readFileSync(join(root, starter), 'utf8'), starter).toContain(flag);
  });
});
