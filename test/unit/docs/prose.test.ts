import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const read = (page: string) => readFileSync(join(root, page), 'utf8');
/** Pages that people read from top to bottom: each sentence is understood the first time. */
const guides = ['README.md', ...globSync('docs/guides/*.md', { cwd: root }).sort()];
/** Characters of a cell: two lines of prose. */
const cellLength = 200;
const pages = [
  ...guides,
  ...['CONTRIBUTING.md', 'RELEASING.md', 'SUPPORT.md', 'SECURITY.md', 'envoy/README.md', 'deploy/chart/README.md'],
  ...globSync(['docs/*.md', 'docs/decisions/*.md'], { cwd: root }).sort(),
];
/** Pages with lists that are not prose: of values and cases, or, in docs/README.md, of pages alone. */
const lists = ['docs/README.md', 'docs/clients.md', 'docs/upstreams-reference.md', 'docs/watching.md'];

/** Turns of phrase that leave out a noun, or that stand for a plainer word. */
const clipped: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\b(?:has|have|had) none\b/i, 'say what is missing'],
  [/\b(?:those|that) of\b/i, 'repeat the noun'],
  [/\bof any other\b/i, 'repeat the noun'],
  [/\bwhat it was\b/i, 'name it'],
  [/\bleft out and named\b|\bis named in `x-responses/i, '“is dropped and listed in `x-responses-dropped`”'],
  [/\bleast level\b/i, '“minimum level”'],
  [/\bthe client leaves\b/i, '“the client disconnects”'],
];

/** The prose of a page: without code, tables, headings, comments and HTML. A paragraph or an item of a list each. */
function paragraphsOf(page: string): string[] {
  return read(page)
    .replaceAll(/^(`{3,4}).*?^\1$/gms, '')
    .replaceAll(/<!--.*?-->/gs, '')
    .split(/\n{2,}|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((block) =>
      block
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((block) => block !== '' && !/^[|#<]/.test(block));
}

/** Sentences end where a capital begins the next; a span of code counts as one word. */
function sentencesOf(paragraph: string): string[] {
  return paragraph.replaceAll(/`[^`]*`/g, 'code').split(/(?<=[.!?:])\s+(?=["“*A-Z(])/);
}

test.each(pages.filter((page) => !lists.includes(page)))(
  'no sentence of %s is longer than 30 words, and no paragraph has two semicolons',
  (page) => {
    const paragraphs = paragraphsOf(page);
    expect(paragraphs).not.toEqual([]);
    expect(paragraphs.flatMap(sentencesOf).filter((sentence) => sentence.split(' ').length > 30)).toEqual([]);
    expect(paragraphs.filter((paragraph) => (paragraph.match(/;/g) ?? []).length > 1)).toEqual([]);
  },
);

test.each(pages)('%s has no clipped phrase', (page) => {
  const prose = [
    ...paragraphsOf(page),
    ...read(page)
      .split('\n')
      .filter((line) => line.startsWith('|')),
  ];
  const found = prose.flatMap((text) =>
    clipped
      .filter(([pattern]) => pattern.test(text))
      .map(([pattern, instead]) => `${pattern.exec(text)?.[0]}: ${instead} — ${text}`),
  );
  expect(found).toEqual([]);
});

test.each(['docs/watching.md', 'docs/upstreams-reference.md'])('no cell of %s has more than two lines', (page) => {
  const cells = read(page)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((line) => line.split(/(?<!\\)\|/))
    .map((cell) => cell.replaceAll(/<a id="[^"]*"><\/a>/g, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
  expect(cells.filter((cell) => cell.trim().length > cellLength)).toEqual([]);
});

test('README.md is at most 1,200 words', () => {
  expect(read('README.md').split(/\s+/).length).toBeLessThanOrEqual(1_200);
});
