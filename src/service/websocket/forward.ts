import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { ForwardTurn } from './turn.ts';

/** Between a connection's id and a turn's number, in the id of the turn's request. */
const infix = '-turn-';

/** The id of the request of a connection's turn. */
export function requestOfTurn(connectionId: string, turn: number): string {
  return `${connectionId}${infix}${turn}`;
}

/** The number of the turn whose request has this id; null if it is none of that connection's. */
export function turnOfRequest(requestId: string, connectionId: string): number | null {
  const start = connectionId + infix;
  return requestId.startsWith(start) ? Number(requestId.slice(start.length)) : null;
}

/** A connection to the proxy takes no new turns after so long without a byte. */
const idleSessionMs = 4_000;

/**
 * Sends turns to the proxy. `baseUrl` is the proxy's, such as `http://127.0.0.1:10000/v1`. It is spoken to in HTTP/2, with prior knowledge where there is
 * no TLS: over HTTP/1.1 Envoy tells of an answer that broke off only after its `delayed_close_timeout`.
 */
export function createForwarder(baseUrl: string) {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/responses`);
  const sessions = new Set<ClientHttp2Session>();

  function openSession(): ClientHttp2Session {
    const session = connect(url, { settings: { enablePush: false } });
    sessions.add(session);
    session.on('error', () => {}); // its streams are told
    session.once('close', () => sessions.delete(session));
    session.setTimeout(idleSessionMs, () => session.close());
    return session;
  }

  return {
    /** For one connection: `headers` are its handshake's, `query` is its URL's with the `?`, `id` begins its turns' request ids. */
    forConnection(headers: Readonly<Record<string, string>>, query: string, id: string): ForwardTurn {
      const { host = url.host, ...rest } = headers;
      let session: ClientHttp2Session | null = null;
      return (body, number, answer) => {
        if (session === null || session.closed || session.destroyed) session = openSession();
        let isOver = false;
        const end = (tell: () => void) => {
          if (isOver) return;
          isOver = true;
          tell();
        };
        const broken = (reason: string) => end(() => answer.broken(reason));
        const request = {
          ...rest,
          ':method': 'POST',
          // The client's: it chooses the proxy's virtual host, as it did before.
          ':authority': host,
          ':path': url.pathname + query,
          accept: 'text/event-stream',
          'content-type': 'application/json',
          'content-length': body.reduce((sum, { length }) => sum + length, 0),
          'x-request-id': requestOfTurn(id, number),
        };
        let stream: ClientHttp2Stream;
        try {
          stream = session.request(request);
        } catch (error) {
          // A header of the client's that HTTP/2 cannot carry.
          broken((error as Error).message);
          return { pause() {}, resume() {}, abort() {} };
        }
        let isAnswered = false;
        stream.on('response', (head) => {
          if (isOver) return;
          isAnswered = true;
          const { ':status': status = 502, 'content-type': contentType = '', 'retry-after': retryAfter = null } = head;
          answer.headers({ status, contentType, retryAfter });
        });
        stream.on('data', (bytes: Buffer) => isOver || answer.body(bytes));
        stream.on('end', () => (isAnswered ? end(() => answer.end()) : broken('it broke off')));
        stream.on('error', ({ cause, message }) => broken(cause instanceof Error ? cause.message : message));
        stream.on('close', () => broken('it broke off'));
        for (const piece of body) stream.write(piece);
        stream.end();
        return {
          pause: () => stream.pause(),
          resume: () => stream.resume(),
          abort() {
            isOver = true;
            stream.close(constants.NGHTTP2_CANCEL);
          },
        };
      };
    },
    close() {
      for (const session of sessions) session.destroy();
    },
  };
}
