import { objectOf } from '../../../formats/json/loose.ts';
import { parseShown } from './timeline.ts';

/** How a value compares with the other side. `moved`: it is there in another place or under another name. */
export type Mark = 'same' | 'moved' | 'changed' | 'only' | 'dropped';

export interface Explained {
  readonly mark: Mark;
  readonly note: string | null;
}

export interface JsonLine {
  /** The path of the line's value: `input[3].content`; empty for the whole body, null for text that is not JSON. */
  readonly path: string | null;
  readonly depth: number;
  /** The field's name. Only the first line of its value has it. */
  readonly key: string | null;
  readonly text: string;
  readonly kind: 'string' | 'literal' | 'bracket' | 'plain';
  readonly mark: Mark | null;
  /** The field's name on the other side, if it has another name there. */
  readonly note: string | null;
  readonly isFolded: boolean;
  readonly isFound: boolean;
}

export interface JsonLineOptions {
  readonly explained?: ReadonlyMap<string, Explained> | undefined;
  readonly find?: string;
  readonly folded?: readonly string[];
  readonly columns: number;
}

/** The most characters of one string that are shown, because nobody reads an image as a data URL. */
const maxShownLength = 200_000;
const indentWidth = 2;
/** The least number of a text's characters on a line, however deep it is indented. */
const leastWidth = 20;

/** A value's position, with what its first line says about it. */
interface Place extends Pick<JsonLine, 'depth' | 'key' | 'mark' | 'note'> {
  readonly path: string;
  readonly comma: '' | ',';
}

/** A JSON value as lines, its long texts broken at line ends and at the width, with what became of it. */
export function writeJsonLines(
  value: unknown,
  { explained, find = '', folded = [], columns }: JsonLineOptions,
): JsonLine[] {
  const lines: JsonLine[] = [];
  const isIn = (text: string) => find !== '' && text.toLowerCase().includes(find.toLowerCase());

  function add({ path, depth, key, mark, note }: Place, text: string, kind: JsonLine['kind'], isFound = false): void {
    const hasWord = isFound || isIn(key ?? '') || (kind === 'literal' && isIn(text));
    const name = key && escapeInvisible(key);
    const isFolded = folded.includes(path);
    lines.push({ path, depth, key: name, text, kind, mark, note, isFolded, isFound: hasWord });
  }

  /** Writes a value. Without a mark of its own, it has the mark of the value that contains it. */
  function write(value: unknown, place: Place): void {
    const { mark = place.mark, note = null } = explained?.get(place.path) ?? {};
    const width = columns - place.depth * indentWidth - (place.key?.length ?? 0) - 4;
    const besideNote = width - (note === null ? 0 : note.length + 2);
    // A note that would cover the value gets a line of its own.
    const isAbove = note !== null && besideNote < leastWidth;
    if (isAbove) add({ ...place, key: null, mark, note }, '', 'plain');
    const here = { ...place, mark, note: isAbove ? null : note };
    if (typeof value === 'object' && value !== null) writeContainer(value, here);
    else if (typeof value === 'string') writeText(value, here, Math.max(leastWidth, isAbove ? width : besideNote));
    else add(here, `${JSON.stringify(value) ?? 'null'}${place.comma}`, 'literal');
  }

  function writeContainer(value: object, place: Place) {
    const { path, depth, comma } = place;
    const isArray = Array.isArray(value);
    const [open, close] = isArray ? ['[', ']'] : ['{', '}'];
    const entries = Object.entries(value);
    if (entries.length === 0) return add(place, `${open}${close}${comma}`, 'bracket');
    if (folded.includes(path)) return add(place, `${open} ${entries.length} folded ${close}${comma}`, 'bracket');
    add(place, open, 'bracket');
    for (const [index, [name, inner]] of entries.entries())
      write(inner, {
        ...place,
        path: isArray ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`,
        key: isArray ? null : name,
        depth: depth + 1,
        comma: index === entries.length - 1 ? '' : ',',
      });
    add({ ...place, key: null, note: null }, `${close}${comma}`, 'bracket');
  }

  function writeText(value: string, place: Place, width: number) {
    const shown = cutLongText(value);
    const isFound = createFinder(shown, find);
    const parts = breakText(shown, width);
    if (folded.includes(place.path) && parts.length > 1) {
      const text = escapeInvisible(JSON.stringify(parts[0]?.trimEnd() ?? '').slice(1, -1));
      return add(place, `"${text} …"${place.comma}`, 'string');
    }
    let at = 0;
    for (const [index, part] of parts.entries()) {
      const [first, last] = [index === 0, index === parts.length - 1];
      const text = escapeInvisible(JSON.stringify(part).slice(1, -1));
      const line = first ? place : { ...place, key: null, note: null, depth: place.depth + 1 };
      const end = last ? `"${place.comma}` : '';
      add(line, `${first ? '"' : ''}${text}${end}`, 'string', isFound(at, at + part.length));
      at += part.length;
    }
  }

  write(value, { path: '', depth: 0, key: null, mark: null, note: null, comma: '' });
  return lines;
}

export function writeTextLines(text: string, columns: number, find = ''): JsonLine[] {
  const plain = { path: null, depth: 0, key: null, kind: 'plain', mark: null, note: null, isFolded: false } as const;
  const shown = cutLongText(text);
  const isFound = createFinder(shown, find);
  let at = 0;
  return breakText(shown, columns).map((line) => {
    at += line.length;
    return { ...plain, text: escapeInvisible(line), isFound: isFound(at - line.length, at) };
  });
}

/** Creates a function that says whether a range of the text has a part of the searched text. */
function createFinder(text: string, find: string): (start: number, end: number) => boolean {
  const wanted = find.toLowerCase();
  // A letter whose lower case has another length would shift what follows.
  const lower = text.toLowerCase();
  if (wanted === '' || lower.length !== text.length || !lower.includes(wanted)) return () => false;
  return (start, end) => {
    const first = lower.indexOf(wanted, Math.max(0, start - wanted.length + 1));
    return first !== -1 && first < end;
  };
}

/** Writes control characters, and those that change the text direction, as their code points. */
export function escapeInvisible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The beginning of a long text, with how many characters are left to the download; a short one is returned whole. */
export function cutLongText(text: string): string {
  if (text.length <= maxShownLength) return text;
  return `${text.slice(0, maxShownLength)} … ${text.length - maxShownLength} more characters, in the download`;
}

/** Breaks a text into lines that fit the width, between words if possible. Each line keeps its line end. */
function breakText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const line of text.split(/(?<=\n)/))
    for (let at = 0; at < Math.max(line.length, 1); ) {
      let end = Math.min(at + width, line.length);
      const space = line.lastIndexOf(' ', end - 1);
      // A line ends after a word, unless that would leave much of it empty.
      if (end < line.length && space > at + width / 2) end = space + 1;
      // Surrogate pairs are not cut.
      const code = line.charCodeAt(end - 1);
      if (end < line.length && code >= 0xd800 && code <= 0xdbff) end += 1;
      lines.push(line.slice(at, end));
      at = Math.max(end, at + 1);
    }
  return lines.length === 0 ? [''] : lines;
}

/** A JSON text of fewer characters is not folded, since unfolding it takes longer than reading it. */
const shortText = 300;

/** The folds and the scroll position that a pane starts with. */
export interface Opening {
  /** The paths of what every request of a conversation repeats: tools, instructions, and messages that carry them. */
  readonly folded: readonly string[];
  readonly last: string | null;
}

/** Returns which parts of a request's body, of Responses or Chat, are folded at first, and what is scrolled to. */
export function chooseOpening(body: unknown): Opening {
  const { tools, instructions, input, messages } = objectOf<Json>(body) ?? {};
  const name = Array.isArray(messages) ? 'messages' : 'input';
  const items: readonly (Json | null)[] = [messages, input].find(Array.isArray) ?? [];
  const hidden = items.flatMap((item, index) =>
    prompting.has(item?.role) && isLong(item?.content) ? [`${name}[${index}].content`] : [],
  );
  const last = items.findLastIndex((item) => item?.role === 'user');
  return {
    folded: [...(isLong(tools) ? ['tools'] : []), ...(isLong(instructions) ? ['instructions'] : []), ...hidden],
    last: last === -1 ? (typeof input === 'string' ? 'input' : null) : `${name}[${last}]`,
  };
}

type Json = Readonly<Partial<Record<'tools' | 'instructions' | 'input' | 'messages' | 'role' | 'content', unknown>>>;

/** The roles of messages that are the same in every request of a conversation. */
const prompting: ReadonlySet<unknown> = new Set(['system', 'developer']);

function isLong(value: unknown): boolean {
  return (JSON.stringify(value) ?? '').length > shortText;
}

/** Adds line breaks to a JSON text. The text stays as it is if a number would lose digits. */
export function indentJsonText(json: string): string {
  const value = parseShown(json);
  if (value === null) return json;
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/g, '');
  const safe = !/\d{16}|\d[eE.]/.test(numbers);
  return safe ? writeIndentedJson(value) : json.trim().replaceAll(/\n\s*/g, ' ');
}

export function writeIndentedJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
