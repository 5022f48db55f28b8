import { isCredentialHeader, redactionMark } from './names.ts';
import { redactJson } from './redact-json.ts';
import { decodeLoosely, redactAddress, redactText } from './urls.ts';

/** `error`: the answer of a server that refused, or whatever follows an error inside a 200. It quotes what the server was sent. */
export type BodyKind = 'request' | 'answer' | 'error';

/** Redacts the credentials of one exchange by names, and wherever a value found so occurs again. docs/inspector.md says what is not found. */
export class Redactor {
  readonly #known = new KnownValues();

  /** Redacts headers; of the pseudo headers, only method, path and status are kept. */
  headers(headers: Iterable<readonly [name: string, value: string]>): Map<string, string> {
    const shown = [...headers].filter(([name]) => !name.startsWith(':') || shownPseudoHeaders.has(name));
    const named = shown.map(([name, value]) => [name, this.#withoutNamed(name, value)] as const);
    // In a second pass, since a header may repeat the value of a later one.
    return new Map(named.map(([name, value]) => [name, this.text(value)]));
  }

  /** Redacts a whole body or event, read as Latin-1. With `onOmitted`, the end is left out if there are too many credentials to look for. */
  body(latin1: string, kind: BodyKind, onOmitted: ((bytes: number) => void) | null = null): string {
    const named = redactJson(latin1, this.#remember);
    const most = onOmitted === null ? named.length : this.#known.longestText();
    if (named.length > most) onOmitted?.(named.length - most);
    const shown = this.#known.without(named.slice(0, most), 'latin1');
    return kind === 'error' ? redactText(shown) : shown;
  }

  /** Redacts an error's message, or a name that a client chose. */
  text(text: string): string {
    return this.#known.without(redactText(text), 'text');
  }

  #withoutNamed(name: string, value: string): string {
    if (!name.startsWith(':') && isCredentialHeader(name)) {
      this.#known.add(value);
      return redactionMark;
    }
    return name === ':path' || isAddress.test(value) ? redactAddress(value, this.#remember) : value;
  }

  readonly #remember = (value: string) => this.#known.add(value);
}

/** Does an answer have an error with content, which no model has quoted? */
export function hasError(latin1: string): boolean {
  return latin1.includes('"error"') && /"error"\s*:\s*[{"]/.test(latin1);
}

const shownPseudoHeaders: ReadonlySet<string> = new Set([':method', ':path', ':status']);
const isAddress = /^(?:[a-z][a-z0-9+.-]*:\/)?\/\S*$/i;

/** The credentials that an exchange has carried so far, which are found again without a name next to them. */
class KnownValues {
  /** The longest first, since another may be a part of it. `latin1` is the text's bytes in UTF-8, read as Latin-1. */
  readonly #values: { readonly text: string; readonly latin1: string }[] = [];

  /** Adds a value that was redacted. Short values, and those that look like words, are not searched for elsewhere. */
  add(value: string): void {
    if (value.length < minLength || value.length > maxKnownLength) return;
    for (const part of splitValue(value)) {
      this.#addOne(part);
      // The value as JSON writes it, and as a server reads it.
      if (escaped.test(part)) this.#addOne(JSON.stringify(part).slice(1, -1));
      if (part.includes('\\')) this.#addOne(decodeLoosely(part, (text) => JSON.parse(`"${text}"`)));
      if (part.includes('%')) this.#addOne(decodeLoosely(part));
    }
  }

  without(text: string, as: 'text' | 'latin1'): string {
    return this.#values.reduce((rest, value) => withoutValue(rest, value[as]), text);
  }

  /** Returns the length of a text in which all values can be looked for. */
  longestText(): number {
    return Math.floor(maxSearched / Math.max(this.#values.length, 1));
  }

  #addOne(text: string): void {
    if (this.#values.length >= maxValues || !isDistinct(text) || text.length > maxKnownLength) return;
    if (this.#values.some((known) => known.text === text)) return;
    this.#values.push({ text, latin1: Buffer.from(text).toString('latin1') });
    this.#values.sort((one, other) => other.latin1.length - one.latin1.length);
  }
}

/** Redacts a value, and whatever has its first 64 characters: V8's search for a longer text may advance one character at a time. */
function withoutValue(text: string, value: string): string {
  const beginning = value.slice(0, searchedLength);
  const kept: string[] = [];
  let done = 0;
  for (let at = text.indexOf(beginning); at !== -1; at = text.indexOf(beginning, done)) {
    kept.push(text.slice(done, at), redactionMark);
    done = at + beginning.length;
    while (done - at < value.length && text[done] === value[done - at]) done += 1;
  }
  return done === 0 ? text : kept.join('') + text.slice(done);
}

/** Does the value differ from words, of which a prompt has many? */
function isDistinct(value: string): boolean {
  return value.length >= 24 || (value.length >= minLength && /\d/.test(value));
}

/** Splits a header's value: the credential without its scheme, the password of `Basic`, the values of cookies. */
function splitValue(value: string): string[] {
  const [, scheme = '', credential = ''] = /^([A-Za-z][\w-]*) +(\S.*)$/.exec(value) ?? [];
  const parts = credential === '' ? [] : [credential];
  // Each value costs a search of all later text, so the whole one is left out where only a well-known scheme is in front.
  if (!wellKnownScheme.test(scheme) || !isDistinct(credential)) parts.push(value);
  if (scheme.toLowerCase() === 'basic') parts.push(...Buffer.from(credential, 'base64').toString().split(':'));
  if (value.includes('=')) {
    const pairs = value.split(/[;,] */).slice(0, 32);
    // A short value may be a date, or the name of a theme.
    parts.push(...pairs.map((pair) => pair.slice(pair.indexOf('=') + 1)).filter(({ length }) => length >= 16));
  }
  return parts;
}

const wellKnownScheme = /^(?:bearer|basic|token|apikey)$/i;
const escaped = /["\\\p{Cc}\p{Cs}]/u;
const maxValues = 128;
const searchedLength = 64;
/** Characters of a text times values: a search takes up to 3 ns for each. */
const maxSearched = 32 * 1024 * 1024;
const minLength = 8;
export const maxKnownLength = 4096;
