import { closingQuote, isDigit } from './scan.ts';

/** Not yet in TypeScript's es2024 library; V8 has had it since 11.4. */
export const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** An object by its names, or a list by its indexes. */
type Fields = Record<PropertyKey, unknown>;

/** An object or a list that is being read. */
interface Level {
  readonly around: Level | null;
  readonly isList: boolean;
  /** Where reading is in it: an index, or the offset at which the field's name begins. */
  place: number;
  /** The parsed object or list, once a number in it has asked for it. */
  value: Fields | null | undefined;
  /** Names or indexes of the values that are, or contain, a number kept as it was written; null for none. */
  kept: Set<PropertyKey> | null;
}

/**
 * JSON with each number that JavaScript would change as a `JSON.rawJSON` object. Throws `SyntaxError`.
 *
 * The text is parsed, and then read again for long numbers alone, whose place in the value is known from the brackets around them. A
 * reviver would be asked for every value, which takes five to ten times the time: only where a name is repeated that has such a number
 * is it asked which of them counts. `scanJson` has a loop of its own, since every body is scanned and few have such numbers: one loop that
 * reports to either of them made the scan 5 to 10 % slower, with more lines.
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const top: Level = { around: null, isList: true, place: 0, value: { 0: value }, kept: null };
  let level = top;
  let name = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    switch (code) {
      case 0x22: // a string, up to its closing quote
        name = at;
        at = closingQuote(text, at);
        break;
      case 0x3a: // a colon: it was the name of a field
        level.place = name;
        if (level.kept?.has(placeIn(text, level))) return parseByReviver(text);
        break;
      case 0x2c:
        level.place++;
        break;
      case 0x5b:
      case 0x7b:
        level = { around: level, isList: code === 0x5b, place: 0, value: undefined, kept: null };
        break;
      case 0x5d:
      case 0x7d:
        level = level.around ?? top;
        break;
      default: {
        if (!isDigit(code) && code !== 0x2d) break;
        const start = at;
        while (isOfNumber(text.charCodeAt(at))) at++;
        const source = text.slice(start, at);
        at--; // the loop steps over the number's last character
        if (source.length > 15 || /e/i.test(source)) keepExact(text, level, source);
      }
    }
  }
  return top.value?.[0];
}

function keepExact(text: string, level: Level, source: string): void {
  if (!isChanged(source)) return;
  const object = objectOf(text, level);
  const place = placeIn(text, level);
  // A name that is repeated has its last value.
  if (object === null || object[place] !== Number(source)) return;
  object[place] = rawJSON(source);
  for (let below: Level | null = level; below !== null; below = below.around) {
    const isKnown = below.kept !== null;
    below.kept ??= new Set();
    below.kept.add(placeIn(text, below));
    if (isKnown) return;
  }
}

/** Does a JavaScript number change it? A double holds any 15 significant digits. */
function isChanged(source: string): boolean {
  const number = Number(source);
  const digits = Number.isFinite(number) ? source.replace(/[eE].*$/, '').replace(/[^0-9]/g, '').length : Infinity;
  return digits > 15 && String(number) !== source;
}

/** Not yet in TypeScript's library: V8 gives a reviver the source of each number. */
const parseWithSources = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

function parseByReviver(text: string): unknown {
  return parseWithSources(text, (_name, value, { source = '' }) =>
    typeof value === 'number' && isChanged(source) ? rawJSON(source) : value,
  );
}

function objectOf(text: string, level: Level): Fields | null {
  if (level.value !== undefined) return level.value;
  const around = level.around === null ? null : objectOf(text, level.around);
  const value = around === null || level.around === null ? null : around[placeIn(text, level.around)];
  level.value = typeof value === 'object' ? (value as Fields | null) : null;
  return level.value;
}

function placeIn(text: string, { isList, place }: Level): PropertyKey {
  if (isList) return place;
  const name = text.slice(place + 1, closingQuote(text, place));
  return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
}

/** A digit, or one of `-`, `.`, `+`, `e` and `E`. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2d || code === 0x2e || code === 0x2b || code === 0x65 || code === 0x45;
}

/** A JSON object, kept by reference: schemas and arguments leave as they came, odd keys and key order included. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** A number too long for a JavaScript number, kept as its text (`JSON.rawJSON`). */
export function isExactNumber(value: unknown): value is { readonly rawJSON: string } {
  return isRawJSON(value);
}
