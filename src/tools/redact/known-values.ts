import { redactionMark } from '../../filter/wire/credentials/names.ts';

interface KnownValue {
  readonly text: string;
  readonly bytes: Buffer;
  /** The bytes, read as Latin-1. */
  readonly latin1: string;
}

/** The credentials that an exchange has carried so far: later occurrences are found without a name next to them. */
export class KnownValues {
  /** The longest first: another may be a part of it. */
  readonly #values: KnownValue[] = [];
  /** A value that goes on after the end of a line may begin at the end of any piece. */
  #hasLines = false;

  /** A value that was left out somewhere. Short ones, and those that look like words, are not searched for elsewhere. */
  add(value: string): void {
    if (value.length < minLength || value.length > maxLength || this.#values.length >= maxValues) return;
    for (const part of partsOf(value)) {
      this.#addOne(part);
      // As it is written in JSON, and as the server reads it.
      if (escaped.test(part)) this.#addOne(JSON.stringify(part).slice(1, -1));
      if (part.includes('\\')) this.#addOne(unescaped(part));
      if (part.includes('%')) this.#addOne(percentDecoded(part));
    }
  }

  without(bytes: Uint8Array): Buffer {
    let rest = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const { bytes: value } of this.#values) {
      if (rest.indexOf(value) === -1) continue;
      const kept: Uint8Array[] = [];
      let from = 0;
      for (let at = rest.indexOf(value); at !== -1; at = rest.indexOf(value, from)) {
        kept.push(rest.subarray(from, at), redactedBytes);
        from = at + value.length;
      }
      rest = Buffer.concat([...kept, rest.subarray(from)]);
    }
    return rest;
  }

  /** False if the lines, read as Latin-1, neither contain one nor end in the beginning of one. */
  mayBeIn(lines: string): boolean {
    if (this.#hasLines) return true;
    for (const { latin1 } of this.#values) if (lines.includes(latin1)) return true;
    return false;
  }

  /** What `without` makes of a text. */
  withoutIn(text: string): string {
    for (const value of this.#values) if (text.includes(value.text)) return this.without(Buffer.from(text)).toString();
    return text;
  }

  /** Bytes at the end that may be the beginning of one. */
  begunAtEnd(bytes: Uint8Array): number {
    let longest = 0;
    for (const { bytes: value } of this.#values) {
      for (let length = Math.min(value.length - 1, bytes.length); length > longest; length -= 1) {
        const start = bytes.length - length;
        if (bytes[start] === value[0] && value.compare(bytes, start, bytes.length, 0, length) === 0) longest = length;
      }
    }
    return longest;
  }

  #addOne(text: string): void {
    if (!isDistinct(text) || text.length > maxLength || this.#values.length >= maxValues) return;
    if (this.#values.some((known) => known.text === text)) return;
    const bytes = Buffer.from(text);
    const value = { text, bytes, latin1: bytes.toString('latin1') };
    const shorter = this.#values.findIndex((known) => known.bytes.length < bytes.length);
    this.#values.splice(shorter === -1 ? this.#values.length : shorter, 0, value);
    this.#hasLines ||= text.includes('\n');
  }
}

/** Unlike a word, of which a prompt has many. */
function isDistinct(value: string): boolean {
  return value.length >= 24 || (value.length >= minLength && /\d/.test(value));
}

/** From a header's value: the credential without its scheme, the password of `Basic`, and the values of cookies. */
function partsOf(value: string): string[] {
  const [, scheme = '', credential = ''] = /^([A-Za-z][\w-]*) +(\S.*)$/.exec(value) ?? [];
  const parts = credential === '' ? [] : [credential];
  // Each value costs a search of all that comes, and a well-known scheme is no secret.
  if (!wellKnownScheme.test(scheme) || !isDistinct(credential)) parts.push(value);
  if (scheme.toLowerCase() === 'basic') parts.push(...Buffer.from(credential, 'base64').toString().split(':'));
  if (value.includes('=')) {
    const pairs = value.split(/[;,] */).slice(0, 32);
    // A short one may be a date, or the name of a theme.
    parts.push(...pairs.map((pair) => pair.slice(pair.indexOf('=') + 1)).filter(({ length }) => length >= 16));
  }
  return parts;
}

function unescaped(text: string): string {
  try {
    const value: unknown = JSON.parse(`"${text}"`);
    return typeof value === 'string' ? value : text;
  } catch {
    return text;
  }
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const wellKnownScheme = /^(?:bearer|basic|token|apikey)$/i;
/** What JSON writes in another way. */
const escaped = /["\\\p{Cc}\p{Cs}]/u;
const redactedBytes = Buffer.from(redactionMark);
const maxValues = 128;
const minLength = 8;
const maxLength = 4096;
