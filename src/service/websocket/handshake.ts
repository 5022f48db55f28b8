import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocketRefusal } from './client-socket.ts';
import { type TurnError, turnError } from './errors.ts';

const responsesPath = /^[^?]*\/responses\/?(?:\?|$)/;
/** Ids that are safe to repeat in logs and headers. */
const usableId = /^[\w.:-]{1,128}$/;
/** Hosts that can become the `:authority` of turns: a name or an address, without a user, with or without a port. */
const hostPattern = /^(?:\[[\da-f:.]+\]|[^\s:[\]/?#@\\,]+)(?::\d{1,5})?$/i;

/** Headers of a handshake that its turns do not carry. docs/clients.md has the same list. */
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
  // Each turn has a body of its own, and an id.
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'x-request-id',
]);
/** Headers of the handshake itself, and Envoy's own, with which a trusted client could set timeouts and retries. */
const notForwardedPrefixes = ['sec-websocket-', 'x-envoy-', 'http2-settings'];

/** Reads the client's id and program. The id is null unless it is safe to repeat in logs and headers. */
export function readIdentity({ headers }: IncomingMessage): Pick<WebSocketRefusal, 'id' | 'userAgent'> {
  const { 'x-request-id': id, 'user-agent': userAgent = null } = headers;
  return { id: typeof id === 'string' && usableId.test(id) ? id : null, userAgent };
}

/** Reads the query of the URL, with its `?`; empty if there is none. */
export function readQuery({ url = '' }: IncomingMessage): string {
  return /\?.*$/s.exec(url)?.[0] ?? '';
}

/**
 * Reads the headers that turns carry, by lower-case name, with repeated values joined. `raw` has names and values in turn, since
 * Node's `headersDistinct` throws for some names in older versions. The result has no prototype, because a header may have any name.
 */
export function readForwardedHeaders(raw: readonly string[]): Record<string, string> {
  const given = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at]?.toLowerCase(), raw[at + 1]];
    const values = given.get(name);
    if (values === undefined) given.set(name, [value]);
    else values.push(value);
  }
  // `connection` names further hop-by-hop headers.
  const named = given.get('connection')?.flatMap((value) => value.split(',').map((word) => word.trim().toLowerCase()));
  const forwarded: Record<string, string> = Object.create(null);
  for (const [name, values] of given) {
    if (notForwarded.has(name) || named?.includes(name) === true) continue;
    if (notForwardedPrefixes.some((prefix) => name.startsWith(prefix))) continue;
    forwarded[name] = values.join(name === 'cookie' ? '; ' : ', ');
  }
  return forwarded;
}

/** Returns the error of an invalid handshake; null for a valid one. */
export function findHandshakeError(
  { headers, url = '' }: IncomingMessage,
  origins: readonly string[],
): TurnError | null {
  if (!responsesPath.test(url)) return turnError(404, 'not_found', 'Not found. Open the WebSocket at /v1/responses.');
  const { origin, host } = headers;
  if (host === undefined || !hostPattern.test(host))
    return turnError(400, 'invalid_host', "Invalid 'Host': expected a name or an address, with an optional port.");
  if (origin === undefined || origins.includes('*') || origins.includes(origin)) return null;
  const message = 'Pages of this origin may not connect. The operator can allow the origin in WEBSOCKET_ORIGINS.';
  return turnError(403, 'origin_not_allowed', message);
}

export function refuseUpgrade(socket: Duplex, { status, error, headers }: TurnError): void {
  const body = JSON.stringify({ error });
  const more = headers ?? (status === 503 ? { 'retry-after': '2' } : {});
  const head = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json',
    ...Object.entries(more).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Answers a request that is not an upgrade: a health check, or a turn that a proxy sends here by mistake. */
export function answerHttp(request: IncomingMessage, response: ServerResponse, isDraining: () => boolean): void {
  if (request.url === '/healthz') {
    const [status, text] = isDraining() ? [503, 'draining\n'] : [200, 'ok\n'];
    response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
    return;
  }
  const message = 'This port accepts only WebSockets. Send HTTP requests to the proxy.';
  const { status, error } = turnError(426, 'websocket_required', message);
  const headers = { 'content-type': 'application/json', upgrade: 'websocket', connection: 'close' };
  response.writeHead(status, headers).end(JSON.stringify({ error }));
}
