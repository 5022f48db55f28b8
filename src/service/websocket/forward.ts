import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { ForwardTurn } from './turn.ts';

/** Stands between a connection's id and a turn's number, in the id of the turn's request. */
const infix = '-turn-';

export function writeTurnRequestId(connectionId: string, turn: number): string {
  return `${connectionId}${infix}${turn}`;
}

/** Reads the number of a turn from the id of its request; null for a request of another connection. */
export function readTurnNumber(requestId: string, connectionId: string): number | null {
  const start = connectionId + infix;
  return requestId.startsWith(start) ? Number(requestId.slice(start.length)) : null;
}

/** After this time without a byte, a connection to the proxy gets no new turns. */
const idleSessionMs = 4_000;

/**
 * Sends turns to the proxy at `baseUrl`, such as `http://127.0.0.1:10000/v1`, over HTTP/2, without TLS by prior knowledge. Over
 * HTTP/1.1, Envoy closes the connection of an answer that broke off only after its `delayed_close_timeout`.
 */
export function createForwarder(baseUrl: string) {
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/responses`);
  const sessions = new Set<ClientHttp2Session>();

  function openSession(): ClientHttp2Session {
    const session = connect(url, { settings: { enablePush: false } });
    sessions.add(session);
    session.on('error', () => {}); // each stream has an error of its own
    session.once('close', () => sessions.delete(session));
    session.setTimeout(idleSessionMs, () => session.close());
    return session;
  }

  return {
    /** Returns the function that sends the turns of a connection, with the headers and the query (from `?` on) of its handshake. */
    forConnection(headers: Readonly<Record<string, string>>, query: string, id: string): ForwardTurn {
      const { host = url.host, ...rest } = headers;
      let session: ClientHttp2Session | null = null;
      return (body, number, answer) => {
        if (session === null || session.closed || session.destroyed) session = openSession();
        let isOver = false;
        const end = (notify: () => void) => {
          if (isOver) return;
          isOver = true;
          notify();
        };
        const broken = (reason: string) => end(() => answer.broken(reason));
        const request = {
          ...rest,
          ':method': 'POST',
          // The client's host chooses the proxy's virtual host, as it did for the handshake.
          ':authority': host,
          ':path': url.pathname + query,
          accept: 'text/event-stream',
          'content-type': 'application/json',
          'content-length': body.reduce((sum, { length }) => sum + length, 0),
          'x-request-id': writeTurnRequestId(id, number),
        };
        let stream: ClientHttp2Stream;
        try {
          stream = session.request(request);
        } catch (error) {
          // The client has sent a header that HTTP/2 cannot carry.
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
