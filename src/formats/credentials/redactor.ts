import { isCredentialHeader, redactionMark } from '../../formats/credentials/names.ts';
import { redactAddress } from '../../formats/credentials/urls.ts';
import { redactJson } from './redact-json.ts';
import { redactText } from './urls.ts';

/** `error`: the answer of a server that refused, or what follows an error inside a 200; it quotes what the server was sent. */
export type BodyKind = 'request' | 'answer' | 'error';

/**
 * Takes the credentials out of what is kept or shown of one exchange, in both directions: by the names of headers, parameters
 * and fields, and wherever a value found that way occurs again. docs/inspector.md says what is found, and what is not.
 */
export class Redactor {
  readonly #known = new KnownValues();

  /** Headers by name; of the pseudo headers the method, the path and the status. */
  headers(headers: Iterable<readonly [name: string, value: string]>): Map<string, string> {
    const shown = [...headers].filter(([name]) => !name.startsWith(':') || shownPseudoHeaders.has(name));
    const named = shown.map(([name, value]) => [name, this.#withoutNamed(name, value)] as const);
    // Last, since a header may repeat a value whose telling name comes later.
    return new Map(named.map(([name, value]) => [name, this.text(value)]));
  }

  /**
   * A body, or an event of a stream, that is whole: bytes that are read as Latin-1, as is what remains of them. In one that comes
   * in pieces a credential may be cut anywhere. Who must not take long gives `onOmitted`: it is called with how many bytes at the end
   * are left out where there are too many credentials to look for in all of it.
   */
  body(latin1: string, kind: BodyKind, onOmitted: ((bytes: number) => void) | null = null): string {
    const named = redactJson(latin1, this.#remember);
    const most = onOmitted === null ? named.length : this.#known.longestText();
    if (named.length > most) onOmitted?.(named.length - most);
    const shown = this.#known.without(named.slice(0, most), 'latin1');
    return kind === 'error' ? redactText(shown) : shown;
  }

  /** An error's message, or a name that a client chose. */
  text(text: string): string {
    return this.#known.without(redactText(text), 'text');
  }

  /** The value without what its header's name, or that of a parameter, says. */
  #withoutNamed(name: string, value: string): string {
    if (!name.startsWith(':') && isCredentialHeader(name)) {
      this.#known.add(value);
      return redactionMark;
    }
    return name === ':path' || isAddress.test(value) ? redactAddress(value, this.#remember) : value;
  }

  readonly #remember = (value: string) => this.#known.add(value);
}

/** Whether an answer has an error with something in it, not quoted by a model. */
export function hasError(latin1: string): boolean {
  return latin1.includes('"error"') && /"error"\s*:\s*[{"]/.test(latin1);
}

const shownPseudoHeaders: ReadonlySet<string> = new Set([':method', ':path', ':status']);
const isAddress = /^(?:[a-z][a-z0-9+.-]*:\/)?\/\S*$/i;

/** The credentials that an exchange has carried so far: later occurrences are found without a name next to them. */
class KnownValues {
  /** The longest first: another may be a part of it. Each as text, and its bytes in UTF-8 read as Latin-1. */
  readonly #values: { readonly text: string; readonly latin1: string }[] = [];

  /** A value that was left out somewhere. Short ones, and those that look like words, are not searched for elsewhere. */
  add(value: string): void {
    if (value.length < minLength || value.length > maxKnownLength) return;
    for (const part of partsOf(value)) {
      this.#addOne(part);
      // As it is written in JSON, and as the server reads it.
      if (escaped.test(part)) this.#addOne(JSON.stringify(part).slice(1, -1));
      if (part.includes('\\')) this.#addOne(decoded(part, (text) => JSON.parse(`"${text}"`)));
      if (part.includes('%')) this.#addOne(decoded(part, decodeURIComponent));
    }
  }

  /** The text without them; `as` says whether it is text, or bytes that are read as Latin-1. */
  without(text: string, as: 'text' | 'latin1'): string {
    return this.#values.reduce((rest, value) => withoutValue(rest, value[as]), text);
  }

  /** Characters of a text in which all of them can be looked for. */
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

/**
 * The text without that value, and without what only begins as it does. No more than the beginning is searched for, and what is compared
 * behind that is left out: V8 takes steps of one character for a value that differs from the text before its last 250.
 */
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

/** The text as it is read; unchanged if it cannot be. */
function decoded(text: string, read: (text: string) => string): string {
  try {
    return read(text);
  } catch {
    return text;
  }
}

const wellKnownScheme = /^(?:bearer|basic|token|apikey)$/i;
/** Characters that JSON writes in another way. */
const escaped = /["\\\p{Cc}\p{Cs}]/u;
const maxValues = 128;
/** Characters of a value that are searched for. */
const searchedLength = 64;
/** Characters of a text, times values: a search takes up to 3 ns for each. */
const maxSearched = 32 * 1024 * 1024;
const minLength = 8;
/** Characters of the longest that is searched for. */
export const maxKnownLength = 4096;
