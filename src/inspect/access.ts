import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/**
 * Sent with everything of the inspector. The page loads its own two files and nothing else, runs no script that is written
 * into it, frames nothing and is framed by nobody; `nosniff` keeps a browser from taking what a model says for a page.
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
 * Why a request may not see the inspector, or null. A page of another site could otherwise read it through a name of its
 * own that it points at this machine (DNS rebinding), so only addresses and `localhost` are taken for names of this host.
 */
export function hostProblem(headers: IncomingHttpHeaders): string | null {
  const host = hostNameOf(headers.host ?? '');
  if (host !== null && (host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0)) return null;
  return 'Open the inspector by an IP address or as localhost: other names are refused, so that no other site can read it.';
}

/** Why a request may change nothing, or null: it must come from the page itself, not from a page of another site. */
export function originProblem(headers: IncomingHttpHeaders): string | null {
  const { host = '', origin } = headers;
  const sites = [`http://${host}`, `https://${host}`];
  if (origin === undefined || !sites.includes(origin)) return 'Only the page of the inspector may send this.';
  const foreign = siteProblem(headers);
  if (foreign !== null) return foreign;
  // A form of another site can send text, but not this type.
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return 'The content type must be application/json.';
  return null;
}

/** Why a request must be refused that a page of another site made, or null. Clients that are no browsers say nothing. */
export function siteProblem(headers: IncomingHttpHeaders): string | null {
  const { 'sec-fetch-site': site = 'none' } = headers;
  return site === 'same-origin' || site === 'none' ? null : 'Only the page of the inspector may send this.';
}

/** The name or address in a `Host` header; null for what is neither. */
function hostNameOf(host: string): string | null {
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:[\]/@]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase() ?? null;
}
