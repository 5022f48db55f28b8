import type { ExplainedField, RequestExplanation } from '../../explain/explanation.ts';
import type { Cause } from '../../explain/what-if.ts';
import type { Explained, Mark } from './json-lines.ts';

export type ShownExplanation = Pick<RequestExplanation, 'refusals' | 'fields' | 'added'>;

/** The explanation of one value, as text beside either body. */
export interface PlaceExplanation {
  /** The places in the client's request that a value comes from; `to` has the places that it became. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly fate: string;
  readonly reasons: readonly string[];
  readonly link: string | null;
}

/** An explanation arranged for the two bodies: the marks and notes of each path. */
export interface ExplainedBodies {
  readonly client: ReadonlyMap<string, ExplainedPlace>;
  readonly chat: ReadonlyMap<string, ExplainedPlace>;
}

interface ExplainedPlace extends Explained {
  readonly account: PlaceExplanation | null;
}

export function compareHeaders(client: Headers, chat: Headers): ExplainedBodies {
  const marks = (these: Headers, others: Headers) =>
    new Map(
      Object.entries(these).map(([name, value]) => {
        const mark: Mark = others[name] === undefined ? 'only' : others[name] === value ? 'same' : 'changed';
        return [name, { mark, note: null, account: null }];
      }),
    );
  return { client: marks(client, chat), chat: marks(chat, client) };
}

type Headers = Readonly<Record<string, string>>;

/** The explanation of a place, or of the nearest enclosing place that has one; null if none has. */
export function findPlaceExplanation(
  places: ReadonlyMap<string, ExplainedPlace>,
  path: string,
): PlaceExplanation | null {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.'), at.lastIndexOf('[')))) {
    const account = places.get(at)?.account ?? null;
    if (account !== null) return account;
  }
  return null;
}

/** A mark and words for what became of a field, such as “dropped”. */
const fates: Readonly<Record<ExplainedField['fate'], readonly [Mark, string]>> = {
  sent: ['same', 'sent as it is'],
  renamed: ['moved', 'sent under another name'],
  rewritten: ['changed', 'sent as something else'],
  in_response: ['only', 'not sent; the Response repeats it'],
  dropped: ['dropped', 'dropped, and listed in x-responses-dropped'],
  left_out: ['only', 'not sent, without effect'],
  absent: ['same', 'not set'],
};

export function buildExplainedBodies({ fields, refusals, added }: ShownExplanation): ExplainedBodies {
  const client = new Map<string, ExplainedPlace>();
  const chat = new Map<string, ExplainedPlace>();
  const sources = new Map<string, ExplainedField[]>();
  for (const field of fields) {
    const to = field.becomes.map(({ path }) => path);
    const isInPlace = field.fate === 'sent' && to.length === 1 && to[0] === field.field;
    const note = isInPlace ? null : writeNote(field, to);
    client.set(field.field, { mark: fates[field.fate][0], note, account: buildPlaceExplanation(field, to) });
    // A dropped part of the field is marked too; `tools[].strict` is that part of every tool.
    for (const name of field.dropped) {
      const part = name.replace(/^(\w+)\[\]/, (list, of) => (field.field.startsWith(`${of}[`) ? field.field : list));
      if (!client.has(part)) client.set(part, { mark: 'dropped', note: null, account: null });
    }
    for (const path of to) sources.set(path, [...(sources.get(path) ?? []), field]);
  }
  for (const [path, fields] of sources) {
    const [first] = fields;
    if (first === undefined) continue;
    const from = fields.map(({ field }) => field);
    const isInPlace = from.length === 1 && from[0] === path;
    const mark = fields.some(({ fate }) => fate === 'rewritten') ? 'changed' : fates[first.fate][0];
    const account = { ...buildPlaceExplanation(first, [path]), from };
    chat.set(path, { mark, note: isInPlace ? null : `← ${listPaths(from)}`, account });
  }
  for (const { path, causes } of added) {
    const account = { from: [], to: [path], fate: 'added', reasons: causes.map(writeCause), link: null };
    chat.set(path, { mark: 'only', note: 'added', account });
  }
  for (const { error, rule, causes, link } of refusals) {
    const { param, message } = error;
    if (param === null || client.has(param)) continue;
    const reasons = [message, rule, ...causes.map(writeCause)];
    const account = { from: [param], to: [], fate: 'refused', reasons, link };
    client.set(param, { mark: 'dropped', note: 'refused', account });
  }
  return { client, chat };
}

function buildPlaceExplanation(field: ExplainedField, to: readonly string[]): PlaceExplanation {
  const { fate, causes, rule, link, dropped } = field;
  const without = dropped.length === 0 || fate === 'dropped' ? '' : `, without ${dropped.join(', ')}`;
  const isPlain = fate === 'sent' && dropped.length === 0;
  const reasons = isPlain ? [] : [rule, ...causes.map(writeCause)];
  return { from: [field.field], to, fate: `${fates[fate][1]}${without}`, reasons, link: isPlain ? null : link };
}

function writeNote({ fate, dropped }: ExplainedField, to: readonly string[]): string {
  if (to.length > 0) return `→ ${listPaths(to)}${dropped.length > 0 ? ', in part' : ''}`;
  return { dropped: 'dropped', in_response: 'in the Response' }[fate as string] ?? 'not sent';
}

function listPaths(paths: readonly string[]): string {
  return paths.length <= 2 ? paths.join(', ') : `${paths[0]} and ${paths.length - 1} more`;
}

function writeCause({ kind, name, value, meaning, reason }: Cause): string {
  const shown = value === '' ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value);
  if (kind === 'variable') return `${name} is ${shown}: ${meaning}`;
  return `The profile’s flag ${name} is ${shown}. ${reason ?? meaning}`;
}
