import { isCredentialHeader, redactionMark } from './names.ts';

/** Receives each value that was left out. */
export type OnRedacted = (value: string) => void;

/** Query parameters that are part of the protocol and hold no secret. */
const plainParameters = new Set(['api-version', 'client_version', 'limit', 'after', 'before', 'order', 'alt']);

/**
 * The address of a request (`:path`, `location`, `referer`) without user name and password, and without the values of its
 * query and fragment except for a few parameters that are known to be harmless.
 */
export function redactAddress(url: string, onRedacted?: OnRedacted): string {
  return redactParts(url, (name) => !plainParameters.has(name), onRedacted);
}

/**
 * A URL among other text without user name and password, and without the values of parameters that are called like
 * credentials. Slashes and ampersands may be written as JSON allows (`\/`, `\u0026`).
 */
export function redactUrl(url: string, onRedacted?: OnRedacted): string {
  return redactParts(url, isCredentialHeader, onRedacted);
}

/** Each URL in a text that has a host, as `redactUrl` shows it. */
export function redactUrls(text: string, onRedacted?: OnRedacted): string {
  if (!text.includes('://')) return text;
  return text.replace(/:\/\/[^\s"'<>\\]+/g, (url) => `:${redactUrl(url.slice(1), onRedacted)}`);
}

function redactParts(url: string, isSecret: (name: string) => boolean, onRedacted?: OnRedacted): string {
  const queryAt = url.search(/[?#]/);
  const base = withoutUser(queryAt === -1 ? url : url.slice(0, queryAt), onRedacted);
  if (queryAt === -1) return base;
  // Pairs stand between separators, which stay as they are.
  const parts = url.slice(queryAt).split(/([?#&;]|\\u0026)/);
  const shown = parts.map((part) => {
    const equals = part.indexOf('=');
    if (equals === -1 || equals === part.length - 1 || !isSecret(decoded(part.slice(0, equals)))) return part;
    onRedacted?.(part.slice(equals + 1));
    return `${part.slice(0, equals)}=${redactionMark}`;
  });
  return base + shown.join('');
}

/** `//user:password@host` and `https://user:password@host`, also with escaped slashes. */
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

/** A parameter's name as its server reads it. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
