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
