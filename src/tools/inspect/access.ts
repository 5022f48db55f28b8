import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/**
 * Sent with every response of the inspector. The page loads only its own two files, runs no inline script, frames nothing
 * and cannot be framed; `nosniff` keeps a browser from treating a model's text as a page.
 */
export const securityHeaders: Readonly<OutgoingHttpHeaders> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/**
 * Why a request may not see the inspector, or null. Another site's page could otherwise read it through a domain of its
 * own that resolves to this machine (DNS rebinding), so only addresses and `localhost` are accepted as names of this host.
 */
export function hostProblem(headers: IncomingHttpHeaders): string | null {
  const host = hostNameOf(headers.host ?? '');
  if (host !== null && (host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0)) return null;
  return 'Open the inspector by an IP address or as localhost: other names are refused, so that no other site can read it.';
}

/** Why a request must not change anything, or null: it must come from the page itself, not from another site's page. */
export function originProblem(headers: IncomingHttpHeaders): string | null {
  const { host = '', origin } = headers;
  const sites = [`http://${host}`, `https://${host}`];
  if (origin === undefined || !sites.includes(origin)) return 'Only the page of the inspector may send this.';
  const foreign = siteProblem(headers);
  if (foreign !== null) return foreign;
  // Another site's form can send text, but not this type.
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return 'The content type must be application/json.';
  return null;
}

/** Why a request is refused that another site's page made, or null. Clients other than browsers do not send the header. */
export function siteProblem(headers: IncomingHttpHeaders): string | null {
  const { 'sec-fetch-site': site = 'none' } = headers;
  return site === 'same-origin' || site === 'none' ? null : 'Only the page of the inspector may send this.';
}

/** The name or address in a `Host` header; null for anything else. */
function hostNameOf(host: string): string | null {
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:[\]/@]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase() ?? null;
}
