import type { HeaderMap, HeaderMutation } from '../exchange/types.ts';
import type { Head, HeadChange } from './recording.ts';

// The page has this file too: nothing in it may need Node.

/** Stands for a value that is not kept. */
export const redactionMark = '[redacted]';

/**
 * Names of headers, query parameters and JSON fields that carry credentials: `authorization`, `proxy-authorization`, `cookie`,
 * `set-cookie`, `api-key`, `x-goog-api-key`, `x-amz-security-token` and their like. A word of the name decides, so that
 * a header of a vendor that nobody has listed is not shown either; `tokens` counts something and is none of them.
 */
const credentialWord =
  /(^|[-_.])(auth|authorization|authentication|cookie2?|key|apikey|token|secret|password|passwd|pwd|credentials?|jwt|signature|sig|assertion|bearer)($|[-_.])/i;
/** The same inside one word: `apiKey`, `accessToken`, `clientSecret`. */
const credentialInCamelCase = /(api|access|private|secret|session|refresh|id|auth)(key|token)$|secret$|password$/i;

/** Whether what is called so is never kept. */
export function isCredential(name: string): boolean {
  const known = verdicts.get(name);
  if (known !== undefined) return known;
  const verdict = credentialWord.test(name) || credentialInCamelCase.test(name);
  if (verdicts.size < maxCachedVerdicts) verdicts.set(name, verdict);
  return verdict;
}

/** Headers are mostly the same; clients may send any, so there is an end to what is remembered. */
const verdicts = new Map<string, boolean>();
const maxCachedVerdicts = 1000;

/** The headers as they may be kept; of the pseudo headers the method, the path and the status. */
export function redactHeaders(headers: HeaderMap): Head {
  const kept: string[] = [];
  for (const [name, value] of headers) addRedacted(kept, name, value);
  return kept;
}

/** The same of a change that Envoy is told to make. */
export function redactMutation({ set = {}, remove = [] }: HeaderMutation = {}): HeadChange {
  const kept: string[] = [];
  for (const name in set) addRedacted(kept, name, set[name] ?? '');
  return { set: kept, remove };
}

function addRedacted(kept: string[], name: string, value: string): void {
  if (name === ':path') kept.push(name, redactPath(value));
  else if (!name.startsWith(':')) kept.push(name, isCredential(name) ? redactionMark : value);
  else if (name === ':method' || name === ':status') kept.push(name, value);
}

/** Query parameters that are part of the protocol and hold no secret. */
const plainParameters = new Set(['api-version', 'client_version', 'limit', 'after', 'before', 'order', 'alt']);

/** The path with the values of its query left out, but for a few that are known to be harmless. */
export function redactPath(path: string): string {
  const at = path.indexOf('?');
  if (at === -1) return path;
  const query = path
    .slice(at + 1)
    .split('&')
    .map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return value.length === 0 || plainParameters.has(name) ? pair : `${name}=${redactionMark}`;
    });
  return `${path.slice(0, at)}?${query.join('&')}`;
}
