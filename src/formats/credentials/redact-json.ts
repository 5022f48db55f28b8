import { isCredentialField, isCredentialHeader, maxNameLength, redactionMark } from './names.ts';
import { type OnRedacted, redactUrl } from './urls.ts';

const headersField = /^((http|extra|default|custom|request)_?)?headers$/i;
const url = /(?:\\?\/){2}(?:[^\s"'<>\\]|\\\/|\\u0026){0,8192}/y;
const number = /[-.\d][-+.\deE]*/y;

/** Redacts the credentials of a body, read as Latin-1, that need not be JSON. It jumps from colon to colon, since parsing would take too long. */
export function redactJson(text: string, onRedacted: OnRedacted): string {
  const kept: string[] = [];
  let done = 0;
  /** The number of backslashes before the quotes of the headers' object that is being read; null outside of one. */
  let headers: number | null = null;

  function replace(start: number, end: number, shown: string): number {
    kept.push(text.slice(done, start), shown);
    done = end;
    return end;
  }

  function replaceUrl(start: number): number {
    url.lastIndex = start;
    const found = url.exec(text)?.[0] ?? '';
    const shown = redactUrl(found, onRedacted);
    return shown === found ? start + found.length : replace(start, start + found.length, shown);
  }

  /** Redacts the value of a field that has a credential's name. Returns the place up to which the field is read. */
  function readField(colon: number): number {
    const field = findFieldBefore(text, colon);
    if (field === null) return colon + 1;
    const { name, backslashes } = field;
    const inHeaders = headers === backslashes;
    const valueAt = skipSpace(text, colon + 1, 1);
    if (isCredentialField(name) || (inHeaders && isCredentialHeader(name))) {
      const end = replaceValue(valueAt, backslashes);
      if (end === valueAt) return colon + 1;
      if (inHeaders && text[skipSpace(text, end, 1)] === '}') headers = null;
      return end;
    }
    if (text[valueAt] === '{' && headersField.test(name)) headers = backslashes;
    else if (inHeaders) {
      // The headers end where a brace follows a value, or a value is not a string.
      const end = findEndOfString(text, valueAt, backslashes);
      if (end === null || text[skipSpace(text, end, 1)] === '}') headers = null;
    }
    return colon + 1;
  }

  /** Redacts a string, a number, or a list of them. Returns the place behind it; the same place for anything else. */
  function replaceValue(start: number, backslashes: number): number {
    if (isNumber(text, start)) return replaceNumber(start, backslashes);
    if (text[start] !== '[') {
      const end = findEndOfString(text, start, backslashes);
      return end === null ? start : replaceString(start + backslashes + 1, backslashes);
    }
    let depth = 0;
    let at = start;
    do {
      const character = text[at];
      if (character === '[' || character === '{') depth += 1;
      else if (character === ']' || character === '}') depth -= 1;
      if (character === '"') at = replaceString(at + 1, backslashes);
      else if (isNumber(text, at)) at = replaceNumber(at, backslashes);
      else at += 1;
    } while (depth > 0 && at < text.length);
    return at;
  }

  function replaceString(start: number, backslashes: number): number {
    const quote = findClosingQuote(text, start, backslashes);
    const end = quote === null ? text.length : quote - backslashes;
    if (quote !== null) onRedacted(Buffer.from(text.slice(start, end), 'latin1').toString());
    replace(start, end, redactionMark);
    return quote === null ? end : quote + 1;
  }

  function replaceNumber(start: number, backslashes: number): number {
    number.lastIndex = start;
    const quote = `${'\\'.repeat(backslashes)}"`;
    return replace(start, start + (number.exec(text)?.[0].length ?? 0), `${quote}${redactionMark}${quote}`);
  }

  let next = 0;
  for (let colon = text.indexOf(':'); colon !== -1; colon = text.indexOf(':', next))
    next = isSlash(text, colon + 1) ? replaceUrl(colon + 1) : readField(colon);
  if (done === 0) return text;
  kept.push(text.slice(done));
  return kept.join('');
}

/** Finds the name in quotes before the colon; null for one that is too long for a credential's. */
function findFieldBefore(text: string, colon: number): { readonly name: string; readonly backslashes: number } | null {
  const closing = skipSpace(text, colon - 1, -1);
  if (text[closing] !== '"') return null;
  const backslashes = countBackslashes(text, closing);
  const end = closing - backslashes;
  const start = text.lastIndexOf('"', end - 1) + 1;
  if (start === 0 || end - start < 2 || end - start > maxNameLength) return null;
  const name = text.slice(start, end);
  if (!name.includes('\\')) return { name, backslashes };
  // `api\u005fkey`, as parsers read it.
  const character = (_escape: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 16));
  return { name: name.replace(/\\+u([0-9a-f]{4})/gi, character), backslashes };
}

/** Do two slashes of a URL begin here, escaped or not? */
function isSlash(text: string, at: number): boolean {
  return text[at + 1] === '/' && (text[at] === '/' || text[at] === '\\');
}

/** Finds the place behind the string that begins here; null if there is no string. */
function findEndOfString(text: string, start: number, backslashes: number): number | null {
  const quote = start + backslashes;
  if (text[quote] !== '"' || countBackslashes(text, quote) !== backslashes) return null;
  const closing = findClosingQuote(text, quote + 1, backslashes);
  return closing === null ? text.length : closing + 1;
}

/** Finds the quote that ends a string: quotes inside it have more backslashes than its own. */
function findClosingQuote(text: string, from: number, backslashes: number): number | null {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    const count = countBackslashes(text, quote, from);
    // Backslashes in the value itself come in pairs for each level.
    if (backslashes === 0 ? count % 2 === 0 : count <= backslashes) return quote;
  }
  return null;
}

function countBackslashes(text: string, quote: number, from = 0): number {
  let count = 0;
  while (quote - 1 - count >= from && text[quote - 1 - count] === '\\') count += 1;
  return count;
}

function isNumber(text: string, at: number): boolean {
  number.lastIndex = at;
  return number.test(text);
}

function skipSpace(text: string, from: number, step: 1 | -1): number {
  let at = from;
  while (at >= 0 && at < text.length && text.charCodeAt(at) <= 0x20) at += step;
  return at;
}
