import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { anchorOf } from '../../../scripts/generate/github-anchor.ts';

const root = join(import.meta.dirname, '../../..');
const others = ['node_modules', '.cache', 'test/golden', 'test/recordings'];
const pages = globSync('**/*.md', { cwd: root, exclude: (path) => others.includes(path) }).sort();

const anchors = new Map<string, ReadonlySet<string>>();
function anchorsOf(file: string): ReadonlySet<string> {
  const known = anchors.get(file);
  if (known !== undefined) return known;
  const found = new Set<string>();
  const text = readFileSync(file, 'utf8').replace(/^(`{3,4}).*?^\1$/gms, '');
  for (const [, heading = ''] of text.matchAll(/^#+ +(.*)$/gm)) {
    const anchor = anchorOf(heading.trim());
    let unique = anchor;
    for (let count = 1; found.has(unique); count += 1) unique = `${anchor}-${count}`;
    found.add(unique);
  }
  for (const [, anchor = ''] of text.matchAll(/<a id="([^"]+)"><\/a>/g)) found.add(anchor);
  anchors.set(file, found);
  return found;
}

test.each(pages)('every link in %s leads somewhere', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
    .replace(/^(`{3,4}).*?^\1$/gms, '')
    .replace(/`[^`\n]*`/g, '');
  const broken = [...text.matchAll(/\]\(([^)\s]+)\)|<(?:img|source)\b[^>]*\bsrc(?:set)?="([^"]+)"/g)]
    .map(([, link, picture]) => link ?? picture ?? '')
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? join(root, page) : join(root, dirname(page), path);
      if (!existsSync(file)) return true;
      return (
        anchor !== undefined && !statSync(file).isDirectory() && file.endsWith('.md') && !anchorsOf(file).has(anchor)
      );
    });
  expect(broken).toEqual([]);
});

const code = globSync('**/*.{ts,tsx}', { cwd: root, exclude: (path) => [...others, 'dist'].includes(path) });
const sources = code.filter((file) => file.startsWith('src/'));

test('comments of src name files that exist', () => {
  const unknown = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /^\s*(\/\*)?\*|(^|\s)\/\/ /.test(line))
      .flatMap((line) => [...line.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.tsx?)\b/g)].map(([, name = '']) => name))
      .filter((name) => !code.some((other) => `/${other}`.endsWith(`/${name}`)))
      .map((name) => `${file}: ${name}`),
  );
  expect(unknown).toEqual([]);
});

test('docs/decisions/0012-speed.md has each fast path that a function or class of src says it is, and no other', () => {
  const [, section = ''] = readFileSync(join(root, 'docs/decisions/0012-speed.md'), 'utf8').split('## Fast paths');
  const [table = ''] = section.split('\n## ');
  const named = [...table.matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => name);
  const found = sources.filter((file) => /^ \* Fast path/m.test(readFileSync(join(root, file), 'utf8')));
  expect(found.map((file) => basename(file)).sort()).toEqual(named.sort());
});
