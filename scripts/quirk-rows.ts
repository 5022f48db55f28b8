/** The list of quirks in docs/answers.md: each label's first golden case (`## A1 …`), whose title says what becomes of it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { documentsWith, type Generator, textOf } from './generator.ts';
import { anchorOf } from './github-anchor.ts';

const root = join(import.meta.dirname, '..');
/** What the cases of a letter are about. */
const groups: Readonly<Record<string, string>> = {
  A: 'chunks',
  B: 'reasoning',
  C: 'calls',
  S: 'the event stream format',
  E: 'errors',
  F: 'ends, and what comes with them',
};

export const quirkRows: Generator = {
  name: 'the list of quirks',
  source: 'test/golden/stream-*.md',
  files: () => documentsWith({ 'docs/answers.md': { quirks: list() } }),
};

function list(): string {
  const cases = new Map<string, string>();
  const files = readdirSync(join(root, 'test/golden')).filter((name) => /^stream-.*\.md$/.test(name));
  for (const file of files.toSorted()) {
    const text = textOf(`test/golden/${file}`);
    for (const [, title = '', labels = ''] of text.matchAll(/^## ((?:([A-FS]\d+(?:, [A-FS]\d+)*) ).*)$/gm))
      for (const label of labels.split(', '))
        if (!cases.has(label)) cases.set(label, `../test/golden/${file}#${anchorOf(title)}`);
  }
  if (cases.size === 0) throw new Error('No golden case of a stream has a label such as A1.');
  const number = ([label]: readonly [string, string]) => Number(label.slice(1));
  const lines = Object.entries(groups).map(([letter, about]) => {
    const own = [...cases].filter(([label]) => label.startsWith(letter)).toSorted((a, b) => number(a) - number(b));
    return `- ${about}: ${own.map(([label, link]) => `[${label}](${link})`).join(' ')}`;
  });
  return lines.join('\n');
}
