/** The headers of a handshake that its turns carry: all but these. docs/clients.md has the same list. */
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

/** The headers of a handshake's turns, with the values of each joined; `given` is its own in Node's distinct form, names in lower case. */
export function forwardedHeaders(given: Readonly<NodeJS.Dict<readonly string[]>>): Record<string, string> {
  // `connection` names further hop-by-hop headers.
  const named = given['connection']?.flatMap((value) => value.split(',').map((word) => word.trim().toLowerCase()));
  const forwarded = Object.entries(given).filter(
    ([name]) =>
      !notForwarded.has(name) &&
      named?.includes(name) !== true &&
      !notForwardedPrefixes.some((prefix) => name.startsWith(prefix)),
  );
  return Object.fromEntries(
    forwarded.map(([name, values]) => [name, values?.join(name === 'cookie' ? '; ' : ', ') ?? '']),
  );
}
