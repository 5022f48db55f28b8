import { objectOf } from './loose.ts';
import { closingQuote, isDigit } from './scan.ts';

/** Not yet in TypeScript's es2024 library; V8 has had it since 11.4. */
export const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/**
 * Parses JSON with each number that JavaScript would change as a `JSON.rawJSON` object. Throws `SyntaxError`. A text with such numbers is
 * parsed again, with strings in place of them: a reviver for every value takes twenty times as long.
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  let marked = '';
  let done = 0;
  let hasNumbers = false;
  for (let at = 0; at < text.length; at++) {
    const start = at;
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = closingQuote(text, at);
      if (!text.startsWith(mark, start + 1) || isName(text, at)) continue;
      marked += text.slice(done, start + 1) + mark;
      done = start + 1;
    } else if (isDigit(code) || code === 0x2d) {
      while (isOfNumber(text.charCodeAt(at + 1))) at++;
      const source = text.slice(start, at + 1);
      if (!isChanged(source)) continue;
      marked += `${text.slice(done, start)}"${mark}${source}"`;
      done = at + 1;
      hasNumbers = true;
    }
  }
  return hasNumbers ? restore(JSON.parse(marked + text.slice(done))) : value;
}

/** Begins a string that stands for a number, and once more each string that began so itself. JSON has only this way of writing U+0000. */
const mark = '\\u0000';

/** Does a colon follow the string that ends here? A name stays as it is. */
function isName(text: string, end: number): boolean {
  colon.lastIndex = end + 1;
  return colon.test(text);
}

const colon = /\s*:/y;

type Fields = Record<string | number, unknown>;

function restore(value: unknown): unknown {
  const top = [value];
  const left: object[] = [top];
  const restoreIn = (fields: Fields, name: string | number) => {
    const inner = fields[name];
    if (typeof inner === 'object' && inner !== null) left.push(inner);
    else if (typeof inner === 'string' && inner.startsWith('\0'))
      fields[name] = inner[1] === '\0' ? inner.slice(1) : rawJSON(inner.slice(1));
  };
  for (let fields = left.pop(); fields !== undefined; fields = left.pop())
    if (Array.isArray(fields)) for (let at = 0; at < fields.length; at++) restoreIn(fields as unknown as Fields, at);
    else for (const name of Object.keys(fields)) restoreIn(fields as Fields, name);
  return top[0];
}

/** Does a JavaScript number change it? A double holds any 15 significant digits. */
function isChanged(source: string): boolean {
  if (source.length <= 15 && !/e/i.test(source)) return false;
  const number = Number(source);
  const digits = Number.isFinite(number) ? source.replace(/[eE].*$/, '').replace(/[^0-9]/g, '').length : Infinity;
  return digits > 15 && String(number) !== source;
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2d || code === 0x2e || code === 0x2b || code === 0x65 || code === 0x45;
}

/** Is it a JSON object? Schemas and arguments are kept by reference, odd keys and key order included. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return objectOf(value) !== null && !isExactNumber(value);
}

/** Is it a number that is too long for a JavaScript number, kept as its text (`JSON.rawJSON`)? */
export function isExactNumber(value: unknown): value is { readonly rawJSON: string } {
  return isRawJSON(value);
}
