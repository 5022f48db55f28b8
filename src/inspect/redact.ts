import type { HeaderMap } from '../exchange/types.ts';

/** Stands for a value that is not kept. */
export const REDACTED = '[redacted]';

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
  if (verdicts.size < MAX_VERDICTS) verdicts.set(name, verdict);
  return verdict;
}

/** Headers are mostly the same; clients may send any, so there is an end to what is remembered. */
const verdicts = new Map<string, boolean>();
const MAX_VERDICTS = 1000;

/** The headers as they may be kept, without the pseudo headers. */
export function redactHeaders(headers: HeaderMap): { name: string; value: string }[] {
  const kept: { name: string; value: string }[] = [];
  for (const [name, value] of headers)
    if (!name.startsWith(':')) kept.push({ name, value: isCredential(name) ? REDACTED : value });
  return kept;
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
      return value.length === 0 || plainParameters.has(name) ? pair : `${name}=${REDACTED}`;
    });
  return `${path.slice(0, at)}?${query.join('&')}`;
}

/** An MCP server's credentials are given with the tool; other names that `isCredential` knows are a prompt's own words here. */
const credentialField =
  /^((proxy-)?authorization|(set-)?cookie|([a-z0-9]+[-_])*api[-_]?key|([a-z0-9]+[-_])*(access|refresh|auth|id|bearer|security)[-_]?token|client[-_]?secret|password)$/i;
const MAX_NAME_LENGTH = 64;

/**
 * A JSON body with the text of fields that are called like credentials replaced. Other bodies come back as they are. It goes
 * from colon to colon, which a long prompt has few of: a regular expression takes ten times as long.
 */
export function redactBody(body: string): string {
  let kept = '';
  let from = 0;
  for (let colon = body.indexOf(':'); colon !== -1; colon = body.indexOf(':', colon + 1)) {
    const nameEnd = skipSpace(body, colon - 1, -1);
    if (body[nameEnd] !== '"') continue;
    const nameStart = body.lastIndexOf('"', nameEnd - 1) + 1;
    if (nameEnd - nameStart > MAX_NAME_LENGTH || !credentialField.test(body.slice(nameStart, nameEnd))) continue;
    const valueStart = skipSpace(body, colon + 1, 1);
    if (body[valueStart] !== '"') continue;
    const valueEnd = endOfText(body, valueStart + 1);
    kept += `${body.slice(from, valueStart)}"${REDACTED}"`;
    from = valueEnd;
    colon = valueEnd - 1;
  }
  return from === 0 ? body : kept + body.slice(from);
}

function skipSpace(text: string, from: number, step: 1 | -1): number {
  let at = from;
  while (at >= 0 && at < text.length && text.charCodeAt(at) <= 0x20) at += step;
  return at;
}

/** After the quote that ends a JSON text; the end of the body where none does. */
function endOfText(body: string, from: number): number {
  for (let at = from; ; at += 1) {
    const quote = body.indexOf('"', at);
    if (quote === -1) return body.length;
    let escapes = 0;
    while (body[quote - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
    at = quote;
  }
}
