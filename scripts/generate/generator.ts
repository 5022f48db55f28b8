import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes files, or sections of files, from the sources. `npm run generate` runs all of them. */
export interface Generator {
  readonly name: string;
  /** What they are made from, for people. */
  readonly source: string;
  /** Path from the root → the text that the file should have. */
  files(): Readonly<Record<string, string>>;
  /** A folder, from the root, that must contain nothing else. */
  readonly folder?: string;
  /** What this machine lacks to make them, and how to get it; null if nothing is missing. */
  missing?(): string | null;
}

/** The document with another text between the two comments that mark the section. Throws when they are not there. */
export function withSection(document: string, section: string, text: string): string {
  const start = `<!-- ${section}: written by npm run generate -->`;
  const end = `<!-- end of ${section} -->`;
  const [before, rest] = document.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`There is no ${start} … ${end}`);
  return `${before}${start}\n\n${text}\n\n${end}${after}`;
}

/** Documents by their path from the root, with these sections written anew. */
export function documentsWith(
  sections: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Readonly<Record<string, string>> {
  const written = Object.entries(sections).map(([path, texts]) => {
    const whole = Object.entries(texts).reduce((text, [name, part]) => withSection(text, name, part), textOf(path));
    return [path, whole] as const;
  });
  return Object.fromEntries(written);
}

/** The text of a file, by its path from the root. */
export function textOf(path: string): string {
  return readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
}

/** A table in Markdown. */
export function markdownTable(
  headings: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const lineOf = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2}(?=\|)/g, ' ');
  const [head, ...lines] = [headings, ...rows].map(lineOf);
  return [head, `|${'---|'.repeat(headings.length)}`, ...lines].join('\n');
}
