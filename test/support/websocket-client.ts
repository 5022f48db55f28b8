import { once } from 'node:events';
import { WebSocket } from 'ws';

/** A message of the server. */
export type ServerMessage = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly response?: { readonly id: string; readonly [field: string]: unknown };
  readonly error?: Readonly<Record<string, unknown>>;
};

/** A client that records what it receives. */
export interface WebSocketClient {
  readonly socket: WebSocket;
  readonly received: readonly ServerMessage[];
  send(message: unknown): void;
  /** Sends a `response.create` and resolves with the messages of its answer, up to the last: its response's, or an error. */
  turn(fields: Readonly<Record<string, unknown>>): Promise<ServerMessage[]>;
  /** Waits for the message that satisfies the test, among those that no call has returned yet. */
  message(wanted: (message: ServerMessage) => boolean): Promise<ServerMessage>;
  /** How it was closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): Promise<void>;
}

/** Whether a turn's answer ends with this message: an `error` that is an event of the stream is followed by `response.failed`. */
function isLast({ type, sequence_number: number }: ServerMessage): boolean {
  if (type === 'error') return number === undefined;
  return ['response.completed', 'response.incomplete', 'response.failed'].includes(type);
}

/** Opens one; rejects with `HandshakeError` when the server refuses. */
export async function openWebSocket(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<WebSocketClient> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
  const received: ServerMessage[] = [];
  let given = 0;
  let wake = () => {};
  socket.on('message', (data, isBinary) => {
    if (isBinary) throw new Error('the server sent a binary message');
    received.push(JSON.parse(String(data)) as ServerMessage);
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => {
      resolve({ code, reason: String(reason) });
      wake();
    }),
  );
  const refused = new Promise<never>((_resolve, reject) => {
    socket.once('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (piece) => {
        body += piece;
      });
      response.on('end', () => reject(new HandshakeError(response.statusCode ?? 0, response.headers, body)));
    });
    socket.once('error', reject);
  });
  refused.catch(() => {});
  await Promise.race([once(socket, 'open'), refused]);

  async function next(): Promise<ServerMessage> {
    for (;;) {
      const message = received[given];
      if (message !== undefined) {
        given += 1;
        return message;
      }
      if (socket.readyState === WebSocket.CLOSED) {
        const { code, reason } = await closed;
        throw new Error(`The WebSocket is closed (${code} ${reason}) after ${JSON.stringify(received.slice(-3))}`);
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  const client: WebSocketClient = {
    socket,
    received,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async turn(fields) {
      client.send({ type: 'response.create', ...fields });
      const messages: ServerMessage[] = [];
      for (;;) {
        const message = await next();
        messages.push(message);
        if (isLast(message)) return messages;
      }
    },
    async message(wanted) {
      for (;;) {
        const message = await next();
        if (wanted(message)) return message;
      }
    },
    async close() {
      socket.close();
      await closed;
    },
  };
  return client;
}

/** The answer of a server that did not open a WebSocket. */
export class HandshakeError extends Error {
  override readonly name = 'HandshakeError';
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  constructor(status: number, headers: Readonly<Record<string, unknown>>, body: string) {
    super(`The handshake was answered with ${status}: ${body}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}
