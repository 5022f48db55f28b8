import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const file = new URL('../../../docs/answers.md', import.meta.url);
const text = readFileSync(file, 'utf8');

it('every row of the quirk table is there once, in order', () => {
  const labels = [...text.matchAll(/^\| \[([A-FS]\d+)\]/gm)].map(([, label]) => label);
  const groups = { A: 22, B: 10, C: 23, S: 11, E: 9, F: 12 };
  const expected = Object.entries(groups).flatMap(([group, rows]) =>
    Array.from({ length: rows }, (_, row) => `${group}${row + 1}`),
  );
  expect(labels).toEqual(expected);
});

it('links a case that exists, and is named by the row', () => {
  for (const [, label = '', path = '', anchor] of text.matchAll(/\[([^\]]+)\]\(([^)#\s]*)(?:#([^)]+))?\)/g)) {
    const target = new URL(path, file);
    expect(existsSync(target), path).toBe(true);
    if (anchor === undefined) continue;
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading ?? '');
    const heading = headings.find((candidate) => anchorOf(candidate) === anchor);
    expect(heading?.split(/[\s,]+/), `${path}#${anchor}`).toContain(label);
  }
});

it('defines every section that the sources refer to', () => {
  const sections = [...text.matchAll(/^#{2,3} (\d(?:\.\d+)?) /gm)].map(([, section]) => section);
  expect(sections).toEqual([
    ...['1', ...Array.from({ length: 13 }, (_, index) => `1.${index + 1}`)],
    ...['2', ...Array.from({ length: 8 }, (_, index) => `2.${index + 1}`)],
  ]);
});

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}_\- ]/gu, '')
    .replaceAll(' ', '-');
}
