/** The rows of `docs/mapping.md` for the subcommand `explain`, which quotes and links them. */
import { type Generator, textOf } from './generator.ts';

export const mappingRows: Generator = {
  name: 'rows of the mapping',
  source: 'docs/mapping.md',
  files: () => ({ 'src/tools/explain/mapping-rows.ts': moduleOf(textOf('docs/mapping.md')) }),
};

/** The rows about what explain shows: fields of a request with their values, and the codes of errors. */
function isShown({ groups: { anchor = '' } = {} }: RegExpMatchArray, index: number, all: readonly RegExpMatchArray[]) {
  const indexOf = (name: string) => all.findIndex((row) => row.groups?.['anchor'] === name);
  const isOfRequest = index >= indexOf('row-model') && index < indexOf('row-compaction-request');
  return isOfRequest || anchor.startsWith('row-code-');
}

/** The module for that document: of each row that is shown, the names in its first cell and the text of its second. */
function moduleOf(document: string): string {
  const rows = [...document.matchAll(/^\| <a id="(?<anchor>[^"]+)"><\/a>(?<names>.*?) \| (?<rule>.*?) \|/gm)].filter(
    isShown,
  );
  if (rows.length === 0) throw new Error('The document has no row with an anchor.');
  const lines = rows.map(({ groups: { anchor = '', names = '', rule = '' } = {} }) => {
    const fields = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => quoted(name));
    return `  { anchor: ${quoted(anchor)}, fields: [${fields.join(', ')}], rule: ${quoted(plain(rule))} },`;
  });
  return `// biome-ignore-all format: written by npm run generate from docs/mapping.md

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

/** A rule that reads on its own in a terminal: without links, escapes, and references to other places in the document. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)| \[Why\]\([^)]*\)\.| \(D\d+(, D\d+)*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('\\', '');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
