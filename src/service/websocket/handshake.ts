import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type TurnError, turnError } from './errors.ts';
import { isHost } from './forwarded-headers.ts';

const responsesPath = /^[^?]*\/responses\/?(?:\?|$)/;
/** Client ids that are safe to repeat in logs and headers. */
const usableId = /^[\w.:-]{1,128}$/;

/** The id that the client gave its handshake; null if it gave none that can be repeated. */
export function idOf({ headers: { 'x-request-id': id } }: IncomingMessage): string | null {
  return typeof id === 'string' && usableId.test(id) ? id : null;
}

/** The client's program, as its handshake names it. */
export function userAgentOf({ headers }: IncomingMessage): string | null {
  return headers['user-agent'] ?? null;
}

/** The query of the handshake's URL, with the `?`; empty if there is none. */
export function queryOf({ url = '' }: IncomingMessage): string {
  return /\?.*$/s.exec(url)?.[0] ?? '';
}

/** The error for a handshake that is wrong in itself, whatever the state of the server; null for any other. */
export function handshakeError({ headers, url = '' }: IncomingMessage, origins: readonly string[]): TurnError | null {
  if (!responsesPath.test(url)) return turnError(404, 'not_found', 'Not found. Open the WebSocket at /v1/responses.');
  const { origin, host } = headers;
  if (!isHost(host))
    return turnError(400, 'invalid_host', "Invalid 'Host': expected a name or an address, with an optional port.");
  if (origin === undefined || origins.includes('*') || origins.includes(origin)) return null;
  const message = 'Pages of this origin may not connect. The operator can allow the origin in WEBSOCKET_ORIGINS.';
  return turnError(403, 'origin_not_allowed', message);
}

/** Answers a rejected handshake. */
export function refuseUpgrade(socket: Duplex, { status, headers, error }: TurnError): void {
  const body = JSON.stringify({ error });
  const head = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json',
    ...Object.entries(headers ?? (status === 503 ? { 'retry-after': '2' } : {})).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Requests that are not an upgrade: health checks, and turns that a proxy sends here by mistake. */
export function answerHttp(request: IncomingMessage, response: ServerResponse, isDraining: () => boolean): void {
  if (request.url === '/healthz') {
    const status = isDraining() ? 503 : 200;
    response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 200 ? 'ok\n' : 'draining\n');
    return;
  }
  const message = 'This port accepts only WebSockets. Send HTTP requests to the proxy.';
  const { status, error } = turnError(426, 'websocket_required', message);
  const headers = { 'content-type': 'application/json', upgrade: 'websocket', connection: 'close' };
  response.writeHead(status, headers).end(JSON.stringify({ error }));
}
