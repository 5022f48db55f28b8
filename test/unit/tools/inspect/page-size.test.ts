import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildInspector } from '../../../../scripts/build-inspector.ts';

it('the page has as many bytes as docs/inspector.md says, and no more than 120 kB', async () => {
  const files = await buildInspector();
  const bytes = [...files.values()].reduce((sum, body) => sum + body.length, 0);
  const docs = readFileSync(join(import.meta.dirname, '../../../../docs/inspector.md'), 'utf8');
  const said = Number(/The page is (\d+) kB/.exec(docs)?.[1]);
  expect(Math.abs(bytes / 1000 - said), `the page has ${bytes} bytes`).toBeLessThan(1);
  expect(bytes).toBeLessThan(120_000);
});
