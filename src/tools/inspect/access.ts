import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

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

/** Finds the reason why a request must not change anything, or null. It must come from the inspector's own page. */
export function findOriginProblem(headers: IncomingHttpHeaders): string | null {
  const { host = '', origin } = headers;
  const sites = [`http://${host}`, `https://${host}`];
  if (origin === undefined || !sites.includes(origin)) return 'Only the page of the inspector may send this.';
  const foreign = findSiteProblem(headers);
  if (foreign !== null) return foreign;
  // Another site's form can send text, but not this type.
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return 'The content type must be application/json.';
  return null;
}

/** Finds the reason to refuse a request that another site's page made, or null. Only browsers send this header. */
export function findSiteProblem(headers: IncomingHttpHeaders): string | null {
  const { 'sec-fetch-site': site = 'none' } = headers;
  return site === 'same-origin' || site === 'none' ? null : 'Only the page of the inspector may send this.';
}
