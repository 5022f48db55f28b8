import type { ExplainedField, RequestExplanation } from '../../explain/explanation.ts';
import type { Cause } from '../../explain/what-if.ts';
import type { Explained, Mark } from './json-lines.ts';

/** The part of the output of `explain --json` that the page shows. */
export type ExplanationFile = Pick<RequestExplanation, 'refusals' | 'fields' | 'added'>;

/** The explanation of a value on either side, as text. */
export interface Account {
  /** Where it is in the client's request, and what it is in the Chat request. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** `sent`, `dropped` and so on, as text. */
  readonly fate: string;
  /** The rule, then what decided it; empty if there is nothing to say. */
  readonly reasons: readonly string[];
  /** An address, or a path in the repository. */
  readonly link: string | null;
}

/** An explanation as the two bodies show it: by path, with marks and notes for both, and the explanation of each place. */
export interface ExplainedBodies {
  readonly client: ReadonlyMap<string, Explained>;
  readonly chat: ReadonlyMap<string, Explained>;
  /** That of the nearest enclosing place that has one; null without one. */
  accountOf(side: 'client' | 'chat', path: string): Account | null;
}

/** How a field is marked, and its fate as text. */
const fates: Readonly<Record<ExplainedField['fate'], readonly [Mark, string]>> = {
  sent: ['same', 'sent as it is'],
  renamed: ['moved', 'sent under another name'],
  rewritten: ['changed', 'sent as something else'],
  in_response: ['only', 'not sent; the Response repeats it'],
  dropped: ['dropped', 'dropped, and named in x-responses-dropped'],
  left_out: ['only', 'not sent, without effect'],
  absent: ['same', 'not set'],
};

/** Makes both sides of an explanation. */
export function explainedBodies({ fields, refusals, added }: ExplanationFile): ExplainedBodies {
  const client = new Map<string, Explained>();
  const chat = new Map<string, Explained>();
  const accounts = { client: new Map<string, Account>(), chat: new Map<string, Account>() };
  const sources = new Map<string, ExplainedField[]>();
  for (const field of fields) {
    const to = field.becomes.map(({ path }) => path);
    const isInPlace = field.fate === 'sent' && to.length === 1 && to[0] === field.field;
    client.set(field.field, { mark: fates[field.fate][0], note: isInPlace ? null : noteOf(field, to) });
    accounts.client.set(field.field, accountOf(field, to));
    // A part of it that was dropped; `tools[].strict` names that of every tool.
    for (const name of field.dropped) {
      const part = name.replace(/^(\w+)\[\]/, (list, of) => (field.field.startsWith(`${of}[`) ? field.field : list));
      if (!client.has(part)) client.set(part, { mark: 'dropped', note: null });
    }
    for (const path of to) sources.set(path, [...(sources.get(path) ?? []), field]);
  }
  for (const [path, from] of sources) {
    const names = from.map(({ field }) => field);
    const [first] = from;
    const isInPlace = names.length === 1 && names[0] === path;
    const mark = from.some(({ fate }) => fate === 'rewritten') ? 'changed' : fates[first?.fate ?? 'sent'][0];
    chat.set(path, { mark, note: isInPlace ? null : `← ${listed(names)}` });
    if (first !== undefined) accounts.chat.set(path, { ...accountOf(first, [path]), from: names });
  }
  for (const { path, causes } of added) {
    chat.set(path, { mark: 'only', note: 'added' });
    const reasons = causes.map(causeText);
    accounts.chat.set(path, { from: [], to: [path], fate: 'added', reasons, link: null });
  }
  for (const { error, rule, causes, link } of refusals)
    if (error.param !== null && !client.has(error.param)) {
      client.set(error.param, { mark: 'dropped', note: 'refused' });
      const reasons = [error.message, rule, ...causes.map(causeText)];
      accounts.client.set(error.param, { from: [error.param], to: [], fate: 'refused', reasons, link });
    }
  return {
    client,
    chat,
    accountOf(side, path) {
      for (let at = path; at !== ''; at = parentOf(at)) {
        const account = accounts[side].get(at);
        if (account !== undefined) return account;
      }
      return null;
    },
  };
}

/** The path of the enclosing value; empty for a top-level field. */
function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.'), path.lastIndexOf('[')));
}

function accountOf({ field, fate, causes, rule, link, dropped }: ExplainedField, to: readonly string[]): Account {
  const without = dropped.length === 0 || fate === 'dropped' ? '' : `, without ${dropped.join(', ')}`;
  const isPlain = fate === 'sent' && dropped.length === 0;
  const reasons = isPlain ? [] : [rule, ...causes.map(causeText)];
  return { from: [field], to, fate: `${fates[fate][1]}${without}`, reasons, link: isPlain ? null : link };
}

function noteOf({ fate, dropped }: ExplainedField, to: readonly string[]): string {
  if (to.length > 0) return `→ ${listed(to)}${dropped.length > 0 ? ', in part' : ''}`;
  return { dropped: 'dropped', in_response: 'in the Response' }[fate as string] ?? 'not sent';
}

/** The first of them, and how many more there are. */
function listed(paths: readonly string[]): string {
  return paths.length <= 2 ? paths.join(', ') : `${paths[0]} and ${paths.length - 1} more`;
}

function causeText({ kind, name, value, meaning, reason }: Cause): string {
  const shown = value === '' ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value);
  if (kind === 'variable') return `${name} is ${shown}: ${meaning}`;
  return `The profile’s flag ${name} is ${shown}. ${reason ?? meaning}`;
}
