/** `docs/decisions/requirements.md`: what becomes of each requirement of the documents that this service was asked for by. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Generator, textOf } from './generator.ts';
import { anchorOf } from './github-anchor.ts';

/** The requirements of one document. */
interface RequirementDocument {
  readonly document: string;
  readonly title: string;
  readonly rows: readonly Requirement[];
}

export interface Requirement {
  /** As the document numbers it; where one asks for several things, with a word that says which. */
  readonly id: string;
  readonly asks: string;
  readonly is: 'met' | 'differs' | 'refused';
  /** Why it is not met as it stands. */
  readonly why?: string;
  /** Golden cases and tests, from the root. */
  readonly shown: readonly string[];
}

const root = join(import.meta.dirname, '..');
const data = 'docs/decisions/requirements.json';

/** The rows. Throws for a row that nothing shows, that does not say why it differs, or whose case or test is not there. */
export function requirements(): readonly RequirementDocument[] {
  const documents: readonly RequirementDocument[] = JSON.parse(textOf(data));
  for (const { document, rows } of documents) {
    for (const row of rows) {
      const fault = faultOf(row);
      if (fault !== null) throw new Error(`${data}: ${document} ${row.id}: ${fault}`);
    }
  }
  return documents;
}

export const requirementsPage: Generator = {
  name: 'the requirements',
  source: data,
  files: () => ({ 'docs/decisions/requirements.md': pageOf(requirements()) }),
};

/** What is wrong with a row, or null. */
export function faultOf({ is, why = '', shown }: Requirement): string | null {
  if (!['met', 'differs', 'refused'].includes(is)) return `“${is}” is not met, differs or refused`;
  if ((is === 'met') !== (why === '')) return is === 'met' ? 'what is met needs no reason' : 'it does not say why';
  if (shown.length === 0) return 'no golden case and no test shows it';
  for (const link of shown) {
    const [path = '', anchor] = link.split('#');
    if (!existsSync(join(root, path))) return `there is no ${path}`;
    if (path.endsWith('.md') && !casesIn(path).has(anchor ?? '')) return `there is no case ${link}`;
  }
  return null;
}

/** The anchors of a golden file's cases. */
function casesIn(path: string): ReadonlySet<string> {
  const known = cases.get(path);
  if (known !== undefined) return known;
  const headings = [...textOf(path).matchAll(/^## (.*)$/gm)].map(([, title = '']) => title);
  const found = new Set(headings.map(anchorOf));
  cases.set(path, found);
  return found;
}

const cases = new Map<string, ReadonlySet<string>>();

function pageOf(documents: readonly RequirementDocument[]): string {
  const rows = documents.flatMap((one) => one.rows);
  const count = (is: Requirement['is']) => rows.filter((row) => row.is === is).length;
  return `<!-- Written by npm run generate from ${data}. -->

# Requirements

For contributors who want to know which published requirements of a Responses server the service meets, and why it differs
where it does not. [The file](${data.slice('docs/decisions/'.length)}) has what five documents ask of a service without state, with their numbers and in our words.
Of ${rows.length} rows, ${count('met')} are met, ${count('differs')} differ, and ${count('refused')} are refused with an error that names the field.
This page lists the rows that are not met, and why.

${documents.map(sectionOf).join('\n\n')}
`;
}

function sectionOf({ document, title, rows }: RequirementDocument): string {
  const others = rows.filter(({ is }) => is !== 'met');
  // What has one reason is one row.
  const here = ({ is, why }: Requirement) => `**${is}**: ${why}`;
  const lines = [...new Set(others.map(here))].map((reason) => {
    const group = others.filter((row) => here(row) === reason);
    return `| ${group.map(numberOf).join(', ')} | ${group.map(({ asks }) => asks).join('; ')} | ${reason} |`;
  });
  const table = `| | What is asked | Here |\n| --- | --- | --- |\n${lines.join('\n')}`;
  const met = `${rows.length - others.length} of ${rows.length} are met.`;
  return [`## ${document} ${title}`, met, ...(others.length === 0 ? [] : [table])].join('\n\n');
}

/** The number in its document, which links what shows it. */
function numberOf({ id, shown: [first, ...more] }: Requirement): string {
  return [`[${id}](../../${first})`, ...more.map((link, index) => `[${index + 2}](../../${link})`)].join(', ');
}
