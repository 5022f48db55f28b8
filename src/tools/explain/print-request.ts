import {
  type Colour,
  computeIndent,
  cutText,
  escapeControls,
  joinSections,
  type Style,
  wrapText,
  writePrettyJson,
  writeSection,
  writeShortJson,
  writeTableRow,
} from '../cli/terminal.ts';
import type { ChatPlace, ExplainedField, Reason, Refusal, RequestExplanation, UpstreamRequest } from './explanation.ts';
import type { Fate } from './fates.ts';
import type { Cause } from './what-if.ts';

export function printRequest(explanation: RequestExplanation, style: Style, full: boolean): string {
  const { request, profile, model, outcome, catalog, answered, chat_request: chat, refusals, notes } = explanation;
  const from = style.paint('bold', escapeControls(`${request.method} ${request.path}`));
  const to = chat === null ? '' : ` → ${style.paint('bold', escapeControls(`${chat.method} ${chat.path}`))}`;
  const under = style.paint('dim', escapeControls(`profile ${profile}${model === null ? '' : `, model ${model}`}`));
  const width = style.width - 2;
  const noteLines = notes.flatMap((note) => wrapText(note, width));
  const body = chat === null || chat.body === null ? [] : writePrettyJson(chat.body, { width, full }).split('\n');
  return joinSections([
    [`${from}${to}  ${under}`, ...(outcome === 'passed' ? [passes] : [])],
    ...refusals.map((refusal, index) => printRefusal(refusal, index === 0, style)),
    answered === null ? [] : writeSection(isAnswered, printReason(answered, style, width), style),
    chat === null
      ? []
      : writeSection(`Headers of the ${catalog === null ? 'Chat ' : ''}request`, printHeaders(chat, style), style),
    catalog === null ? [] : writeSection('The answer', printReason(catalog, style, width), style),
    writeSection('Body of the Chat request', body, style),
    writeSection('What became of each field', printFields(explanation.fields, style, full), style),
    writeSection('Dropped, and listed in x-responses-dropped', printDropped(explanation, style), style),
    writeSection('Added', printAdded(explanation, style), style),
    writeSection('Notes', noteLines, style),
  ]);
}

const passes = 'Not a request that this service translates: it passes as it is, body and all.';
const isAnswered = 'Answered with an empty Response; the upstream is not asked';

const envoys = /^x-(envoy-|forwarded-|request-id$)/;

function printHeaders(chat: UpstreamRequest, { paint, width }: Style): readonly string[] {
  const names = Object.keys(chat.headers);
  const lines = names.map((name) => {
    const isSet = chat.headers_set.includes(name);
    const text = escapeControls(`${name}: ${cutText(chat.headers[name] ?? '', width - name.length - 20)}`);
    return isSet ? text : paint('dim', `${text}  (${envoys.test(name) ? 'Envoy’s' : 'the client’s'} own)`);
  });
  return [...lines, ...chat.headers_removed.map((name) => paint('dim', `${escapeControls(name)} removed`))];
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

function printFields(fields: readonly ExplainedField[], style: Style, full: boolean): readonly string[] {
  const groups = full ? fields.map((field) => [field]) : groupFields(fields);
  const names = groups.map(nameGroup);
  const nameWidth = Math.min(36, Math.max(0, ...names.map((name) => name.length)));
  const width = style.width - computeIndent([nameWidth, fateWidth]) - 2;
  let above = '';
  return groups.flatMap((group, index) => {
    const [field] = group as [ExplainedField];
    const cells = [
      { text: escapeControls(cutText(names[index] ?? '', nameWidth)), width: nameWidth },
      { ...shownAs[field.fate], width: fateWidth },
    ];
    const reason = field.fate === 'sent' && field.dropped.length === 0 ? [] : printReason(field, style, width);
    const key = reason.join('\n');
    const isRepeated = key !== '' && key === above;
    above = key;
    const why = isRepeated ? [style.paint('dim', '(likewise)')] : reason;
    return writeTableRow(cells, [describeBecomes(group, width), ...why], style);
  });
}

const fateWidth = 'in Response'.length;

/** Groups fields into lines. Three or more items or tools in a row that were sent unchanged share a line. */
function groupFields(fields: readonly ExplainedField[]): readonly (readonly ExplainedField[])[] {
  const groups: ExplainedField[][] = [];
  const readList = ({ field }: ExplainedField) => /^(\w+)\[\d+\]$/.exec(field)?.[1];
  for (const field of fields) {
    const last = groups.at(-1)?.[0];
    const list = readList(field);
    if (list !== undefined && isPlain(field) && last !== undefined && isPlain(last) && readList(last) === list)
      groups.at(-1)?.push(field);
    else groups.push([field]);
  }
  return groups.flatMap((group) => (group.length < 3 ? group.map((field) => [field]) : [group]));
}

function isPlain({ fate, becomes, dropped }: ExplainedField): boolean {
  return fate === 'sent' && dropped.length === 0 && new Set(becomes.map(findElement)).size === 1;
}

function findElement({ path }: ChatPlace): string {
  return /^\w+(\[\d+\])?/.exec(path)?.[0] ?? path;
}

function readNumber(element: string): number {
  return Number(/\d+/.exec(element)?.[0]);
}

function nameGroup(group: readonly ExplainedField[]): string {
  const [first, last] = [group[0]?.field ?? '', group.at(-1)?.field ?? ''];
  return group.length === 1 ? first : `${first}…[${readNumber(last)}]`;
}

/** Describes the places at which a field can be found after translation. */
function describeBecomes(group: readonly ExplainedField[], width: number): string {
  const [field] = group as [ExplainedField];
  if (group.length > 1) {
    // An item may become a message that follows the next item's.
    const elements = group
      .flatMap(({ becomes }) => becomes.map(findElement))
      .sort((one, other) => readNumber(one) - readNumber(other));
    return `${elements[0]}…[${readNumber(elements.at(-1) ?? '')}]`;
  }
  if (field.fate === 'in_response') return escapeControls(cutText(field.in_response.join(', '), width));
  if (field.fate === 'absent') return 'the request does not set it';
  if (field.fate === 'dropped') {
    const others = field.dropped.filter((name) => name !== field.field);
    return others.length === 0 ? '' : escapeControls(cutText(`as ${others.join(', ')}`, width));
  }
  const most = field.becomes.length > 1 ? Math.max(30, Math.floor(width / field.becomes.length) - 2) : width;
  const without = field.dropped.length === 0 ? '' : escapeControls(`; without ${field.dropped.join(', ')}`);
  const places = joinPlaces(field.becomes).map((place) => describePlace(place, most));
  return cutText(places.join(', '), Math.max(width - without.length, 40)) + without;
}

/** Joins places that are consecutive elements of one list into one, such as `messages[1…3]`. */
function joinPlaces(places: readonly ChatPlace[]): readonly ChatPlace[] {
  const parts = places.map(({ path }) => /^(\w+)\[(\d+)\]$/.exec(path));
  const [first, last] = [parts[0], parts.at(-1)];
  if (places.length < 2 || first == null || last == null || parts.some((part) => part?.[1] !== first[1])) return places;
  return [{ path: `${first[1]}[${first[2]}…${last[2]}]`, value: undefined }];
}

function describePlace({ path, value }: ChatPlace, width: number): string {
  return value === undefined
    ? escapeControls(path)
    : escapeControls(`${path}: `) + writeShortJson(value, Math.max(12, width - path.length - 2));
}

function printReason({ causes, rule, link }: Reason, { paint }: Style, width: number): readonly string[] {
  return [
    ...causes.flatMap((cause) => wrapText(describeCause(cause), width)),
    ...wrapText(rule, width),
    paint('dim', link),
  ];
}

function describeCause({ kind, name, value, meaning, reason }: Cause): string {
  const shown = value === '' ? 'not set' : writeShortJson(value, 60);
  if (kind === 'variable') return `${name} is ${shown}: ${meaning}`;
  return `The profile’s flag ${name} is ${shown}.${reason === null ? '' : ` ${reason}`} (The flag: ${meaning})`;
}

/** Prints the dropped names. A name that a field's own lines explain is only listed. */
function printDropped({ dropped, fields, answered }: RequestExplanation, style: Style): readonly string[] {
  const explained = new Set(fields.flatMap((field) => field.dropped));
  const isExplained = ({ name }: { readonly name: string }) => answered !== null || explained.has(name);
  const names = dropped.filter(isExplained).map(({ name }) => style.paint('red', escapeControls(name)));
  const others = dropped.filter((one) => !isExplained(one));
  const lines = others.flatMap(({ name, ...reason }) => [
    style.paint('red', escapeControls(name)),
    ...printReason(reason, style, style.width - 6).map((line) => `  ${line}`),
  ]);
  return [...names, ...lines];
}

function printAdded({ added }: RequestExplanation, style: Style): readonly string[] {
  return added.flatMap(({ causes, ...place }) => [
    style.paint('magenta', describePlace(place, style.width - 4)),
    ...causes.flatMap((cause) => wrapText(describeCause(cause), style.width - 6)).map((line) => `  ${line}`),
  ]);
}

function printRefusal({ status, error, ...reason }: Refusal, isFirst: boolean, style: Style): readonly string[] {
  const where = `${error.code}${error.param === null ? '' : `, ${error.param}`}`;
  const title = isFirst ? `Refused: HTTP ${status} ${where}` : `And then: ${where}`;
  const lines = [...wrapText(error.message, style.width - 2), ...printReason(reason, style, style.width - 2)];
  return [style.paint('red', escapeControls(title)), ...lines.map((line) => `  ${line}`)];
}
