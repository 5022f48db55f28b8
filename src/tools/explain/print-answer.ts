import { jsonOf } from '../../formats/json/loose.ts';
import {
  computeIndent,
  cutText,
  escapeControls,
  type Style,
  writePrettyJson,
  writeShortJson,
  writeTableRow,
} from '../cli/terminal.ts';
import { findValue, readRecord } from './fields.ts';
import type { AnswerRun, ClientEvent, ReplayedChunk } from './run-answer.ts';

/** Prints how a recorded answer is translated: each upstream chunk next to the events that it caused. */
export function* printAnswer(answer: AnswerRun, style: Style, full: boolean): Generator<string, void> {
  const { paint, width } = style;
  const failed = answer.error_code === null ? '' : `, ${answer.error_code}`;
  const title = `${paint('bold', 'The answer')}: HTTP ${answer.status}, ${escapeControls(answer.outcome + failed)}`;
  const headers = Object.entries(answer.headers).map(([name, value]) => `  ${escapeControls(`${name}: ${value}`)}`);
  yield* [title, ...headers];
  if (hasEvents(answer.chunks)) {
    const left = Math.floor((width - 12) / 2);
    yield paint('bold', `${'chunk'.padEnd(computeIndent([numberWidth, left]))}events`);
    for (const chunk of answer.chunks) yield* printChunk(chunk, left, style, full);
  }
  if (answer.body !== null) yield* [paint('bold', 'Body'), writePrettyJson(answer.body, { width, full })];
}

function hasEvents(chunks: AnswerRun['chunks']): boolean {
  for (const { events } of chunks) if (events.length > 0) return true;
  return false;
}

const numberWidth = 4;

function printChunk(chunk: ReplayedChunk, left: number, style: Style, full: boolean): readonly string[] {
  const { number, at_ms, text, events } = chunk;
  const { paint, width } = style;
  const name = (number === null ? 'end' : String(number)).padStart(numberWidth);
  const time = at_ms === null ? '' : `${at_ms.toFixed(1)} ms  `;
  const what = escapeControls(cutText(time + (number === null ? 'of the upstream’s body' : describeChunk(text)), left));
  const right = full ? Number.MAX_SAFE_INTEGER : width - computeIndent([numberWidth, left]) - 1;
  const shown = events.length === 0 ? [paint('dim', '–')] : events.map((event) => describeEvent(event, right, paint));
  const cells = [
    { text: name, width: numberWidth, colour: 'dim' },
    { text: what, width: left },
  ] as const;
  return writeTableRow(cells, shown, style);
}

/** Writes the informative parts of a chunk: the delta, the finish reason and the usage. */
function describeChunk(text: string): string {
  const data = text.trim().replace(/^data: ?/, '');
  const chunk = jsonOf(data);
  const choice = findValue(chunk, ['choices', 0]);
  const said = {
    delta: findValue(choice, ['delta']),
    message: findValue(choice, ['message']),
    finish_reason: findValue(choice, ['finish_reason']) ?? undefined,
    usage: findValue(chunk, ['usage']) ?? undefined,
    error: findValue(chunk, ['error']),
  };
  const parts = Object.entries(said).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${JSON.stringify(value)}`],
  );
  return parts.length === 0 ? data.replaceAll(/\s+/g, ' ') : parts.join(' ');
}

/** Writes an event's type and what it adds. Ids and indices, which each event repeats, come last. */
function describeEvent({ event, data }: ClientEvent, width: number, paint: Style['paint']): string {
  const record = readRecord(data);
  if (record === null) return escapeControls(String(data));
  const { type, sequence_number: _number, response, ...own } = record;
  const name = String(type ?? event ?? '');
  const status = findValue(response, ['status']);
  const brought =
    response === undefined ? Object.fromEntries(sortByWeight(own)) : { status, ...summarizeResponse(response) };
  const rest = Object.keys(brought).length === 0 ? '' : writeShortJson(brought, Math.max(10, width - name.length - 1));
  return `${paint('cyan', escapeControls(name))} ${paint('dim', rest)}`.trimEnd();
}

/** Sorts an event's fields: new ones first; ids and indices, which each event repeats, last. */
function sortByWeight(own: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  const weigh = (name: string) => (/_(id|index)$/.test(name) ? 1 : 0);
  return Object.entries(own).toSorted(([one], [other]) => weigh(one) - weigh(other));
}

function summarizeResponse(response: unknown): Readonly<Record<string, unknown>> {
  const [usage, error] = [findValue(response, ['usage']), findValue(response, ['error'])];
  return { ...(usage == null ? {} : { usage }), ...(error == null ? {} : { error }) };
}
