import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const text = readFileSync(new URL('../../../docs/answers.md', import.meta.url), 'utf8');

it('defines every section that the sources refer to', () => {
  const sections = [...text.matchAll(/^#{2,3} (\d(?:\.\d+)?) /gm)].map(([, section]) => section);
  expect(sections).toEqual([
    ...['1', ...Array.from({ length: 13 }, (_, index) => `1.${index + 1}`)],
    ...['2', ...Array.from({ length: 8 }, (_, index) => `2.${index + 1}`)],
  ]);
});
