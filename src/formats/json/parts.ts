import { isRawJSON, parseExactly } from './exact.ts';

/** JSON kept as bytes: outside V8's heap, no larger than its text, and written any number of times uncopied. */
export class JsonBytes {
  readonly bytes: Buffer;

  constructor(json: string) {
    this.bytes = Buffer.from(withoutLineSeparators(json));
  }

  /** What `JSON.stringify` writes. */
  toJSON(): unknown {
    return parseExactly(this.bytes.toString());
  }
}

/**
 * JSON in which U+2028, U+2029 and U+0085 are escaped: JSON has them in strings alone, and some readers of event streams (httpx's
 * `iter_lines`, httpx-sse before 0.4.2) take them for line ends.
 */
export function withoutLineSeparators(json: string): string {
  return lineSeparator.test(json) ? json.replaceAll(lineSeparators, escaped) : json;
}

const lineSeparator = /[\u0085\u2028\u2029]/;
const lineSeparators = /[\u0085\u2028\u2029]/g;

function escaped(separator: string): string {
  return `\\u${separator.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const partLength = 16 * 1024;

/**
 * The text of `JSON.stringify(value)` in parts, so that a large value never exists as one string: strings of some 16
 * KiB, and values kept as bytes as they are. A part may end within a string, never within a character.
 */
export function* jsonParts(value: unknown): Generator<string | Buffer> {
  if (value instanceof JsonBytes) yield value.bytes;
  else if (typeof value === 'string' && value.length > partLength) yield* stringParts(value);
  else if (typeof value !== 'object' || value === null || isSmall(value) || isRawJSON(value))
    yield JSON.stringify(value) ?? 'null';
  else if (Array.isArray(value)) yield* listParts(value);
  else {
    let before = '{';
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      yield* jsonParts(field);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

function* stringParts(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; ) {
    let end = at + partLength;
    const last = text.charCodeAt(end - 1);
    // Keeps surrogate pairs together.
    if (last >= 0xd800 && last < 0xdc00) end += 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

/** Entries that are small go together. */
function* listParts(entries: readonly unknown[]): Generator<string | Buffer> {
  let text = '[';
  let before = '';
  for (const entry of entries) {
    text += before;
    before = ',';
    if (typeof entry === 'object' && entry !== null && !isSmall(entry)) {
      yield text;
      text = '';
      yield* jsonParts(entry);
    } else text += JSON.stringify(entry) ?? 'null';
    if (text.length < partLength) continue;
    yield text;
    text = '';
  }
  yield `${text}]`;
}

function isSmall(value: object): boolean {
  return roomAfter(value, partLength) >= 0;
}

/** What is left of `room` characters after this value, without reading all of it; less than 0 if it does not fit. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length - 2;
  if (typeof value !== 'object' || value === null) return room - 8;
  if (value instanceof JsonBytes) return -1;
  let left = room - 16;
  if (Array.isArray(value)) {
    // By index: `for … in` would make a string of each.
    for (let index = 0; index < value.length && left >= 0; index += 1) left = roomAfter(value[index], left - 1);
    return left;
  }
  for (const name in value) {
    left = roomAfter((value as Readonly<Record<string, unknown>>)[name], left - name.length);
    if (left < 0) return left;
  }
  return left;
}
