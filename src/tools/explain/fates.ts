import type { RecordedProvenance } from '../../filter/index.ts';
import { generalOf, isWithin } from '../../formats/json/loose.ts';
import { findValue, isSameJson, type Path, readRecord, writePath } from './fields.ts';
import { findPart, type Place, type Places } from './places.ts';
import type { SentRun } from './run-request.ts';

/**
 * What became of a field in the Chat request.
 *
 * - `sent`: it was sent under its own name and with its own value; a message as a message, a call as a call.
 * - `renamed`: it was sent with its own value under another name.
 * - `rewritten`: it became something else.
 * - `in_response`: it was not sent, and the Response repeats it.
 * - `dropped`: it was left out and listed in `x-responses-dropped`.
 * - `left_out`: it had no effect on the Chat request or the Response.
 * - `absent`: the request does not set it.
 */
export type Fate = 'sent' | 'renamed' | 'rewritten' | 'in_response' | 'dropped' | 'left_out' | 'absent';

type FieldOutcome = ReturnType<typeof judgeField>;

/** Judges what became of a field with this value. `isRepeated`: the answer is a Response, which repeats fields. */
export function judgeField(field: Path, value: unknown, run: SentRun, isRepeated: boolean) {
  const places = value === undefined ? [] : run.places().of(field);
  const isElement = field.length === 2 && (field[0] === 'input' || field[0] === 'tools') && readRecord(value) !== null;
  const becomes = isElement ? places : places.flatMap((place) => narrowPlace(place, field, value));
  const dropped = run
    .droppedNear(field)
    .filter((name) => isAbout(name, field, value, run.provenance, becomes.length > 0));
  /** The values of this field that the Response repeats, by path. */
  const repeated = isRepeated ? collectRepeated(field, value, run.provenance) : noChanges;
  /** The values of an item or a tool that differ from the request, by their key in the Chat request. */
  const changes = isElement ? collectChanges(field, value, becomes, run.places()) : noChanges;
  return { value, fate: chooseFate(), becomes, dropped, repeated, changes };

  function chooseFate(): Fate {
    if (value === undefined) return 'absent';
    if (becomes.length === 0) return dropped.length > 0 ? 'dropped' : repeated.size > 0 ? 'in_response' : 'left_out';
    if (isElement) return changes.size === 0 ? 'sent' : 'rewritten';
    const same = becomes.filter((place) => isSameJson(place.value, value));
    if (same.length === 0) return 'rewritten';
    return same.some((place) => findLastName(place.path) === findLastName(field)) ? 'sent' : 'renamed';
  }
}

function findLastName(path: Path): string | number | undefined {
  return path.findLast((step) => typeof step === 'string');
}

const noChanges: ReadonlyMap<string, unknown> = new Map();

/** Whether another run treats the field differently from the usual one. */
export function isOtherwise(usual: FieldOutcome, other: FieldOutcome): boolean {
  if (usual.dropped.some((name) => !other.dropped.includes(name))) return true;
  switch (usual.fate) {
    case 'rewritten':
      if (usual.changes.size > 0 && !usual.changes.has(itself))
        return other.becomes.length > 0 && [...usual.changes.keys()].some((key) => !other.changes.has(key));
      return usual.becomes.some((place) => !isThere(place, other.becomes));
    case 'renamed':
      return usual.becomes.some((place) => !isThere(place, other.becomes));
    case 'in_response':
      if (other.becomes.length > 0) return true;
      return [...usual.repeated].some(
        ([path, shown]) => !isSameJson(shown, usual.value) && !isSameJson(other.repeated.get(path), shown),
      );
    case 'left_out':
      return other.becomes.length > 0 || other.repeated.size > 0;
    case 'sent':
    case 'dropped':
    case 'absent':
      return false;
  }
}

/** Whether one of the places has the same path apart from its indices, or contains the place's text. */
export function isThere({ path, value }: Place, places: readonly Place[]): boolean {
  const name = generalOf(writePath(path));
  return places.some(
    (other) =>
      generalOf(writePath(other.path)) === name &&
      (isSameJson(other.value, value) || hasParagraphs(other.value, value)),
  );
}

/** Whether a text, a message or its parts contain all paragraphs of another text, as after a merge. */
function hasParagraphs(other: unknown, value: unknown): boolean {
  if (typeof other === 'string') return typeof value === 'string' && `\n\n${other}\n\n`.includes(`\n\n${value}\n\n`);
  if (Array.isArray(other)) return other.some((part) => hasParagraphs(findValue(part, ['text']), value));
  const content = findValue(value, ['content']);
  return content !== undefined && hasParagraphs(findValue(other, ['content']), content);
}

/** Narrows a place to the part of it that the field became. It is empty if the field became no part of that place. */
function narrowPlace(place: Place, field: Path, value: unknown): readonly Place[] {
  const isOwn = place.sources.some((source) => isWithin(source, writePath(field)));
  if (isOwn && (typeof value !== 'string' || readRecord(place.value) === null)) return [place];
  const part = findPart(place, findLastName(field), value);
  if (part !== null) return [part];
  return isOwn ? [place] : [];
}

/** Whether a dropped name refers to the field: by the record of the translation, or by its path. */
function isAbout(name: string, field: Path, value: unknown, provenance: RecordedProvenance, isSent: boolean): boolean {
  const path = writePath(field);
  if (isWithin(name, path)) return true;
  const from = provenance.droppedFrom.get(name);
  // For a server that takes no reasoning back, one name stands for all dropped reasoning.
  if (from === undefined) return name === 'input[].reasoning' && findValue(value, ['type']) === 'reasoning' && !isSent;
  for (const source of from) {
    if (isWithin(source, path)) return true;
    // `input[].odd` is about the key of any item, `include[2].odd` about that element.
    if (isWithin(path, source) && isWithin(name, generalOf(path))) return true;
  }
  return false;
}

function collectRepeated(field: Path, value: unknown, { result }: RecordedProvenance): ReadonlyMap<string, unknown> {
  if (result?.echo == null) return noChanges;
  const shown = findValue(result.echo, field);
  const name = writePath(field);
  if (shown !== undefined) return new Map([[name, shown]]);
  if (value === 'reasoning.encrypted_content' && result.wantsEncryptedReasoning)
    return new Map([['output[].encrypted_content', '…']]);
  if (name === 'stream_options.include_obfuscation' && result.obfuscate) return new Map([['obfuscation', '…']]);
  return noChanges;
}

/** The key of a change to the whole of an item or a tool, which has only another form in Chat. */
const itself = 'itself';

/** The parts of an item or a tool that the translation changed, by key. Without any key left, it changed as a whole. */
function collectChanges(
  field: Path,
  value: unknown,
  becomes: readonly Place[],
  places: Places,
): ReadonlyMap<string, unknown> {
  const parts = becomes.flatMap(({ path, value: written }) => listEntries(path, written));
  const made = parts.map(([path, part]) => ({ path, part, own: places.ownKeyAt(path, field) }));
  // Every form of a call has its item's id.
  const hasForm = made.some(
    ({ path, own }) => own !== null && path.at(-1) !== 'id' && findValue(value, [own]) !== undefined,
  );
  if (!hasForm) return new Map(becomes.map((place) => [itself, place.value]));
  const changed = made.filter(({ own, part }) => own === null || !isSameContent(findValue(value, [own]), part));
  return new Map(changed.map(({ path, part }) => [generalOf(writePath(path)), part]));
}

function listEntries(path: Path, written: unknown): readonly (readonly [Path, unknown])[] {
  const record = readRecord(written);
  if (typeof path.at(-1) === 'string' || record === null) return [[path, written]];
  const inner = Object.entries(record).flatMap(([key, part]): readonly (readonly [Path, unknown])[] =>
    key === 'function' || key === 'custom'
      ? Object.entries(readRecord(part) ?? {}).map(([name, value]) => [[...path, key, name], value])
      : [[[...path, key], part]],
  );
  return inner.filter(([at, part]) => {
    const key = at.at(-1);
    return part !== null && key !== 'type' && key !== 'tool_calls' && !(key === 'role' && part === 'tool');
  });
}

/** Whether two contents have the same text, parts or object, of which one may be written as JSON. */
function isSameContent(own: unknown, written: unknown): boolean {
  if (isSameJson(own, written)) return true;
  if (typeof written === 'string' && readRecord(own) !== null) return JSON.stringify(own) === written;
  return Array.isArray(own) && isSameJson(normalizeContent(own), normalizeContent(written));
}

/** Brings content into a form of neither API: adjacent texts are joined, and another part becomes the list of its values. */
function normalizeContent(content: unknown): readonly unknown[] {
  const said: unknown[] = [];
  const parts = Array.isArray(content) ? content : [{ text: content }];
  for (const part of parts) {
    const text = findValue(part, ['text']) ?? findValue(part, ['refusal']);
    const last = said.at(-1);
    if (typeof text !== 'string') said.push(listLeaves(part));
    else if (typeof last === 'string') said[said.length - 1] = last + text;
    else said.push(text);
  }
  return said;
}

function listLeaves(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value) ?? ''];
  return Object.entries(value)
    .filter(([key, inner]) => key !== 'type' && inner !== null && !(key === 'detail' && inner === 'auto'))
    .flatMap(([, inner]) => listLeaves(inner))
    .sort();
}
