import { document, indentOf, rowLines, section } from '../cli/columns.ts';
import { type Colour, printable, type Style, wrap } from '../cli/style.ts';
import type { ChatPlace, ExplainedField, Reason, Refusal, RequestExplanation, UpstreamRequest } from './explanation.ts';
import type { Fate } from './fates.ts';
import { cut, prettyJson, short } from './shorten-json.ts';
import type { Cause } from './what-if.ts';

/** The explanation of a request for a person; unshortened with `full`. */
export function printRequest(explanation: RequestExplanation, style: Style, full: boolean): string {
  const { request, profile, model, outcome, catalog, answered, chat_request: chat, refusals, notes } = explanation;
  const from = style.paint('bold', printable(`${request.method} ${request.path}`));
  const to = chat === null ? '' : ` → ${style.paint('bold', printable(`${chat.method} ${chat.path}`))}`;
  const under = style.paint('dim', printable(`profile ${profile}${model === null ? '' : `, model ${model}`}`));
  const width = style.width - 2;
  const noteLines = notes.flatMap((note) => wrap(note, width));
  const body = chat === null || chat.body === null ? [] : prettyJson(chat.body, { width, full }).split('\n');
  return document([
    [`${from}${to}  ${under}`, ...(outcome === 'passed' ? [passes] : [])],
    ...refusals.map((refusal, index) => refusalLines(refusal, index === 0, style)),
    answered === null ? [] : section(isAnswered, reasonLines(answered, style, width), style),
    chat === null
      ? []
      : section(`Headers of the ${catalog === null ? 'Chat ' : ''}request`, headerLines(chat, style), style),
    catalog === null ? [] : section('The answer', reasonLines(catalog, style, width), style),
    section('Body of the Chat request', body, style),
    section('What became of each field', fieldLines(explanation.fields, style, full), style),
    section('Dropped, and named in x-responses-dropped', droppedLines(explanation, style), style),
    section('Added', addedLines(explanation, style), style),
    section('Notes', noteLines, style),
  ]);
}

const passes = 'Not a request that this service translates: it passes as it is, body and all.';
const isAnswered = 'Answered with an empty Response; the upstream is not asked';

const envoys = /^x-(envoy-|forwarded-|request-id$)/;

function headerLines(chat: UpstreamRequest, { paint, width }: Style): readonly string[] {
  const names = Object.keys(chat.headers);
  const lines = names.map((name) => {
    const isSet = chat.headers_set.includes(name);
    const text = printable(`${name}: ${cut(chat.headers[name] ?? '', width - name.length - 20)}`);
    return isSet ? text : paint('dim', `${text}  (${envoys.test(name) ? 'Envoy’s' : 'the client’s'} own)`);
  });
  return [...lines, ...chat.headers_removed.map((name) => paint('dim', `${printable(name)} removed`))];
}

const shownAs: { readonly [Name in Fate]: { readonly text: string; readonly colour: Colour } } = {
  sent: { text: 'sent', colour: 'green' },
  renamed: { text: 'renamed', colour: 'cyan' },
  rewritten: { text: 'rewritten', colour: 'yellow' },
  in_response: { text: 'in Response', colour: 'blue' },
  dropped: { text: 'dropped', colour: 'red' },
  left_out: { text: 'left out', colour: 'dim' },
  absent: { text: 'not set', colour: 'dim' },
};

function fieldLines(fields: readonly ExplainedField[], style: Style, full: boolean): readonly string[] {
  const groups = full ? fields.map((field) => [field]) : grouped(fields);
  const names = groups.map(nameOf);
  const nameWidth = Math.min(36, Math.max(0, ...names.map((name) => name.length)));
  const width = style.width - indentOf([nameWidth, fateWidth]) - 2;
  let above = '';
  return groups.flatMap((group, index) => {
    const [field] = group as [ExplainedField];
    const cells = [
      { text: printable(cut(names[index] ?? '', nameWidth)), width: nameWidth },
      { ...shownAs[field.fate], width: fateWidth },
    ];
    const reason = field.fate === 'sent' && field.dropped.length === 0 ? [] : reasonLines(field, style, width);
    const key = reason.join('\n');
    const isRepeated = key !== '' && key === above;
    above = key;
    const why = isRepeated ? [style.paint('dim', '(likewise)')] : reason;
    return rowLines(cells, [becomesText(group, width), ...why], style);
  });
}

const fateWidth = 'in Response'.length;

/** Groups fields into lines. Three or more items or tools in a row that were sent unchanged share a line. */
function grouped(fields: readonly ExplainedField[]): readonly (readonly ExplainedField[])[] {
  const groups: ExplainedField[][] = [];
  const listOf = ({ field }: ExplainedField) => /^(\w+)\[\d+\]$/.exec(field)?.[1];
  for (const field of fields) {
    const last = groups.at(-1)?.[0];
    const list = listOf(field);
    if (list !== undefined && isPlain(field) && last !== undefined && isPlain(last) && listOf(last) === list)
      groups.at(-1)?.push(field);
    else groups.push([field]);
  }
  return groups.flatMap((group) => (group.length < 3 ? group.map((field) => [field]) : [group]));
}

function isPlain({ fate, becomes, dropped }: ExplainedField): boolean {
  return fate === 'sent' && dropped.length === 0 && new Set(becomes.map(elementOf)).size === 1;
}

/** The message or tool that a place is part of. */
function elementOf({ path }: ChatPlace): string {
  return /^\w+(\[\d+\])?/.exec(path)?.[0] ?? path;
}

function numberIn(element: string): number {
  return Number(/\d+/.exec(element)?.[0]);
}

function nameOf(group: readonly ExplainedField[]): string {
  const [first, last] = [group[0]?.field ?? '', group.at(-1)?.field ?? ''];
  return group.length === 1 ? first : `${first}…[${numberIn(last)}]`;
}

/** Where a field can be found after translation. */
function becomesText(group: readonly ExplainedField[], width: number): string {
  const [field] = group as [ExplainedField];
  if (group.length > 1) {
    // An item may become a message that stands behind that of the next one.
    const elements = group
      .flatMap(({ becomes }) => becomes.map(elementOf))
      .sort((one, other) => numberIn(one) - numberIn(other));
    return `${elements[0]}…[${numberIn(elements.at(-1) ?? '')}]`;
  }
  if (field.fate === 'in_response') return printable(cut(field.in_response.join(', '), width));
  if (field.fate === 'absent') return 'the request does not set it';
  if (field.fate === 'dropped') {
    const others = field.dropped.filter((name) => name !== field.field);
    return others.length === 0 ? '' : printable(cut(`as ${others.join(', ')}`, width));
  }
  const most = field.becomes.length > 1 ? Math.max(30, Math.floor(width / field.becomes.length) - 2) : width;
  const without = field.dropped.length === 0 ? '' : printable(`; without ${field.dropped.join(', ')}`);
  const places = joinedPlaces(field.becomes).map((place) => placeText(place, most));
  return cut(places.join(', '), Math.max(width - without.length, 40)) + without;
}

/** Joins places that are consecutive elements of one list into one, such as `messages[1…3]`. */
function joinedPlaces(places: readonly ChatPlace[]): readonly ChatPlace[] {
  const parts = places.map(({ path }) => /^(\w+)\[(\d+)\]$/.exec(path));
  const [first, last] = [parts[0], parts.at(-1)];
  if (places.length < 2 || first == null || last == null || parts.some((part) => part?.[1] !== first[1])) return places;
  return [{ path: `${first[1]}[${first[2]}…${last[2]}]`, value: undefined }];
}

function placeText({ path, value }: ChatPlace, width: number): string {
  return value === undefined
    ? printable(path)
    : printable(`${path}: `) + short(value, Math.max(12, width - path.length - 2));
}

/** Prints a reason: the flags and variables that decided, what the mapping says, and where to read more. */
function reasonLines({ causes, rule, link }: Reason, { paint }: Style, width: number): readonly string[] {
  return [...causes.flatMap((cause) => wrap(causeText(cause), width)), ...wrap(rule, width), paint('dim', link)];
}

function causeText({ kind, name, value, meaning, reason }: Cause): string {
  const shown = value === '' ? 'not set' : short(value, 60);
  if (kind === 'variable') return `${name} is ${shown}: ${meaning}`;
  return `The profile’s flag ${name} is ${shown}.${reason === null ? '' : ` ${reason}`} (The flag: ${meaning})`;
}

/** Prints the dropped names. A name that a field's own lines explain is only listed. */
function droppedLines({ dropped, fields, answered }: RequestExplanation, style: Style): readonly string[] {
  const explained = new Set(fields.flatMap((field) => field.dropped));
  const isExplained = ({ name }: { readonly name: string }) => answered !== null || explained.has(name);
  const names = dropped.filter(isExplained).map(({ name }) => style.paint('red', printable(name)));
  const others = dropped.filter((one) => !isExplained(one));
  const lines = others.flatMap(({ name, ...reason }) => [
    style.paint('red', printable(name)),
    ...reasonLines(reason, style, style.width - 6).map((line) => `  ${line}`),
  ]);
  return [...names, ...lines];
}

function addedLines({ added }: RequestExplanation, style: Style): readonly string[] {
  return added.flatMap(({ causes, ...place }) => [
    style.paint('magenta', placeText(place, style.width - 4)),
    ...causes.flatMap((cause) => wrap(causeText(cause), style.width - 6)).map((line) => `  ${line}`),
  ]);
}

function refusalLines({ status, error, ...reason }: Refusal, isFirst: boolean, style: Style): readonly string[] {
  const where = `${error.code}${error.param === null ? '' : `, ${error.param}`}`;
  const title = isFirst ? `Refused: HTTP ${status} ${where}` : `And then: ${where}`;
  const lines = [...wrap(error.message, style.width - 2), ...reasonLines(reason, style, style.width - 2)];
  return [style.paint('red', printable(title)), ...lines.map((line) => `  ${line}`)];
}
