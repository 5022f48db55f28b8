/**
 * The headers of a handshake that its turns carry: all but these. docs/clients.md has the same list.
 */
const notForwarded: ReadonlySet<string> = new Set([
  // Hop-by-hop (RFC 9110 §7.6.1).
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'],
  'upgrade',
  // Headers of a body; each turn has its own.
  ...['accept', 'accept-encoding', 'content-encoding', 'content-length', 'content-type', 'expect'],
  // Each turn has its own.
  'x-request-id',
]);
/** Headers of the handshake itself; and Envoy's own, with which a trusted client could set timeouts and retries. */
const notForwardedPrefixes = ['sec-websocket-', 'x-envoy-', 'http2-settings'];

/** A request's headers in Node's flat form, `[name, value, name, value, …]`; out, by name in lower case, with their values joined. */
export function forwardedHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const pairs = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? '']] : [],
  );
  // `connection` names further hop-by-hop headers.
  const named = new Set(
    pairs.flatMap(([name, value]) =>
      name === 'connection' ? value.split(',').map((word) => word.trim().toLowerCase()) : [],
    ),
  );
  const headers: Record<string, string> = {};
  for (const [name, value] of pairs) {
    if (notForwarded.has(name) || named.has(name)) continue;
    if (notForwardedPrefixes.some((prefix) => name.startsWith(prefix))) continue;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
}
