/**
 * The rows of `docs/mapping.md` for the subcommand `explain`, which quotes and links them: `node scripts/mapping-rows.ts`
 * writes `src/explain/mapping-rows.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const mappingFile = join(import.meta.dirname, '../docs/mapping.md');
export const mappingRowsFile = join(import.meta.dirname, '../src/explain/mapping-rows.ts');

/** The module for that document: each row that has an anchor, with the names in its first cell and the text of its second. */
export function mappingRowsModule(document: string): string {
  const rows = [...document.matchAll(/^\| <a id="(?<anchor>[^"]+)"><\/a>(?<names>.*?) \| (?<rule>.*?) \|/gm)];
  if (rows.length === 0) throw new Error('The document has no row with an anchor.');
  const lines = rows.map(({ groups: { anchor = '', names = '', rule = '' } = {} }) => {
    const fields = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => quoted(name));
    return `  { anchor: ${quoted(anchor)}, fields: [${fields.join(', ')}], rule: ${quoted(plain(rule))} },`;
  });
  return `// biome-ignore-all format: written by scripts/mapping-rows.ts from docs/mapping.md

/** A row of \`docs/mapping.md\`: its anchor, the fields it names, and what happens to them. */
export interface MappingRow {
  readonly anchor: string;
  readonly fields: readonly string[];
  readonly rule: string;
}

export const mappingRows: readonly MappingRow[] = [
${lines.join('\n')}
];
`;
}

/** A rule that reads on its own in a terminal: without links, escapes, and what only points elsewhere in the document. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)| \[Why\]\([^)]*\)\.| \(D\d+(, D\d+)*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('\\', '');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

if (import.meta.main) writeFileSync(mappingRowsFile, mappingRowsModule(readFileSync(mappingFile, 'utf8')));
