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
  /** The condition on which it is met, where no case with the default settings shows it. */
  readonly when?: string;
  /** Golden cases and tests, from the root. */
  readonly shown: readonly string[];
}

const root = join(import.meta.dirname, '../..');
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
export function faultOf(row: Requirement): string | null {
  const { is, why = '', when = '', shown } = row;
  if (!['met', 'differs', 'refused'].includes(is)) return `“${is}” is not met, differs or refused`;
  if ((is === 'met') !== (why === '')) return is === 'met' ? 'what is met needs no reason' : 'it does not say why';
  if (shown.length === 0) return 'no golden case and no test shows it';
  for (const link of shown) {
    const [path = '', anchor] = link.split('#');
    if (!existsSync(join(root, path))) return `there is no ${path}`;
    if (path.endsWith('.md') && !casesIn(path).has(anchor ?? '')) return `there is no case ${link}`;
  }
  if (is !== 'met') return when === '' ? null : 'only what is met has a condition';
  const texts = shown.map(textShown);
  const isUsual = shown.some((link, index) => !link.includes('#') || hasDefaults(texts[index] ?? ''));
  if (isUsual !== (when === ''))
    return isUsual
      ? 'a case with the default settings shows it without a condition'
      : 'its cases set something: say when it is met';
  // The notation of streams leaves `response.` out.
  const missing = wordsOf(row).find((word) => !texts.some((text) => text.includes(word.replace(/^response\./, ''))));
  return missing === undefined ? null : `nothing that shows it has the word ${missing}`;
}

/** The names of the API in what a row asks: `service_tier`, `response.completed`. */
function wordsOf({ id, asks }: Requirement): readonly string[] {
  return `${id} ${asks}`.match(/\b[a-z]+(?:[._][a-z]+)+\b/g) ?? [];
}

/** Whether a case says what happens where nobody configured anything. */
function hasDefaults(text: string): boolean {
  const { profiles, context = '{}', settings } = blocksOf(text);
  const isRequest = text.includes('```json chat');
  const given = isRequest ? [] : Object.keys(JSON.parse(context) as object).filter((name) => !ofRequest.has(name));
  return settings === undefined && given.length === 0 && (profiles === undefined || profiles.includes('"generic"'));
}

/** What a case's context says of its request. */
const ofRequest: ReadonlySet<string> = new Set(['toolNames']);

function blocksOf(text: string): Partial<Record<string, string>> {
  return Object.fromEntries([...text.matchAll(/^```json (\w+)\n(.*?)^```$/gms)].map(([, name, body]) => [name, body]));
}

/** The text of a case, or of a test. */
function textShown(link: string): string {
  const [path = '', anchor] = link.split('#');
  return anchor === undefined ? textOf(path) : (casesIn(path).get(anchor) ?? '');
}

/** The cases of a golden file by their anchors. */
function casesIn(path: string): ReadonlyMap<string, string> {
  const known = cases.get(path);
  if (known !== undefined) return known;
  const parts = textOf(path).split(/^## /m).slice(1);
  const found = new Map(parts.map((part) => [anchorOf(part.slice(0, part.indexOf('\n'))), part]));
  cases.set(path, found);
  return found;
}

const cases = new Map<string, ReadonlyMap<string, string>>();

function pageOf(documents: readonly RequirementDocument[]): string {
  const rows = documents.flatMap((one) => one.rows);
  const count = (is: Requirement['is']) => rows.filter((row) => row.is === is).length;
  return `<!-- Written by npm run generate from ${data}. -->

# Requirements

For contributors who want to know which published requirements of a Responses server the service meets, and why it differs
where it does not. [The file](${data.slice('docs/decisions/'.length)}) has what five documents ask of a service without state, with their numbers and in our words.
Of ${rows.length} rows, ${count('met')} are met (${rows.filter((row) => row.when !== undefined).length} on a condition), ${count('differs')} differ, and ${count('refused')} are refused with an error that names the field.
This page lists the rows that are not met, and why, and the conditions.

${documents.map(sectionOf).join('\n\n')}
`;
}

function sectionOf({ document, title, rows }: RequirementDocument): string {
  const others = rows.filter(({ is, when }) => is !== 'met' || when !== undefined);
  // What has one reason is one row.
  const here = ({ is, why, when }: Requirement) => (is === 'met' ? `**met**, if ${when}` : `**${is}**: ${why}`);
  const lines = [...new Set(others.map(here))].map((reason) => {
    const group = others.filter((row) => here(row) === reason);
    return `| ${group.map(numberOf).join(', ')} | ${group.map(({ asks }) => asks).join('; ')} | ${reason} |`;
  });
  const table = `| | What is asked | Here |\n| --- | --- | --- |\n${lines.join('\n')}`;
  const met = `${rows.filter(({ is }) => is === 'met').length} of ${rows.length} are met.`;
  return [`## ${document} ${title}`, met, ...(others.length === 0 ? [] : [table])].join('\n\n');
}

/** The number in its document, which links what shows it. */
function numberOf({ id, shown: [first, ...more] }: Requirement): string {
  return [`[${id}](../../${first})`, ...more.map((link, index) => `[${index + 2}](../../${link})`)].join(', ');
}
