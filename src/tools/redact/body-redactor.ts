import {
  isCredentialField,
  isCredentialHeader,
  maxNameLength,
  redactionMark,
} from '../../filter/wire/credentials/names.ts';
import { redactText } from '../../filter/wire/credentials/text.ts';
import { redactUrl } from '../../filter/wire/credentials/urls.ts';
import type { KnownValues } from './known-values.ts';
import { RepeatedShape } from './repeated-shape.ts';

/** `error`: the answer of a server that refused, or what follows an error inside a 200; it quotes what the server was sent. */
export type BodyKind = 'request' | 'answer' | 'error';

/** An error with something in it, not quoted by a model. */
const errorInside = /"error"\s*:\s*[{"]/;

/** The value of a credential that has not ended yet. */
interface OpenValue {
  /** Before each of its quotes: 0 in JSON, 1 in JSON that is a string in JSON, then 3. */
  readonly backslashes: number;
  /** How many lists within the credential's value it is in. */
  depth: number;
  inString: boolean;
}

/** Objects whose fields are headers. */
const headersField = /^((http|extra|default|custom|request)_?)?headers$/i;

/** How much may be held until more comes: longer words without a space or a comma are not names, addresses or keys. */
const maxHeldBytes = 4096;
/** An error's body is searched as a whole, up to this size. */
const maxErrorBytes = 64 * 1024;
/** Events that carry a token are shorter. */
const maxShapedBytes = 4096;
/** Names that are so close are decoded together. */
const decodedBytes = 512;
/** Of one URL. */
const maxUrlBytes = 8192;

/**
 * Takes the credentials out of a body that comes in pieces, cut anywhere: the text, numbers and lists of fields that are
 * called like credentials, also in JSON inside a string; of URLs the user and what their parameters carry; values that are
 * known; of errors also what `redactText` finds. It jumps from colon to colon, of which a long prompt has few, and decodes
 * names only: decoding a long history would take longer than everything else that recording does.
 */
export class BodyRedactor {
  readonly #known: KnownValues;
  #kind: BodyKind;
  #held: Buffer = noBytes;
  #open: OpenValue | null = null;
  /** The backslashes before the quotes of the headers' object that is being read; null outside of one. */
  #headers: number | null = null;
  readonly #shape = new RepeatedShape();

  constructor(known: KnownValues, kind: BodyKind) {
    this.#known = known;
    this.#kind = kind;
  }

  /** What may be kept by now, including what was held before. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#kind === 'answer' && bytes.length <= maxShapedBytes && bytes[bytes.length - 1] === newline)
      return this.#pushLines(bytes);
    return this.#search(bytes);
  }

  /** Whole events, which nearly always repeat the shape of the one before. */
  #pushLines(bytes: Uint8Array): Uint8Array {
    if (!this.#isBetween()) return this.#search(bytes);
    const text = asBuffer(bytes).toString('latin1');
    if (this.#known.mayBeIn(text)) return this.#search(bytes);
    if (this.#shape.matches(text)) return bytes;
    const shown = this.#search(bytes);
    if (this.#kind === 'answer' && this.#isBetween() && shown.length === bytes.length && asBuffer(shown).equals(bytes))
      this.#shape.learn(text);
    return shown;
  }

  /** Nothing has begun that the next piece may continue. */
  #isBetween(): boolean {
    return this.#held.length === 0 && this.#open === null && this.#headers === null;
  }

  #search(bytes: Uint8Array): Uint8Array {
    const all = this.#held.length === 0 ? asBuffer(bytes) : Buffer.concat([this.#held, bytes]);
    const held = this.#heldOf(all);
    // What is held outlives the buffer that it came in.
    this.#held = held === 0 ? noBytes : Buffer.from(all.subarray(all.length - held));
    return this.#redacted(held === 0 ? all : all.subarray(0, all.length - held));
  }

  /** A body that is whole, instead of the others. */
  whole(bytes: Uint8Array): Uint8Array {
    const all = asBuffer(bytes);
    this.#lookForError(all);
    return this.#redacted(all);
  }

  /** What was held. */
  end(): Uint8Array {
    const last = this.#held;
    this.#held = noBytes;
    return this.#redacted(last);
  }

  /** How much of the end has to wait: a word that may go on, or a known value that has begun. */
  #heldOf(bytes: Buffer): number {
    const last = bytes.at(-1);
    this.#lookForError(bytes);
    if (this.#kind === 'error') return last === newline || bytes.length > maxErrorBytes ? 0 : bytes.length;
    // Where events, lines and objects end, as most pieces do.
    const wordBytes = last === undefined || last === newline || last === 0x7d ? 0 : lastWordLength(bytes);
    let held = Math.max(wordBytes, this.#known.begunAtEnd(bytes));
    // No escape is cut in two.
    while (bytes[bytes.length - held - 1] === 0x5c) held += 1;
    return held;
  }

  #lookForError(bytes: Buffer): void {
    if (this.#kind === 'answer' && bytes.includes('"error"') && errorInside.test(bytes.toString('latin1')))
      this.#kind = 'error';
  }

  #redacted(bytes: Buffer): Uint8Array {
    if (bytes.length === 0) return bytes;
    const known = this.#known.without(this.#withoutFields(bytes));
    if (this.#kind !== 'error') return known;
    const text = known.toString('latin1');
    const shown = redactText(text);
    return shown === text ? known : Buffer.from(shown, 'latin1');
  }

  #withoutFields(bytes: Buffer): Buffer {
    const kept = new Kept(bytes);
    const names = new Names(bytes);
    let next = this.#open === null ? 0 : this.#skipValue(this.#open, bytes, 0, kept);
    for (let colon = bytes.indexOf(0x3a, next); colon !== -1; colon = bytes.indexOf(0x3a, next)) {
      next = isSlash(bytes, colon + 1)
        ? this.#afterUrl(bytes, colon + 1, kept)
        : this.#afterField(bytes, colon, names, kept);
    }
    return kept.all();
  }

  #afterUrl(bytes: Buffer, start: number, kept: Kept): number {
    const text = bytes.toString('latin1', start, start + maxUrlBytes);
    const url = /^(?:\\?\/){2}(?:[^\s"'<>\\]|\\\/|\\u0026)*/.exec(text)?.[0] ?? '';
    const shown = redactUrl(url, (value) => this.#known.add(value));
    if (shown !== url) kept.replace(start, start + url.length, shown);
    return start + url.length;
  }

  #afterField(bytes: Buffer, colon: number, names: Names, kept: Kept): number {
    const field = fieldBefore(bytes, colon, names);
    if (field === null) return colon + 1;
    const { name, backslashes } = field;
    const inHeaders = this.#headers === backslashes;
    const valueAt = skipSpace(bytes, colon + 1, 1);
    const first = bytes[valueAt];
    if (isCredentialField(name) || (inHeaders && isCredentialHeader(name))) {
      if (first === 0x5b) {
        this.#open = { backslashes, depth: 1, inString: false };
        return this.#skipValue(this.#open, bytes, valueAt + 1, kept);
      }
      if (isNumber(first)) return replaceNumber(bytes, valueAt, backslashes, kept);
      const quote = valueAt + backslashes;
      if (bytes[quote] === 0x22 && countBackslashes(bytes, quote) === backslashes) {
        this.#open = { backslashes, depth: 0, inString: true };
        const end = this.#skipValue(this.#open, bytes, quote + 1, kept);
        if (inHeaders) this.#endHeaders(bytes, end);
        return end;
      }
    } else if (first === 0x7b && headersField.test(name)) this.#headers = backslashes;
    else if (inHeaders) this.#endHeaders(bytes, endOfString(bytes, valueAt, backslashes));
    return colon + 1;
  }

  /** Headers end where a brace follows a value, or a value is not a string. */
  #endHeaders(bytes: Buffer, afterValue: number | null): void {
    const after = afterValue === null ? -1 : skipSpace(bytes, afterValue, 1);
    if (afterValue === null || bytes[after] === 0x7d) this.#headers = null;
  }

  /** Replaces what is left of the value, from `at` on. The place after it, or the end of the bytes. */
  #skipValue(open: OpenValue, bytes: Buffer, at: number, kept: Kept): number {
    const { backslashes } = open;
    let place = at;
    // In a value that began in an earlier piece, whose replacement was kept then.
    let isNew = at > 0;
    while (place < bytes.length) {
      if (open.inString) {
        const quote = closingQuoteOf(bytes, place, backslashes);
        const end = quote === null ? bytes.length : quote - backslashes;
        if (quote !== null && isNew) this.#known.add(bytes.toString('utf8', place, end));
        kept.replace(place, end, isNew ? redactionMark : '');
        if (quote === null) return bytes.length;
        open.inString = false;
        place = quote + 1;
        if (open.depth > 0) continue;
        this.#open = null;
        return place;
      }
      const byte = bytes[place];
      if (byte === 0x22) open.inString = true;
      else if (byte === 0x5b || byte === 0x7b) open.depth += 1;
      else if (byte === 0x5d || byte === 0x7d) open.depth -= 1;
      else if (isNumber(byte)) {
        place = replaceNumber(bytes, place, backslashes, kept);
        continue;
      }
      isNew = true;
      place += 1;
      if (open.depth > 0) continue;
      this.#open = null;
      return place;
    }
    // The text begins with the next piece.
    if (open.inString) kept.replace(bytes.length, bytes.length, redactionMark);
    return bytes.length;
  }
}

/** The bytes as they are to be kept, from the first to the last. */
class Kept {
  readonly #bytes: Buffer;
  readonly #pieces: Uint8Array[] = [];
  #from = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  replace(start: number, end: number, text: string): void {
    this.#pieces.push(this.#bytes.subarray(this.#from, start));
    if (text !== '') this.#pieces.push(text === redactionMark ? redactedBytes : Buffer.from(text, 'latin1'));
    this.#from = end;
  }

  all(): Buffer {
    return this.#pieces.length === 0 ? this.#bytes : Buffer.concat([...this.#pieces, this.#bytes.subarray(this.#from)]);
  }
}

/** Decodes names, several at once: in most bodies they are close to each other, and a call for each would cost most of the search. */
class Names {
  readonly #bytes: Buffer;
  #from = 0;
  #text = '';

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** These bytes as Latin-1; no more than `maxNameLength`. */
  between(start: number, end: number): string {
    if (start < this.#from || end > this.#from + this.#text.length) {
      this.#from = start;
      this.#text = this.#bytes.toString('latin1', start, start + decodedBytes);
    }
    return this.#text.slice(start - this.#from, end - this.#from);
  }
}

/** The name in quotes before the colon; null unless a credential may have that name. */
function fieldBefore(
  bytes: Buffer,
  colon: number,
  names: Names,
): { readonly name: string; readonly backslashes: number } | null {
  const closing = skipSpace(bytes, colon - 1, -1);
  if (bytes[closing] !== 0x22) return null;
  const backslashes = countBackslashes(bytes, closing);
  const end = closing - backslashes;
  const least = Math.max(end - maxNameLength - 1, 0);
  let opening = end - 1;
  while (opening > least && bytes[opening] !== 0x22) opening -= 1;
  if (bytes[opening] !== 0x22 || end - opening < 3) return null;
  const name = names.between(opening + 1, end);
  return { name: name.includes('\\') ? unescapedName(name) : name, backslashes };
}

/** `api\u005fkey`, as parsers read it. */
function unescapedName(name: string): string {
  return name.replace(/\\+u([0-9a-f]{4})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

function replaceNumber(bytes: Buffer, start: number, backslashes: number, kept: Kept): number {
  let end = start;
  while (isNumber(bytes[end]) || bytes[end] === 0x2b || ((bytes[end] ?? 0) | 0x20) === 0x65) end += 1;
  const quote = `${'\\'.repeat(backslashes)}"`;
  kept.replace(start, end, `${quote}${redactionMark}${quote}`);
  return end;
}

/** The place after the string that begins there; null if there is no string, or it does not end. */
function endOfString(bytes: Buffer, start: number, backslashes: number): number | null {
  const quote = start + backslashes;
  if (bytes[quote] !== 0x22) return null;
  const closing = closingQuoteOf(bytes, quote + 1, backslashes);
  return closing === null ? bytes.length : closing + 1;
}

/** The quote that ends a string whose own quotes have that many backslashes: those inside it have more. Null if there is none. */
function closingQuoteOf(bytes: Buffer, from: number, backslashes: number): number | null {
  for (let quote = bytes.indexOf(0x22, from); quote !== -1; quote = bytes.indexOf(0x22, quote + 1)) {
    const count = countBackslashes(bytes, quote, from);
    // Backslashes in the value itself come in pairs for each level.
    if (backslashes === 0 ? count % 2 === 0 : count <= backslashes) return quote;
  }
  return null;
}

function countBackslashes(bytes: Buffer, quote: number, from = 0): number {
  let count = 0;
  while (quote - 1 - count >= from && bytes[quote - 1 - count] === 0x5c) count += 1;
  return count;
}

/** Two slashes, as JSON may write them. */
function isSlash(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x2f ? bytes[at + 1] === 0x2f : bytes[at] === 0x5c && bytes[at + 1] === 0x2f;
}

function isNumber(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2e);
}

function skipSpace(bytes: Buffer, from: number, step: 1 | -1): number {
  let at = from;
  while (at >= 0 && at < bytes.length && (bytes[at] ?? 0x22) <= 0x20) at += step;
  return at;
}

/** Bytes after the last comma, brace, line's end or space that does not follow a colon: a name and its value are one word. */
function lastWordLength(bytes: Buffer): number {
  const least = Math.max(bytes.length - maxHeldBytes, 0);
  let at = bytes.length - 1;
  for (; at >= least; at -= 1) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x2c || byte === 0x7b || byte === 0x7d) break;
    if (byte <= 0x20 && bytes[skipSpace(bytes, at, -1)] !== 0x3a) break;
  }
  return bytes.length - 1 - at;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const redactedBytes = Buffer.from(redactionMark);
const noBytes: Buffer = Buffer.alloc(0);
const newline = 0x0a;
