import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import type { OverloadGuard } from '../memory/overload.ts';
import { ClientSocket, type ClientSocketOptions } from './client-socket.ts';
import { type Conversations, createConversations } from './conversations.ts';
import { fromApiError, type TurnError, turnError } from './errors.ts';
import { createForwarder, readTurnNumber } from './forward.ts';
import {
  answerHttp,
  findHandshakeError,
  readForwardedHeaders,
  readIdentity,
  readQuery,
  refuseUpgrade,
} from './handshake.ts';

export interface WebSocketOptions extends ClientSocketOptions {
  readonly listen: { readonly host: string; readonly port: number } | { readonly path: string };
  /** The base URL of the proxy, to which turns are sent. */
  readonly forwardTo: string;
  readonly maxConnections: number;
  readonly maxMessageBytes: number;
  /** Origins from which browsers may connect; `*` for all. */
  readonly origins: readonly string[];
  readonly pingMs: number;
  readonly memory: ClientSocketOptions['memory'] & Pick<OverloadGuard, 'refusal' | 'setStore'>;
}

export type WebSocketEndpoint = Awaited<ReturnType<typeof startWebSocketEndpoint>>;

/** Each fragment of a message costs memory besides its bytes. Clients send one, or a few. */
const maxFragments = 1024;
/** Sockets beyond `maxConnections`, for health checks, and for handshakes that will be refused. */
const spareSockets = 256;

/** Listens for WebSockets. Rejects when the address is taken. */
export async function startWebSocketEndpoint(options: WebSocketOptions) {
  const { listen, maxConnections, memory, observer, origins, pingMs } = options;
  const forwarder = createForwarder(options.forwardTo);
  const conversations: Conversations = createConversations((bytes) => resized(bytes));
  const resized = memory.setStore((bytes) => conversations.evict(bytes));
  const sockets = new Set<ClientSocket>();
  let phase: 'open' | 'draining' | 'closing' = 'open';

  const server = createServer((request, response) => answerHttp(request, response, () => phase !== 'open'));
  server.maxConnections = maxConnections + spareSockets;
  const upgrades = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: options.maxMessageBytes,
    maxFragments,
    // Compression would cost 256 KiB for each connection, and events are small.
    perMessageDeflate: false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {}); // `close` follows each error
    try {
      const refusal = findRefusal(request);
      if (refusal === null)
        upgrades.handleUpgrade(request, socket, head, (webSocket) => accept(webSocket, socket, request));
      else {
        observer.refused({ ...readIdentity(request), turn: null, ...refusal }, null);
        refuseUpgrade(socket, refusal);
      }
    } catch (thrown) {
      observer.failed(thrown);
      socket.destroy();
    }
  });

  function findRefusal(request: IncomingMessage): TurnError | null {
    const error = findHandshakeError(request, origins);
    if (error !== null) return error;
    if (phase === 'closing')
      return turnError(503, 'server_shutting_down', 'The server is shutting down. Open a new connection.');
    if (sockets.size >= maxConnections)
      return turnError(503, 'server_overloaded', 'The gateway has too many connections. Try again later.');
    const overload = memory.refusal();
    return overload === null ? null : fromApiError(overload);
  }

  function accept(webSocket: WebSocket, socket: Socket, request: IncomingMessage): void {
    const { id: given, userAgent } = readIdentity(request);
    const id = given ?? randomUUID();
    const forward = forwarder.forConnection(readForwardedHeaders(request.rawHeaders), readQuery(request), id);
    const client = { id, userAgent, conversations, forward };
    const open = new ClientSocket(webSocket, socket, client, options);
    sockets.add(open);
    webSocket.once('close', () => sockets.delete(open));
  }

  const pings = setInterval(() => {
    for (const open of sockets) open.ping();
  }, pingMs).unref();

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, resolve);
  });
  return {
    /** `unix:PATH`, or `HOST:PORT` with the port that the system assigned. */
    address: formatAddress(server.address()),
    get connections() {
      return sockets.size;
    },
    get keptBytes() {
      return conversations.bytes;
    },
    get evictions() {
      return conversations.evictions;
    },
    /** Finds the client's message that became the request of this id, while its turn runs. */
    findMessage: (requestId: string) => findMessage(sockets, requestId),
    /**
     * Reports unhealthy at once, and accepts connections for `delayMs` more. Then ends each connection after its running turn, and cuts
     * those that are left after `timeoutMs`.
     */
    async drain(timeoutMs: number, delayMs: number): Promise<void> {
      phase = 'draining';
      await sleep(delayMs);
      phase = 'closing';
      await endAll(sockets, timeoutMs);
      clearInterval(pings);
      forwarder.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function findMessage(sockets: ReadonlySet<ClientSocket>, requestId: string): Buffer | null {
  for (const { id, connection } of sockets) {
    const turn = readTurnNumber(requestId, id);
    const message = turn === null ? null : connection.findMessage(turn);
    if (message !== null) return message;
  }
  return null;
}

async function endAll(sockets: ReadonlySet<ClientSocket>, timeoutMs: number): Promise<void> {
  const closed = [...sockets].map((open) => open.closed);
  for (const open of sockets) open.connection.end('shutdown');
  const cut = new AbortController();
  await Promise.race([Promise.all(closed), sleep(timeoutMs, null, { signal: cut.signal }).catch(() => {})]);
  cut.abort();
  for (const open of sockets) open.stop();
}

function formatAddress(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === 'string') return `unix:${bound}`;
  return `${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
