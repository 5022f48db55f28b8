import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A fenced block of a case: ```` ```json request ```` has the language `json` and the name `request`. */
export interface GoldenBlock {
  readonly language: string;
  readonly name: string;
  readonly text: string;
}

/** One case of a golden file: a heading, prose that says why, fenced blocks. */
export interface GoldenCase {
  /** `stream-text.md:12`, so that editors link a failure to its case. */
  readonly where: string;
  readonly title: string;
  readonly prose: string;
  readonly blocks: readonly GoldenBlock[];
}

/** Where the cases are: test/golden, or GOLDEN_FOLDER, for a case that was saved somewhere else. */
export const goldenFolder = pathToFileURL(`${process.env['GOLDEN_FOLDER'] ?? join(import.meta.dirname, '../golden')}/`);

/** Every case of the files `KIND-….md`. */
export function goldenCases(kind: string): GoldenCase[] {
  return readdirSync(goldenFolder)
    .filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.md'))
    .flatMap((name) => readGoldenCases(new URL(name, goldenFolder)));
}

/** The request of every golden case of requests. */
export function goldenRequests(): { readonly where: string; readonly request: Record<string, unknown> }[] {
  return goldenCases('request').flatMap((golden) => {
    const request = blockOf(golden, 'request');
    return request === null ? [] : [{ where: golden.where, request: JSON.parse(request) as Record<string, unknown> }];
  });
}

/** Reads every `## ` section of a Markdown file as a case. Throws if there is none, if one has no block, or if a fence is not closed. */
export function readGoldenCases(file: URL): GoldenCase[] {
  const name = file.pathname.split('/').at(-1) ?? '';
  const cases: { where: string; title: string; prose: string[]; blocks: GoldenBlock[] }[] = [];
  let fence: { language: string; name: string; lines: string[]; line: number } | null = null;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const current = cases.at(-1);
    if (fence !== null) {
      if (line === '```') {
        current?.blocks.push({ language: fence.language, name: fence.name, text: fence.lines.join('\n') });
        fence = null;
      } else fence.lines.push(line);
    } else if (line.startsWith('## ')) {
      cases.push({ where: `${name}:${index + 1}`, title: line.slice(3).trim(), prose: [], blocks: [] });
    } else if (line.startsWith('```')) {
      const [language = '', ...words] = line.slice(3).trim().split(' ');
      fence = { language, name: words.join(' '), lines: [], line: index + 1 };
    } else if (line.trim() !== '') current?.prose.push(line.trim());
  }
  if (cases.length === 0) throw new Error(`${name}: no case begins with “## ”`);
  if (fence !== null) throw new Error(`${name}:${fence.line}: the fence is not closed`);
  for (const { where, title, blocks } of cases)
    if (blocks.length === 0) throw new Error(`${where}: “${title}” has no block`);
  return cases.map(({ where, title, prose, blocks }) => ({ where, title, prose: prose.join(' '), blocks }));
}

/** The text of the block with that name, or null. */
export function blockOf({ blocks }: GoldenCase, name: string): string | null {
  return blocks.find((block) => block.name === name)?.text ?? null;
}
