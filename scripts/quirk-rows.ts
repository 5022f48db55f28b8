/** The list of quirks in docs/answers.md: the first golden case of each label (`## A1 …`), whose title says what becomes of it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { documentsWith, type Generator, textOf } from './generator.ts';
import { anchorOf } from './github-anchor.ts';

const root = join(import.meta.dirname, '..');
const groups = ['A', 'B', 'C', 'S', 'E', 'F'];

export const quirkRows: Generator = {
  name: 'the list of quirks',
  source: 'test/golden/stream-*.md',
  files: () => documentsWith({ 'docs/answers.md': { quirks: list() } }),
};

function list(): string {
  const rows = new Map<string, string>();
  const files = readdirSync(join(root, 'test/golden')).filter((name) => /^stream-.*\.md$/.test(name));
  for (const file of files.toSorted()) {
    const text = textOf(`test/golden/${file}`);
    for (const [, title = '', labels = ''] of text.matchAll(/^## ((?:([A-FS]\d+(?:, [A-FS]\d+)*) ).*)$/gm)) {
      if (rows.has(labels)) continue;
      rows.set(labels, `- [${labels}](../test/golden/${file}#${anchorOf(title)}) ${title.slice(labels.length + 1)}`);
    }
  }
  const order = (label: string) => groups.indexOf(label.charAt(0)) * 1000 + Number.parseInt(label.slice(1), 10);
  const ofGroups = [...rows].filter(([label]) => groups.includes(label.charAt(0)));
  if (ofGroups.length === 0) throw new Error('No golden case of a stream has a label such as A1.');
  return ofGroups
    .toSorted(([one], [other]) => order(one) - order(other))
    .map(([, row]) => row)
    .join('\n');
}
