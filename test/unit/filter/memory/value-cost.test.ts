import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const module = join(import.meta.dirname, '../../../../src/filter/memory/value-cost.ts');

/** In a process of its own, which may ask for collections: the estimate and what the heap grows by, in bytes. */
const script = `
  import { readFileSync } from 'node:fs';
  import { heapBytesOf } from ${JSON.stringify(module)};
  const text = readFileSync(0, 'utf8');
  const used = () => { gc(); gc(); return process.memoryUsage().heapUsed; };
  JSON.parse(text);
  const before = used();
  const values = Array.from({ length: Number(process.argv[1] ?? 20) }, () => JSON.parse(text));
  console.log(heapBytesOf(values), used() - before);
`;

test.each([
  ['empty objects', JSON.stringify(Array(20_000).fill({}))],
  ['small objects', JSON.stringify(Array(10_000).fill({ a: 1, b: true }))],
  ['nested lists', JSON.stringify(Array(10_000).fill([[1], [2, [3]]]))],
  ['short strings', JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `text ${index}`))],
  ['a long text', JSON.stringify({ text: 'x'.repeat(200_000) })],
  ['a long text with wide characters', JSON.stringify({ text: '€'.repeat(60_000) })],
  [
    'schemas',
    JSON.stringify(Array(2_000).fill({ type: 'object', properties: { a: { type: 'string', enum: ['x', 'y'] } } })),
  ],
])('the estimate for %s is within a factor of the heap they take', (_name, text) => {
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], { input: text });
  const [estimate = 0, grown = 0] = String(output).trim().split(' ').map(Number);
  expect(estimate / grown).toBeGreaterThan(0.6);
  expect(estimate / grown).toBeLessThan(3);
});

const keys = (count: number, key: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [key(index), true]));

// Once: another of the same keys would share them.
test.each([
  ['90,000 short keys', keys(90_000, (index) => `k${index}`)],
  ['90,000 long keys', keys(90_000, (index) => `${index}`.padStart(90, 'k'))],
  [
    'objects of a long key of their own',
    Array.from({ length: 20_000 }, (_, n) => keys(1, () => `${n}`.padStart(70, 'k'))),
  ],
])('the estimate for %s is too', (_name, value) => {
  const args = ['--expose-gc', '--input-type=module', '-e', script, '1'];
  const output = execFileSync(process.execPath, args, { input: JSON.stringify(value) });
  const [estimate = 0, grown = 0] = String(output).trim().split(' ').map(Number);
  expect(estimate / grown).toBeGreaterThan(0.6);
  expect(estimate / grown).toBeLessThan(3);
});
