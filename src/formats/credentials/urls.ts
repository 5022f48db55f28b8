import { isCredentialField, isCredentialHeader, redactionMark } from './names.ts';

export type OnRedacted = (value: string) => void;

/** Query parameters that are part of the protocol and hold no secret. */
const plainParameters = new Set(['api-version', 'client_version', 'limit', 'after', 'before', 'order', 'alt']);

/** Redacts user, password and nearly all parameters of a request's address (`:path`, `location`, `referer`); a few are known to be harmless. */
export function redactAddress(url: string, onRedacted?: OnRedacted): string {
  return redactParts(url, (name) => !plainParameters.has(name), onRedacted);
}

/** Redacts user, password and parameters with a credential's name of a URL in a text, which may be JSON (`\/`, `\u0026`). */
export function redactUrl(url: string, onRedacted?: OnRedacted): string {
  return redactParts(url, isCredentialHeader, onRedacted);
}

/** Redacts each URL with a host in a text, as `redactUrl` does. */
export function redactUrls(text: string, onRedacted?: OnRedacted): string {
  if (!text.includes('://')) return text;
  return text.replace(/:\/\/[^\s"'<>\\]+/g, (url) => `:${redactUrl(url.slice(1), onRedacted)}`);
}

function redactParts(url: string, isSecret: (name: string) => boolean, onRedacted?: OnRedacted): string {
  const queryAt = url.search(/[?#]/);
  const base = withoutUser(queryAt === -1 ? url : url.slice(0, queryAt), onRedacted);
  if (queryAt === -1) return base;
  const parts = url.slice(queryAt).split(/([?#&;]|\\u0026)/);
  const shown = parts.map((part) => {
    const equals = part.indexOf('=');
    if (equals === -1 || equals === part.length - 1 || !isSecret(decodeLoosely(part.slice(0, equals)))) return part;
    onRedacted?.(part.slice(equals + 1));
    return `${part.slice(0, equals)}=${redactionMark}`;
  });
  return base + shown.join('');
}

/** Redacts the user of `//user:password@host` and `https://user:password@host`, also with escaped slashes. */
function withoutUser(base: string, onRedacted?: OnRedacted): string {
  const start = /^(?:[a-z][a-z0-9+.-]*:)?(?:\\?\/){2}/i.exec(base)?.[0].length;
  if (start === undefined) return base;
  const length = base.slice(start).search(/\\?\//);
  const end = length === -1 ? base.length : start + length;
  const at = base.lastIndexOf('@', end);
  if (at < start) return base;
  const user = base.slice(start, at);
  onRedacted?.(user);
  for (const part of user.split(':')) onRedacted?.(part);
  return `${base.slice(0, start)}${redactionMark}${base.slice(at)}`;
}

/** Decodes a text, by default the name of a parameter or a value from a URL; returns it unchanged if it cannot be decoded. */
export function decodeLoosely(text: string, decode: (text: string) => string = decodeURIComponent): string {
  try {
    return decode(text);
  } catch {
    return text;
  }
}

/** A credential behind the name of its scheme, as servers quote the header that they refuse; a word without a digit is prose. */
const afterScheme = /\b(bearer|basic|digest|negotiate|apikey|token)(\s{1,8})(?=[^\s"'<>,;]{0,400}\d)[\w.~+/=:-]{8,}/gi;

/**
 * A name in front of its value, as in a header, a query, an assignment or JSON: `x-api-key: …`, `key=…`, `"password": "…"`; with the
 * scheme of a header.
 */
const nameOfValue =
  /(?<![\w-])([\w-]{1,80})\\?["']?\s{0,64}([:=])\s{0,64}\\?["']?(?:(?:bearer|basic|digest|negotiate|apikey|token)(?=$|[\s"'<>,;])\s{0,8})?/gi;

/** The value there. A comma is a part of it, unless white space or another name follows. */
const valueOfName = /[^\s"'<>,;&\\]+(?:,(?![\w-]{0,80}[:=])[^\s"'<>,;&\\]+){0,64}/y;

/** Keys with a recognisable prefix: OpenAI's and others', GitHub, GitLab, Slack, AWS, Google, Hugging Face, Groq, xAI, JWT. */
const knownKeys =
  /\b(?:sk-(?=[\w-]{0,200}\d)[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}|eyJ[\w-]{8,400}\.eyJ[\w-]{8,}\.[\w-]*)/g;

/** Redacts the credentials that messages of servers and libraries quote. Lookahead is bounded, so the time is linear in the text. */
export function redactText(text: string): string {
  return withoutNamed(redactUrls(text).replace(afterScheme, `$1$2${redactionMark}`)).replace(knownKeys, redactionMark);
}

function withoutNamed(text: string): string {
  const kept: string[] = [];
  let done = 0;
  nameOfValue.lastIndex = 0;
  for (let found = nameOfValue.exec(text); found !== null; found = nameOfValue.exec(text)) {
    const [, name = '', sign = ''] = found;
    const isKey = /^(?:key|token)$/i.test(name);
    if (!isKey && !isCredentialField(name)) continue;
    const start = nameOfValue.lastIndex;
    valueOfName.lastIndex = start;
    const [value = redactionMark] = valueOfName.exec(text) ?? [];
    const end = start + value.length;
    const isWord = sign === ':' && !/\d/.test(value) && value.length < 16;
    const isPlain = isKey ? isWord || /^\d+$/.test(value) : isWord && isProse(name, text.slice(end, end + 2));
    if (value === redactionMark || isPlain) continue;
    kept.push(text.slice(done, start), redactionMark);
    done = end;
    nameOfValue.lastIndex = end;
  }
  return kept.join('') + text.slice(done);
}

/** Is a short word without a digit, of which that is the name, the first of several words? Behind the name of a header it never is. */
function isProse(name: string, next: string): boolean {
  return !name.includes('-') && !/^authorization$/i.test(name) && /^ \w/.test(next);
}
