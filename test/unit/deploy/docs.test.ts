import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const root = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = ['docs/kubernetes.md', 'docs/scaling.md', 'docs/other-proxies.md'];

test.each(pages)('the YAML of %s is YAML', (page) => {
  const blocks = [...read(page).matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  expect(blocks).not.toEqual([]);
  for (const block of blocks) for (const document of parseAllDocuments(block)) expect(document.errors).toEqual([]);
});

test('docs/kubernetes.md names values that the chart has', () => {
  const values = parse(read('deploy/chart/values.yaml'));
  const table = read('docs/kubernetes.md').split('| value | what for |')[1]?.split('\n\n')[0] ?? '';
  const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/(?<=`)[\w.]+(?=`)/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(10);
  for (const name of named) {
    const value = name.split('.').reduce((object, key) => object?.[key], values);
    expect(value, name).toBeDefined();
  }
});

test('the table of replicas in docs/scaling.md is computed as it says', () => {
  const rows = [...read('docs/scaling.md').matchAll(/^\| (1(?:,000)+|10,000|100,000) \| (.*) \|$/gm)];
  expect(rows).toHaveLength(4);
  // Of the row of the measured figures above it.
  const measured = /^\| a token alone [^|]*\| ([\d.]+) \| ([\d.]+) \|/m.exec(read('docs/scaling.md'));
  const [token, inEnvoy] = [Number(measured?.[1]), Number(measured?.[2])];
  const use = 0.6;
  const cores = (streams: number, tokens: number, microseconds: number) =>
    (streams * tokens * microseconds) / 1e6 / use;
  for (const [, first = '', rest = ''] of rows) {
    const streams = Number(first.replaceAll(',', ''));
    const cells = rest.split(' | ').map((cell) => Number(cell.replaceAll(',', '')));
    const computed = [
      ...[50, 5, 1].map((tokens) => Math.max(2, cores(streams, tokens, token))),
      cores(streams, 50, inEnvoy),
      streams / 7500,
    ].map((value) => Math.ceil(value - 0.01));
    expect(cells, first).toEqual(computed);
  }
});
