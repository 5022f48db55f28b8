/** How a value of one body relates to the other body. */
export type Mark = 'same' | 'changed' | 'only' | 'dropped';

/** One line of a body as it is shown. */
export interface JsonLine {
  readonly depth: number;
  /** The field's name, on the first line of its value. */
  readonly key: string | null;
  readonly text: string;
  readonly kind: 'string' | 'literal' | 'bracket' | 'plain';
  readonly mark: Mark | null;
  /** What a field became that has another name on the other side. */
  readonly note: string | null;
}

export interface JsonLineOptions {
  /** The other body; marks are left out without it. */
  readonly other?: unknown;
  /** Paths that were left out on the way to the other side, as `x-responses-dropped` names them. */
  readonly dropped?: readonly string[];
  /** Says what a top-level field that the other side does not have became. */
  readonly noteOf?: (key: string) => string | null;
  /** Characters of a line. */
  readonly columns: number;
}

/** Characters of one string that are shown: an image as a data URL is of no use to a reader. */
const maxShownLength = 200_000;
const indentWidth = 2;

/** A JSON value as lines, its long texts broken at line ends and at the width; its differences from another one are marked. */
export function jsonLines(value: unknown, options: JsonLineOptions): JsonLine[] {
  const writer = new LineWriter(options, droppedPaths(options.dropped ?? [], value));
  const compared = 'other' in options;
  writer.write(null, value, compared ? { value: options.other } : null, compared ? null : undefined, 0, '', true);
  return writer.lines;
}

/** Text that is not JSON, as lines. */
export function textLines(text: string, columns: number): JsonLine[] {
  const plain = { depth: 0, key: null, kind: 'plain', mark: null, note: null } as const;
  return brokenText(shortened(text), columns).map((line) => ({ ...plain, text: visible(line) }));
}

/** Control characters, and those that turn the direction of what follows, as their code points. */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether two JSON values are equal, whatever the order of their fields. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isEqual(childOf(a, key), childOf(b, key)));
}

/** What is on the other side: a value, or nothing. */
type Counterpart = { readonly value: unknown } | null;

class LineWriter {
  readonly lines: JsonLine[] = [];
  readonly #options: JsonLineOptions;
  readonly #dropped: ReadonlySet<string>;

  constructor(options: JsonLineOptions, dropped: ReadonlySet<string>) {
    this.#options = options;
    this.#dropped = dropped;
  }

  /** `inherited` is the mark of what the value is in: null where its own is to be found, undefined without comparison. */
  write(
    key: string | null,
    value: unknown,
    counterpart: Counterpart,
    inherited: Mark | null | undefined,
    depth: number,
    path: string,
    isLast: boolean,
  ): void {
    const mark = inherited === undefined ? undefined : this.#markOf(value, counterpart, inherited, path);
    const note = depth === 1 && mark === 'only' && key !== null ? (this.#options.noteOf?.(key) ?? null) : null;
    const comma = isLast ? '' : ',';
    if (typeof value === 'object' && value !== null)
      this.#writeContainer(key, value, counterpart, mark, depth, path, comma, note);
    else if (typeof value === 'string') this.#writeText(key, value, mark ?? null, depth, comma, note);
    else this.#line(depth, key, `${JSON.stringify(value) ?? 'null'}${comma}`, 'literal', mark ?? null, note);
  }

  #writeContainer(
    key: string | null,
    value: object,
    counterpart: Counterpart,
    mark: Mark | null | undefined,
    depth: number,
    path: string,
    comma: string,
    note: string | null,
  ): void {
    const isArray = Array.isArray(value);
    const [open, close] = isArray ? ['[', ']'] : ['{', '}'];
    const keys = Object.keys(value);
    if (keys.length === 0) {
      this.#line(depth, key, `${open}${close}${comma}`, 'bracket', mark ?? null, note);
      return;
    }
    this.#line(depth, key, open, 'bracket', mark ?? null, note);
    const other = counterpart?.value;
    const comparable = typeof other === 'object' && other !== null && Array.isArray(other) === isArray ? other : null;
    for (const [index, name] of keys.entries()) {
      const there =
        comparable !== null && Object.hasOwn(comparable, name) ? { value: childOf(comparable, name) } : null;
      const at = isArray ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      this.write(isArray ? null : name, childOf(value, name), there, mark, depth + 1, at, index === keys.length - 1);
    }
    this.#line(depth, null, `${close}${comma}`, 'bracket', mark ?? null, null);
  }

  #writeText(
    key: string | null,
    value: string,
    mark: Mark | null,
    depth: number,
    comma: string,
    note: string | null,
  ): void {
    const noteWidth = note === null ? 0 : note.length + 2;
    const width = Math.max(20, this.#options.columns - depth * indentWidth - (key?.length ?? 0) - 4 - noteWidth);
    const shown = shortened(value);
    const parts = brokenText(shown, width).map((part) => visible(JSON.stringify(part).slice(1, -1)));
    for (const [index, part] of parts.entries()) {
      const first = index === 0;
      const last = index === parts.length - 1;
      const text = `${first ? '"' : ''}${part}${last ? `"${comma}` : ''}`;
      this.#line(first ? depth : depth + 1, first ? key : null, text, 'string', mark, first ? note : null);
    }
  }

  #line(
    depth: number,
    key: string | null,
    text: string,
    kind: JsonLine['kind'],
    mark: Mark | null,
    note: string | null,
  ): void {
    this.lines.push({ depth, key: key === null ? null : visible(key), text, kind, mark, note });
  }

  #markOf(value: unknown, counterpart: Counterpart, inherited: Mark | null, path: string): Mark | null {
    if (this.#dropped.has(path)) return 'dropped';
    if (inherited !== null) return inherited;
    if (counterpart === null) return 'only';
    const other = counterpart.value;
    if (isEqual(value, other)) return 'same';
    const bothHold =
      typeof value === 'object' &&
      value !== null &&
      typeof other === 'object' &&
      other !== null &&
      Array.isArray(value) === Array.isArray(other);
    return bothHold ? null : 'changed';
  }
}

/**
 * The paths of a body that dropped names mean. `tools[].strict` is that field of every tool; the last word of
 * `tools[0].mcp` and `reasoning.effort.minimal` is the type or the value of what is at the path before it.
 */
function droppedPaths(names: readonly string[], value: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  for (const name of names) follow(name.match(/[^.[\]]+|\[\d*\]/g) ?? [], value, '', found);
  return found;
}

/** `isEach`: on the way there was a `[]`, so that not every value needs to have the field. */
function follow(steps: readonly string[], value: unknown, path: string, found: Set<string>, isEach = false): void {
  const [step, ...rest] = steps;
  if (step === undefined) {
    if (path !== '') found.add(path);
    return;
  }
  if (step === '[]') {
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) follow(rest, item, `${path}[${index}]`, found, true);
    return;
  }
  const key = step.replace(/^\[(\d+)\]$/, '$1');
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, key)) {
    const at = step === key ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
    follow(rest, childOf(value, key), at, found, isEach);
  } else if (path !== '' && !isEach) found.add(path);
}

function childOf(value: object, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key];
}

function shortened(text: string): string {
  if (text.length <= maxShownLength) return text;
  return `${text.slice(0, maxShownLength)} … ${text.length - maxShownLength} more characters, in the download`;
}

/** Lines no longer than the width, of whole words where that goes; each keeps its line end. */
function brokenText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const line of text.split(/(?<=\n)/))
    for (let at = 0; at < Math.max(line.length, 1); ) {
      let end = Math.min(at + width, line.length);
      const space = line.lastIndexOf(' ', end - 1);
      // After a word, unless that would leave much of the line empty.
      if (end < line.length && space > at + width / 2) end = space + 1;
      // Between the halves of a character outside the basic plane nothing is cut.
      const code = line.charCodeAt(end - 1);
      if (end < line.length && code >= 0xd800 && code <= 0xdbff) end += 1;
      lines.push(line.slice(at, end));
      at = Math.max(end, at + 1);
    }
  return lines.length === 0 ? [''] : lines;
}
