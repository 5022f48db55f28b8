import { objectOf } from './loose.ts';
import { closingQuote, isDigit } from './scan.ts';

/** Not yet in TypeScript's es2024 library; V8 has had it since 11.4. */
export const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** Parses JSON with each number that JavaScript would change as a `JSON.rawJSON` object. Throws `SyntaxError`. */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  let marked = '';
  let done = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = closingQuote(text, at);
    if (!isDigit(code) && code !== 0x2d) continue;
    const start = at;
    while (isOfNumber(text.charCodeAt(at + 1))) at++;
    const source = text.slice(start, at + 1);
    if (!isChanged(source)) continue;
    marked += `${text.slice(done, start)}"${numberMark}${source}"`;
    done = at + 1;
  }
  if (done === 0) return value;
  // Text with such numbers is parsed again, with strings in place of them: a reviver for every value takes five to ten times as long.
  if (text.includes(numberMark)) return parseByReviver(text);
  const top: Fields = { value: JSON.parse(marked + text.slice(done)) };
  restoreNumbers(top);
  return top['value'];
}

/** The beginning of a string that stands for a number. JSON has only this way of writing U+0000. */
const numberMark = '\\u0000';

type Fields = Record<string, unknown>;

function restoreNumbers(top: Fields): void {
  const left = [top];
  for (let fields = left.pop(); fields !== undefined; fields = left.pop())
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      if (typeof value === 'object' && value !== null) left.push(value as Fields);
      else if (typeof value === 'string' && value.startsWith('\0')) fields[name] = rawJSON(value.slice(1));
    }
}

/** Does a JavaScript number change it? A double holds any 15 significant digits. */
function isChanged(source: string): boolean {
  if (source.length <= 15 && !/e/i.test(source)) return false;
  const number = Number(source);
  const digits = Number.isFinite(number) ? source.replace(/[eE].*$/, '').replace(/[^0-9]/g, '').length : Infinity;
  return digits > 15 && String(number) !== source;
}

/** Parses by a reviver, which V8 gives the source of each number; TypeScript's library does not know that. */
function parseByReviver(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, { source = '' }: { readonly source?: string } = {}) =>
    typeof value === 'number' && isChanged(source) ? rawJSON(source) : value,
  );
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
