import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const document = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
const sources = globSync('src/**/*.ts', { cwd: root });
const stops = [...document.matchAll(/`([\w./-]+\.ts):([\w.]+)`/g)].map(([, file = '', symbol = '']) => ({
  // Tables name a file by its name alone: none occurs twice.
  file: file.includes('/') ? file : (sources.find((path) => basename(path) === file) ?? file),
  symbol,
}));

/** A function or class at the top of the file, or a method, handler or function inside it. */
function declares(source: string, symbol: string): boolean {
  const [owner, method] = symbol.split('.');
  const top = new RegExp(`^(export )?(async )?(function\\*?|class|const) ${owner}\\b`, 'm').exec(source);
  if (top === null || method === undefined) return top !== null;
  const [body = ''] = source.slice(top.index).split(/^}/m, 1);
  const declared = `(async )?(function )?\\*?#?${method}(<.*>)?\\([^;]*|readonly #?${method} = .*`;
  return new RegExp(`^ {2,4}(${declared})$`, 'm').test(body);
}

test('the tour of docs/architecture.md has a request, a token, a refusal, a call, a lack of memory and a turn', () => {
  expect(document.match(/^1\. /gm)).toHaveLength(6);
  expect(stops.length).toBeGreaterThan(20);
});

test.each(stops)('docs/architecture.md names $file:$symbol, which exists', ({ file, symbol }) => {
  const path = join(root, file);
  expect(existsSync(path), file).toBe(true);
  expect(declares(readFileSync(path, 'utf8'), symbol), symbol).toBe(true);
});

test('the tables of folders have every floor and every folder', () => {
  for (const floor of foldersIn('src')) {
    expect(document).toContain(`**\`src/${floor}/\`**`);
    for (const folder of foldersIn(`src/${floor}`)) expect(document, floor).toContain(`| \`${folder}/\` |`);
  }
});

function foldersIn(path: string): string[] {
  const entries = readdirSync(join(root, path), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
