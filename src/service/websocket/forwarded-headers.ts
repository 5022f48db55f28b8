/** The headers of a handshake that its turns carry: all but these. docs/clients.md has the same list. */
const notForwarded: ReadonlySet<string> = new Set([
  // Hop-by-hop (RFC 9110 §7.6.1).
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Headers of a body; each turn has its own.
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  // Each turn has its own.
  'x-request-id',
]);
/** Headers of the handshake itself; and Envoy's own, with which a trusted client could set timeouts and retries. */
const notForwardedPrefixes = ['sec-websocket-', 'x-envoy-', 'http2-settings'];

/** Hosts that a URL may have: a name or an address, without a user, with a port or none. */
const hostPattern = /^(?:\[[\da-f:.]+\]|[^\s:[\]/?#@\\,]+)(?::\d{1,5})?$/i;

/** Whether turns can be sent to this host: it becomes their `:authority`. */
export function isHost(host: string | undefined): boolean {
  return host !== undefined && hostPattern.test(host);
}

/**
 * The headers of a handshake's turns, by lower-case name, with the values of each joined; `raw` are the handshake's own as Node
 * read them, name and value in turn. Any name may be a header's, so the result has no prototype; nor is `headersDistinct` read, which
 * throws for some names in older Nodes.
 */
export function forwardedHeaders(raw: readonly string[]): Record<string, string> {
  const given = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]];
    const values = given.get(name.toLowerCase());
    if (values === undefined) given.set(name.toLowerCase(), [value]);
    else values.push(value);
  }
  // `connection` names further hop-by-hop headers.
  const named = given.get('connection')?.flatMap((value) => value.split(',').map((word) => word.trim().toLowerCase()));
  const forwarded: Record<string, string> = Object.create(null);
  for (const [name, values] of given)
    if (
      !notForwarded.has(name) &&
      named?.includes(name) !== true &&
      !notForwardedPrefixes.some((prefix) => name.startsWith(prefix))
    )
      forwarded[name] = values.join(name === 'cookie' ? '; ' : ', ');
  return forwarded;
}
