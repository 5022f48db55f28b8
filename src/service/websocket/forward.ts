import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { ForwardTurn } from './turn.ts';

/** Sends turns to the proxy. */
export interface Forwarder {
  /** For one connection: `headers` are its handshake's, `query` is its URL's with the `?`, `id` begins its turns' request ids. */
  forConnection(headers: Readonly<Record<string, string | string[]>>, query: string, id: string): ForwardTurn;
  close(): void;
}

/**
 * Connections to the proxy are kept for the next turn, for less time than any proxy keeps them: a request on a connection
 * just being closed would fail, and must not be sent twice.
 */
const idleSocketTimeoutMs = 4_000;
const maxIdleSockets = 64;

/** `baseUrl` is the proxy's, such as `http://127.0.0.1:10000/v1`. */
export function createForwarder(baseUrl: string): Forwarder {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/responses`);
  const secure = url.protocol === 'https:';
  const options = { keepAlive: true, timeout: idleSocketTimeoutMs, maxFreeSockets: maxIdleSockets };
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');

  return {
    forConnection: (headers, query, id) => (body, number, answer) => {
      let response: IncomingMessage | null = null;
      let paused = false;
      let over = false;
      const broken = (reason: string) => {
        if (over) return;
        over = true;
        answer.broken(reason);
      };
      const request = (secure ? requestHttps : requestHttp)(url, {
        method: 'POST',
        path: url.pathname + query,
        agent,
        // Not the `host` of the client, which the headers below carry: it chooses the proxy's virtual host, as it did before.
        ...(secure ? { servername: hostname } : {}),
        headers: {
          ...headers,
          accept: 'text/event-stream',
          'content-type': 'application/json',
          'content-length': body.reduce((sum, { length }) => sum + length, 0),
          'x-request-id': `${id}-turn-${number}`,
        },
      });
      request.setNoDelay(true);
      request.on('error', (error: NodeJS.ErrnoException) => broken(error.code ?? error.message));
      request.on('response', (arrived) => {
        response = arrived;
        const { 'content-type': contentType = '', 'retry-after': retryAfter = null } = arrived.headers;
        answer.headers({ status: arrived.statusCode ?? 502, contentType, retryAfter });
        arrived.on('data', (bytes: Buffer) => over || answer.body(bytes));
        arrived.on('end', () => {
          if (over) return;
          over = true;
          answer.end();
        });
        arrived.on('error', () => {}); // `close` follows
        arrived.on('close', () => broken('it broke off'));
        if (paused) arrived.pause();
      });
      for (const piece of body) request.write(piece);
      request.end();
      return {
        pause() {
          paused = true;
          response?.pause();
        },
        resume() {
          paused = false;
          response?.resume();
        },
        abort() {
          over = true;
          request.destroy();
        },
      };
    },
    close: () => agent.destroy(),
  };
}
