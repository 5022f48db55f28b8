import { readRequestBody } from '../exchange/request/request-body.ts';
import { runSteps } from '../exchange/steps.ts';
import { isCredential, REDACTED } from '../inspect/redact.ts';
import type { ApiErrorObject } from '../schema/api-error.ts';
import { type Cause, causesOf, runAndFlagsRead, type VariedRun, variationsOf } from './causes.ts';
import { differences, isSame, recordOf } from './differences.ts';
import { fieldsOf, type Path, pathOf, pathText, valueAt, without, withValue } from './fields.ts';
import { linkOf, rowOf, rowOfError, rowOfValue } from './mapping-link.ts';
import { refusalsOf } from './refusals.ts';
import {
  answered,
  type CatalogRun,
  type ClientRequest,
  plainAnswer,
  plainList,
  type RequestRun,
  runRequest,
  type SentRun,
  type Setup,
} from './run-request.ts';

/**
 * - `sent`: under its own name, with its own value; a message as a message, a call as a call, a function as a function.
 * - `renamed`: with its own value, under another name.
 * - `rewritten`: as something else.
 * - `in_response`: not sent; the Response shows it.
 * - `dropped`: left out, and named in `x-responses-dropped`.
 * - `left_out`: without any effect on the Chat request or the Response.
 * - `needed`: the request is refused without it, so that its effect cannot be told apart.
 * - `absent`: the request does not set it.
 */
export type Fate = 'sent' | 'renamed' | 'rewritten' | 'in_response' | 'dropped' | 'left_out' | 'needed' | 'absent';

/** Why, and where to read about it. */
export interface Reason {
  /** Flags of the profile and variables of the environment that decided it; none where it is always so. */
  readonly causes: readonly Cause[];
  /** The row of `docs/mapping.md`: what it says, and its address. */
  readonly rule: string;
  readonly link: string;
}

/** A part of the Chat request; `value` is absent where the place is empty because of the field. */
export interface ChatPlace {
  /** `messages[0].content`, `header accept`, or `path`. */
  readonly path: string;
  readonly value?: unknown;
}

/** What became of one field. */
export interface ExplainedField extends Reason {
  readonly field: string;
  readonly value?: unknown;
  readonly fate: Fate;
  /** Where in the Chat request it can be seen. */
  readonly becomes: readonly ChatPlace[];
  /** Where in the Response it can be seen. */
  readonly in_response: readonly string[];
  /** What of it is dropped, as `x-responses-dropped` names it. */
  readonly dropped: readonly string[];
}

/** A name of `x-responses-dropped`. */
export interface ExplainedName extends Reason {
  readonly name: string;
}

/** A part of the Chat request that no field of the request became. */
export interface AddedPlace extends ChatPlace {
  readonly causes: readonly Cause[];
}

/** A refusal: what the client gets instead of an answer. */
export interface Refusal extends Reason {
  readonly status: number;
  readonly error: ApiErrorObject;
}

/** What became of a request. Its keys are the machine form's. */
export interface RequestExplanation {
  readonly profile: string;
  readonly model: string | null;
  readonly request: { readonly method: string; readonly path: string };
  readonly outcome: 'sent' | 'catalog' | 'refused' | 'passed';
  readonly chat_request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly headers_set: readonly string[];
    readonly headers_removed: readonly string[];
    readonly body: unknown;
  } | null;
  /** The first is the one the client gets; the others are what it would get next. */
  readonly refusals: readonly Refusal[];
  readonly fields: readonly ExplainedField[];
  readonly dropped: readonly ExplainedName[];
  readonly added: readonly AddedPlace[];
  /** What makes the catalog for Codex out of the upstream's list of models; null for any other request. */
  readonly catalog: Reason | null;
  /** What was not looked into, and why. */
  readonly notes: readonly string[];
}

export interface ExplainOptions {
  readonly setup: Setup;
  readonly request: ClientRequest;
  /** Unix seconds. */
  readonly now: number;
  /** The fields to explain; null for all. */
  readonly fields: readonly Path[] | null;
  /** What links begin with; empty for a path in the repository. */
  readonly linkBase: string;
  /** Bytes of request bodies that may be translated to find where fields went, and as many again to find out why. */
  readonly probedBytes?: number;
}

/** A few seconds: docs/decisions/0006-cpu-of-a-request.md. */
const defaultProbedBytes = 256 * 1024 * 1024;

const tooLargeForCauses = 'The request is too large to find out which flags and variables decided.';

/**
 * Explains a request by running it through the service's own exchange: as it is, then without each of its fields (what
 * differs is what the field became), then under every other value of each flag and variable (what differs is what they
 * decide). Nothing here knows how a field is translated.
 */
export function explainRequest(options: ExplainOptions): RequestExplanation {
  const { setup, request, now, fields, linkBase, probedBytes = defaultProbedBytes } = options;
  const notes: string[] = [];
  const run = runRequest(setup, request, now);
  const body = readable(setup, request);
  const rerun = (value: unknown, changed = setup) => runRequest(changed, withBody(request, value), now);
  const model = valueAt(body, ['model']);
  const modelName = typeof model === 'string' && model !== '' ? model : setup.config.DEFAULT_MODEL;

  const common = {
    profile: setup.profile.name,
    model: modelName === '' ? null : modelName,
    request: { method: request.method, path: request.path },
    outcome: run.type,
  };
  const nothing = { chat_request: null, refusals: [], fields: [], dropped: [], added: [], catalog: null, notes };
  if (run.type === 'passed') return { ...common, ...nothing };
  if (run.type === 'catalog') {
    const made = answered(run, plainList).body;
    const causes = variationsOf(setup, modelName, body).flatMap(({ cause, setup: changed }): readonly VariedRun[] => {
      const other = runRequest(changed, request, now);
      return other.type === 'catalog' && !isSame(answered(other, plainList).body, made) ? [{ cause, run: other }] : [];
    });
    const catalog = {
      causes: causesOf(causes, () => true),
      rule: 'The upstream’s list of models gets a `models` beside its own `data`: the catalog that Codex reads.',
      link: `${linkBase}docs/mapping.md#the-catalog-for-codex`,
    };
    return { ...common, ...nothing, chat_request: upstreamRequestOf(run, null), catalog };
  }

  // A call that has lost its output, or an output its call, is no reason to refuse these.
  const lenient: Setup = {
    ...setup,
    config: { ...setup.config, ORPHAN_OUTPUTS: 'synthesize', MISSING_OUTPUTS: 'synthesize' },
  };
  const variations = variationsOf(setup, modelName, body);
  /** The request with this body under every variation, as far as it comes to something else than `usual`. */
  function varied(value: unknown, usual: RequestRun, times = 1): readonly VariedRun[] {
    const affordable = variations.length * request.body.length * times <= probedBytes;
    if (!affordable && !notes.includes(tooLargeForCauses)) notes.push(tooLargeForCauses);
    if (!affordable || value === undefined) return [];
    const same = withBody(request, value);
    const settled = runAndFlagsRead(setup, modelName, (changed) => runRequest(changed, same, now));
    // A body without its model may be translated by another rule of the profile.
    const isTheUsual = isSameRun(usual, settled.run);
    return variations.flatMap(({ cause, setup: changed }) => {
      if (isTheUsual && cause.kind === 'flag' && !settled.flags.has(cause.name)) return [];
      const other = runRequest(changed, same, now);
      return isSameRun(usual, other) ? [] : [{ cause, run: other }];
    });
  }

  if (run.type === 'refused') {
    const refused = refusalsOf(run, body, (value, isLenient) => rerun(value, isLenient ? lenient : setup));
    const refusals = refused.map((one, index): Refusal => {
      const next = refused[index + 1]?.run.error;
      const overcome = (other: RequestRun) =>
        other.type === 'sent' || (other.type === 'refused' && next !== undefined && isSame(other.error, next));
      const { status, error } = one.run;
      const row = rowOfError(error, body);
      const causes = causesOf(varied(one.body, one.run, refused.length), overcome);
      return { status, error, causes, rule: row.rule, link: linkOf(row, linkBase) };
    });
    return { ...common, ...nothing, refusals };
  }

  let kept: readonly VariedRun[] | null = null;
  /** Made when they are first needed. */
  function variedRuns(): readonly VariedRun[] {
    kept ??= varied(body, run);
    return kept;
  }

  const base = run;
  const baseAnswer = answered(sentAgain(), plainAnswer).response;
  function sentAgain() {
    const again = runRequest(setup, request, now);
    if (again.type !== 'sent') throw new Error('The same request came to another end.');
    return again;
  }

  function explainField(path: Path): ExplainedField {
    const field = pathText(path);
    const value = valueAt(body, path);
    const row = rowOfValue(field, value);
    const head = { field, ...(value === undefined ? {} : { value }) };
    const tail = { rule: row.rule, link: linkOf(row, linkBase) };
    const none = { becomes: [], in_response: [], dropped: [], causes: [] };
    if (value === undefined) return { ...head, fate: 'absent', ...none, ...tail };
    const pair = withAndWithout(path, value);
    if (pair === null) return { ...head, fate: 'needed', ...none, ...tail };
    const [present, missing] = pair;
    const becomes = withRole(placesOf(present, missing), value, present);
    // Without an element of a list the others have other names.
    const isOwn = (name: string) =>
      typeof path.at(-1) === 'number'
        ? name.startsWith(`${field}.`) || name.startsWith(`${field}[`)
        : !missing.dropped.includes(name);
    const dropped = present.dropped.filter(isOwn);
    const repeated = differences(
      answered(missing, plainAnswer).response,
      present === base ? baseAnswer : answered(present, plainAnswer).response,
    );
    const in_response = repeated.map((difference) => difference.path);
    const fate = fateOf({ field, value, becomes, dropped, in_response });
    const isDecidedBy = (other: RequestRun) => isDecided(other, { path, value, fate, becomes, dropped });
    const causes = fate === 'sent' && dropped.length === 0 ? [] : causesOf(variedRuns(), isDecidedBy);
    return { ...head, fate, becomes, in_response, dropped, causes, ...tail };
  }

  /** The request as it is and without the field; where it is refused without it, with something else in its place. */
  function withAndWithout(path: Path, value: unknown): readonly [Sent, Sent] | null {
    if (path[0] === 'input' && valueAt(value, ['output']) !== undefined) {
      const other = rerun(withValue(body, [...path, 'output'], '…'), lenient);
      if (other.type === 'sent') return [base, other];
    }
    const missing = rerun(without(body, path), lenient);
    if (missing.type === 'sent') return [base, missing];
    if (path[0] === 'tools') {
      const free = without(body, ['tool_choice']);
      const [present, less] = [rerun(free), rerun(without(free, path))];
      if (present.type === 'sent' && less.type === 'sent') return [present, less];
    }
    const other = rerun(withValue(body, path, replacementOf(path, value)), lenient);
    return other.type === 'sent' ? [base, other] : null;
  }

  const wanted = fields ?? fieldsOf(body);
  const [explained, left] = affordableOf(wanted, probedBytes / Math.max(1, request.body.length));
  if (left > 0)
    notes.push(`The request is too large to follow each of its items: ${left} of them, the oldest, are not shown.`);
  const fieldsExplained = explained.map(explainField);

  return {
    ...common,
    chat_request: upstreamRequestOf(base, base.chat),
    refusals: [],
    fields: fieldsExplained,
    dropped: base.dropped.map((name) => {
      const row = rowOf(name);
      const causes = causesOf(variedRuns(), (other) => isNotDropped(name, other));
      return { name, causes, rule: row.rule, link: linkOf(row, linkBase) };
    }),
    catalog: null,
    added: fields === null && left === 0 ? addedTo(base, fieldsExplained, variedRuns()) : [],
    notes,
  };
}

type Sent = SentRun;

/** What the upstream gets, as it may be shown. */
function upstreamRequestOf(
  { method, path, headers, headerChanges }: SentRun | CatalogRun,
  body: unknown,
): NonNullable<RequestExplanation['chat_request']> {
  return {
    method,
    path,
    headers: withoutSecrets(headers),
    headers_set: Object.keys(headerChanges.set ?? {}).filter((name) => !name.startsWith(':')),
    headers_removed: headerChanges.remove ?? [],
    body,
  };
}

/** Of a client's key and cookies only that they are there: what is printed gets pasted. */
function withoutSecrets(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
  return Object.fromEntries(shown.map(([name, value]) => [name, isCredential(name) ? REDACTED : value]));
}

/** The body as a value, as the service reads it; undefined for what it cannot read. */
function readable({ config }: Setup, { headers, body }: ClientRequest): unknown {
  const names = {
    contentType: headers.get('content-type') ?? null,
    contentEncoding: headers.get('content-encoding') ?? null,
  };
  const limits = {
    maxRequestBytes: config.MAX_REQUEST_BYTES,
    maxNesting: config.MAX_NESTING,
    maxValues: config.MAX_REQUEST_VALUES,
  };
  try {
    return runSteps(readRequestBody(body, names, limits, () => null));
  } catch {
    return undefined;
  }
}

function withBody(request: ClientRequest, value: unknown): ClientRequest {
  const headers = new Map(request.headers);
  for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  return { ...request, headers, body: Buffer.from(JSON.stringify(value)) };
}

/** Fields that can be followed within the budget, and how many items cannot. The last items are the most interesting. */
function affordableOf(fields: readonly Path[], most: number): readonly [readonly Path[], number] {
  const isItem = (path: Path) => path[0] === 'input' && path.length > 1;
  const items = fields.filter(isItem);
  const left = Math.min(items.length, Math.max(0, Math.ceil(fields.length - most)));
  const hidden = new Set(items.slice(0, left));
  return [fields.filter((path) => !hidden.has(path)), left];
}

/** Something that is accepted in that place and leads to something else. */
function replacementOf(path: Path, value: unknown): unknown {
  if (path[0] === 'input' && path.length === 2) return { type: 'message', role: 'user', content: '…' };
  if (typeof value === 'string') return `${value}-`;
  return path[0] === 'input' && path.length === 1 ? '…' : null;
}

/** Where the Chat request differs because of the field: in its body, its path, its headers. */
function placesOf(present: Sent, missing: Sent): readonly ChatPlace[] {
  const inBody = differences(missing.chat, present.chat);
  const inHeaders = differences(missing.headerChanges.set, present.headerChanges.set).filter(
    ({ path }) => path !== 'content-length',
  );
  return [
    ...inBody.flatMap(({ path, after }) =>
      // The first of a list brings the list.
      Array.isArray(after) && /^\w+$/.test(path)
        ? after.map((element, index) => placeOf({ path: `${path}[${index}]`, after: element }))
        : [placeOf({ path, after })],
    ),
    ...inHeaders.map((one) => placeOf({ ...one, path: one.path === ':path' ? 'path' : `header ${one.path}` })),
  ];
}

function placeOf({ path, after }: { readonly path: string; readonly after: unknown }): ChatPlace {
  return after === undefined ? { path } : { path, value: after };
}

function fateOf({
  field,
  value,
  becomes,
  dropped,
  in_response,
}: Pick<ExplainedField, 'field' | 'value' | 'becomes' | 'dropped' | 'in_response'>): Fate {
  if (becomes.some((place) => place.path === field && isSame(place.value, value))) return 'sent';
  if (isPlain(value, becomes)) return 'sent';
  if (becomes.some((place) => place.value !== undefined && isSame(place.value, value))) return 'renamed';
  if (becomes.length > 0) return 'rewritten';
  if (dropped.length > 0) return 'dropped';
  return in_response.length > 0 ? 'in_response' : 'left_out';
}

/** A message, a call, an output or a function that is the same in the words of the other API. */
function isPlain(value: unknown, becomes: readonly ChatPlace[]): boolean {
  const has = (wanted: unknown) => becomes.some((place) => isSame(place.value, wanted));
  const [whole] = becomes.map((place) => place.value);
  switch (valueAt(value, ['type'])) {
    case 'function':
      return functionKeys.every((key) => isSame(valueAt(value, [key]), valueAt(whole, ['function', key])));
    case 'function_call':
      return has(valueAt(value, ['name'])) && has(valueAt(value, ['arguments']));
    case 'function_call_output':
      return becomes.length === 1 && has(valueAt(value, ['output']));
    default: {
      const role = valueAt(value, ['role']);
      return becomes.length === 1 && typeof role === 'string' && role === valueAt(whole, ['role']);
    }
  }
}

const functionKeys = ['name', 'description', 'parameters', 'strict'];

/** Whether both led to the same request, or the same refusal. */
function isSameRun(one: RequestRun, other: RequestRun): boolean {
  if (one.type === 'refused' && other.type === 'refused') return isSame(one.error, other.error);
  if (one.type !== 'sent' || other.type !== 'sent') return one.type === other.type;
  if (one.path !== other.path || !isSame(one.dropped, other.dropped)) return false;
  if (!isSame(one.headerChanges, other.headerChanges)) return false;
  // Nearly all variations change not a byte.
  return one.body.equals(other.body) || isSame(one.chat, other.chat);
}

/** Whether under this variation something else became of the field. */
function isDecided(
  other: RequestRun,
  field: { readonly path: Path; readonly value: unknown } & Pick<ExplainedField, 'fate' | 'becomes' | 'dropped'>,
): boolean {
  if (field.dropped.some((name) => isNotDropped(name, other))) return true;
  if (other.type !== 'sent') return false;
  switch (field.fate) {
    case 'renamed':
    case 'rewritten':
      return field.becomes.some((place) => !isThere(place, other));
    case 'in_response':
    case 'left_out':
      return isSame(valueAt(other.chat, field.path), field.value);
    case 'sent':
    case 'dropped':
    case 'needed':
    case 'absent':
      return false;
  }
}

/** Whether the place, or for a message or tool the whole of it wherever it stands, is the same there. */
function isThere({ path, value }: ChatPlace, other: Sent): boolean {
  if (path === 'path') return other.path === value;
  if (path.startsWith('header ')) return other.headers[path.slice('header '.length)] === value;
  const steps = pathOf(path);
  if (steps === null) return true;
  const [list, index] = steps;
  if (typeof index !== 'number' || typeof list !== 'string') return isSame(valueAt(other.chat, steps), value);
  if (isSame(valueAt(other.chat, steps), value)) return true;
  const elements = valueAt(other.chat, [list]);
  return Array.isArray(elements) && elements.some((element) => isSame(valueAt(element, steps.slice(2)), value));
}

/** The name is not dropped there: it is sent, or the request is refused for it. */
function isNotDropped(name: string, other: RequestRun): boolean {
  if (other.type === 'sent') return !other.dropped.includes(name);
  if (other.type !== 'refused' || other.error.param === null) return false;
  const element = (path: string) => /^.*\[\d+\]/.exec(path)?.[0] ?? path;
  return element(other.error.param) === element(name);
}

/** The role of the message that an item became, where it is another than its own. */
function withRole(places: readonly ChatPlace[], value: unknown, { chat }: Sent): readonly ChatPlace[] {
  const [, index] = places.map(({ path }) => /^messages\[(\d+)\]/.exec(path)).find((match) => match !== null) ?? [];
  const role = valueAt(value, ['role']);
  if (index === undefined || typeof role !== 'string') return places;
  const other = valueAt(chat, ['messages', Number(index), 'role']);
  return other === role ? places : [...places, { path: `messages[${index}].role`, value: other }];
}

/** The parts of the Chat request that came from no field, with the flags that put them there. */
function addedTo(base: Sent, fields: readonly ExplainedField[], varied: readonly VariedRun[]): readonly AddedPlace[] {
  const covered = new Set(fields.flatMap(({ becomes }) => becomes.map(({ path }) => partOf(path))));
  const parts = Object.entries(recordOf(base.chat) ?? {}).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((element, index) => ({ path: `${name}[${index}]`, value: element }))
      : [{ path: name, value }],
  );
  const coveredValues = parts.filter(({ path }) => covered.has(path)).map(({ value }) => JSON.stringify(value));
  return parts
    .filter(({ path, value }) => !covered.has(path) && !coveredValues.includes(JSON.stringify(value)))
    .map((part) => ({
      ...part,
      causes: causesOf(varied, (other) => other.type === 'sent' && !isThere(part, other)),
    }));
}

/** The top-level field, or the element of a top-level list: `messages[2].content` is in `messages[2]`. */
function partOf(path: string): string {
  return /^[^.[]+(\[\d+\])?/.exec(path)?.[0] ?? path;
}
