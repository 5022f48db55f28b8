/** What became of a value; `moved`: the same value is on the other side, elsewhere or under another name. */
export type Mark = 'same' | 'moved' | 'changed' | 'only' | 'dropped';

/** What is known about the value at a path. */
export interface Explained {
  readonly mark: Mark;
  readonly note: string | null;
}

/** One line of a body as it is shown. */
export interface JsonLine {
  /** The path of the line's value: `input[3].content`; empty for the whole body, null for text that is not JSON. */
  readonly path: string | null;
  readonly depth: number;
  /** The field's name, on the first line of its value. */
  readonly key: string | null;
  readonly text: string;
  readonly kind: 'string' | 'literal' | 'bracket' | 'plain';
  readonly mark: Mark | null;
  /** What the field became, if it has another name on the other side. */
  readonly note: string | null;
  /** It contains part of the text that is searched for. */
  readonly isFound: boolean;
}

export interface JsonLineOptions {
  /** What became of values, by path. */
  readonly explained?: ReadonlyMap<string, Explained> | undefined;
  /** Text to search for, ignoring case. */
  readonly find?: string;
  /** Characters of a line. */
  readonly columns: number;
}

/** Characters of one string that are shown: nobody reads an image as a data URL. */
const maxShownLength = 200_000;
const indentWidth = 2;
/** A line has at least this many characters of a text. */
const leastWidth = 20;

/** A JSON value as lines, its long texts broken at line ends and at the width, with what became of it. */
export function jsonLines(value: unknown, options: JsonLineOptions): JsonLine[] {
  const writer = new LineWriter(options);
  writer.write(null, value, null, 0, '', true);
  return writer.lines;
}

/** Text that is not JSON, as lines. */
export function textLines(text: string, columns: number, find = ''): JsonLine[] {
  const plain = { path: null, depth: 0, key: null, kind: 'plain', mark: null, note: null } as const;
  const shown = shortened(text);
  const isFound = finderIn(shown, find);
  let at = 0;
  return brokenText(shown, columns).map((line) => {
    at += line.length;
    return { ...plain, text: visible(line), isFound: isFound(at - line.length, at) };
  });
}

/** Tells whether a part of the text contains some of what is searched for. */
function finderIn(text: string, find: string): (start: number, end: number) => boolean {
  const wanted = find.toLowerCase();
  // A letter whose other case is longer would shift what follows.
  const lower = text.toLowerCase();
  if (wanted === '' || lower.length !== text.length || !lower.includes(wanted)) return () => false;
  return (start, end) => {
    const first = lower.indexOf(wanted, Math.max(0, start - wanted.length + 1));
    return first !== -1 && first < end;
  };
}

/** Control characters, and those that change the text direction, as their code points. */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

class LineWriter {
  readonly lines: JsonLine[] = [];
  readonly #options: JsonLineOptions;

  constructor(options: JsonLineOptions) {
    this.#options = options;
  }

  /** `inherited` is the mark of the enclosing value. */
  write(
    key: string | null,
    value: unknown,
    inherited: Mark | null,
    depth: number,
    path: string,
    isLast: boolean,
  ): void {
    const explained = this.#options.explained?.get(path);
    const mark = explained?.mark ?? inherited;
    const said = explained?.note ?? null;
    const taken = depth * indentWidth + (key?.length ?? 0) + 4 + (said?.length ?? 0) + 2;
    // It would cover the value, so it is placed above.
    const isAbove = said !== null && taken + leastWidth > this.#options.columns;
    if (isAbove) this.#line(path, depth, null, '', 'plain', mark, said);
    const note = isAbove ? null : said;
    const comma = isLast ? '' : ',';
    if (typeof value === 'object' && value !== null) this.#writeContainer(key, value, mark, depth, path, comma, note);
    else if (typeof value === 'string') this.#writeText(key, value, mark, depth, path, comma, note);
    else this.#line(path, depth, key, `${JSON.stringify(value) ?? 'null'}${comma}`, 'literal', mark, note);
  }

  #writeContainer(
    key: string | null,
    value: object,
    mark: Mark | null,
    depth: number,
    path: string,
    comma: string,
    note: string | null,
  ): void {
    const isArray = Array.isArray(value);
    const [open, close] = isArray ? ['[', ']'] : ['{', '}'];
    const keys = Object.keys(value);
    if (keys.length === 0) {
      this.#line(path, depth, key, `${open}${close}${comma}`, 'bracket', mark, note);
      return;
    }
    this.#line(path, depth, key, open, 'bracket', mark, note);
    for (const [index, name] of keys.entries()) {
      const at = isArray ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      this.write(isArray ? null : name, childOf(value, name), mark, depth + 1, at, index === keys.length - 1);
    }
    this.#line(path, depth, null, `${close}${comma}`, 'bracket', mark, null);
  }

  #writeText(
    key: string | null,
    value: string,
    mark: Mark | null,
    depth: number,
    path: string,
    comma: string,
    note: string | null,
  ): void {
    const noteWidth = note === null ? 0 : note.length + 2;
    const width = Math.max(
      leastWidth,
      this.#options.columns - depth * indentWidth - (key?.length ?? 0) - 4 - noteWidth,
    );
    const shown = shortened(value);
    const parts = brokenText(shown, width);
    const isFound = finderIn(shown, this.#options.find ?? '');
    let at = 0;
    for (const [index, part] of parts.entries()) {
      const first = index === 0;
      const last = index === parts.length - 1;
      const text = `${first ? '"' : ''}${visible(JSON.stringify(part).slice(1, -1))}${last ? `"${comma}` : ''}`;
      const found = isFound(at, at + part.length);
      this.#line(path, first ? depth : depth + 1, first ? key : null, text, 'string', mark, first ? note : null, found);
      at += part.length;
    }
  }

  #line(
    path: string,
    depth: number,
    key: string | null,
    text: string,
    kind: JsonLine['kind'],
    mark: Mark | null,
    note: string | null,
    isFound = false,
  ): void {
    const find = this.#options.find?.toLowerCase() ?? '';
    const hasWord =
      find !== '' && [key ?? '', kind === 'literal' ? text : ''].some((word) => word.toLowerCase().includes(find));
    const shown = key === null ? null : visible(key);
    this.lines.push({ path, depth, key: shown, text, kind, mark, note, isFound: isFound || hasWord });
  }
}

function childOf(value: object, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key];
}

function shortened(text: string): string {
  if (text.length <= maxShownLength) return text;
  return `${text.slice(0, maxShownLength)} … ${text.length - maxShownLength} more characters, in the download`;
}

/** Lines no longer than the width, of whole words if possible; each keeps its line end. */
function brokenText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const line of text.split(/(?<=\n)/))
    for (let at = 0; at < Math.max(line.length, 1); ) {
      let end = Math.min(at + width, line.length);
      const space = line.lastIndexOf(' ', end - 1);
      // After a word, unless that would leave much of the line empty.
      if (end < line.length && space > at + width / 2) end = space + 1;
      // Surrogate pairs are not cut.
      const code = line.charCodeAt(end - 1);
      if (end < line.length && code >= 0xd800 && code <= 0xdbff) end += 1;
      lines.push(line.slice(at, end));
      at = Math.max(end, at + 1);
    }
  return lines.length === 0 ? [''] : lines;
}
