import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ApiError } from '../../filter/index.ts';
import type { OverloadGuard } from '../memory/overload.ts';
import { type ConnectionHost, type ConnectionLimits, createConnection, type Farewell } from './connection.ts';
import { type Conversations, createConversations } from './conversations.ts';
import { type TurnError, turnError, turnErrorOf } from './errors.ts';
import { createForwarder, turnOfRequest } from './forward.ts';
import { forwardedHeaders, isHost } from './forwarded-headers.ts';
import type { TurnOutcome } from './turn.ts';

export interface WebSocketOptions {
  readonly listen: { readonly host: string; readonly port: number } | { readonly path: string };
  /** The proxy's base URL, to which turns go. */
  readonly forwardTo: string;
  readonly limits: ConnectionLimits;
  readonly maxConnections: number;
  /** The largest message, in bytes. */
  readonly maxMessageBytes: number;
  /** Origins from which browsers may connect; `*` for all. */
  readonly origins: readonly string[];
  readonly lifetimeMs: number;
  readonly pingMs: number;
  /** How long a client may go without reading. */
  readonly writeTimeoutMs: number;
  /** The process's ledger, and its policy for memory. */
  readonly memory: Pick<OverloadGuard, 'refusal' | 'enter' | 'setStore' | 'worked'>;
  readonly observer: WebSocketObserver;
}

/** Callbacks for log and metrics. */
export interface WebSocketObserver {
  closed(connection: ClosedConnection): void;
  turnEnded(outcome: TurnOutcome): void;
  /** A defect: a handler has thrown this, and its connection has ended. */
  failed(thrown: unknown): void;
  /** A handshake was refused, or this message: one that is no turn, or a turn of which the proxy was not asked. */
  refused(refusal: WebSocketRefusal, message: Buffer | null): void;
}

/** An error sent on the connection with that id, as in `ClosedConnection`; null where the handshake had none. */
export type WebSocketRefusal = TurnError & { readonly id: string | null; readonly userAgent: string | null };

/** A closed connection. */
export interface ClosedConnection {
  /** Prefix of its turns' request ids; `-turn-` and a number follow. */
  readonly id: string;
  /** The WebSocket's close code; 1006 when there was no closing handshake. */
  readonly code: number;
  /** Why this side ended it; null when the client did. */
  readonly reason: string | null;
  readonly durationMs: number;
  readonly turns: Readonly<Partial<Record<TurnOutcome, number>>>;
  /** Bytes on the socket, frames included. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export type WebSocketEndpoint = Awaited<ReturnType<typeof startWebSocketEndpoint>>;

/** Bytes pending for a client that reads slowly, above which its turns are paused. */
const maxUnsentBytes = 256 * 1024;
/** The largest number of bytes that one read of a socket gives. */
const fullReadBytes = 64 * 1024;
/** Bytes that an open connection takes with nothing in it: its socket, its buffers, the objects around it. */
const connectionBytes = 20 * 1024;
/** Bytes that a frame has beside its payload, at least. */
const frameHeadBytes = 6;
/** The codes with which a connection is closed for want of memory, and when the service stops before its turns have ended. */
const tryAgainLater = 1013;
const serviceRestart = 1012;
/** The codes for a client that sends too much, and for a defect of this side. */
const policyViolation = 1008;
const internalError = 1011;
/** A message may be so many fragments: each costs memory besides its bytes, and clients send one, or a few. */
const maxFragments = 1024;
/** Sockets beyond the connections that may be open: handshakes, health checks, and those that are refused. */
const spareSockets = 256;
/** How long the socket of a client that sends too much stays, unread, after the last message. */
const lingerMs = 1000;
const unread = 'client_does_not_read';
const responsesPath = /\/responses\/?$/;
/** Client ids that are safe to repeat in logs and headers. */
const usableId = /^[\w.:-]{1,128}$/;

function idOf({ headers: { 'x-request-id': id } }: IncomingMessage): string | null {
  return typeof id === 'string' && usableId.test(id) ? id : null;
}

/** Starts the server of WebSockets. Rejects when the address is taken. */
export async function startWebSocketEndpoint(options: WebSocketOptions) {
  const { listen, maxConnections, memory, observer, origins, pingMs } = options;
  const forwarder = createForwarder(options.forwardTo);
  const conversations: Conversations = createConversations((bytes) => resized(bytes));
  const resized = memory.setStore((bytes) => conversations.evict(bytes));
  const sockets = new Set<OpenSocket>();
  let draining = false;
  let accepting = true;

  const server = createServer((request, response) => answerHttp(request, response, () => draining));
  server.maxConnections = maxConnections + spareSockets;
  const upgrades = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: options.maxMessageBytes,
    maxFragments,
    // Events are small: compression would cost 256 KiB for each connection.
    perMessageDeflate: false,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {}); // `close` follows
    try {
      const refusal = refusalOf(request);
      if (refusal === null)
        upgrades.handleUpgrade(request, socket, head, (webSocket) => accept(webSocket, socket, request));
      else {
        observer.refused({ id: idOf(request), userAgent: userAgentOf(request), ...refusal }, null);
        refuseUpgrade(socket, refusal);
      }
    } catch (thrown) {
      observer.failed(thrown);
      socket.destroy();
    }
  });

  function refusalOf({ headers, url = '' }: IncomingMessage): TurnError | null {
    if (!responsesPath.test(url.split('?', 1)[0] ?? ''))
      return turnError(404, 'not_found', 'WebSockets are served at /v1/responses.');
    const { origin, host } = headers;
    if (!isHost(host))
      return turnError(400, 'invalid_host', 'The `Host` must be a name or an address, with a port or none.');
    if (origin !== undefined && !origins.includes('*') && !origins.includes(origin))
      return turnError(
        403,
        'origin_not_allowed',
        'Pages of this origin may not connect, unless the gateway’s WEBSOCKET_ORIGINS lists it.',
      );
    if (!accepting) return turnError(503, 'server_shutting_down', 'The server is going away: connect again.');
    if (sockets.size >= maxConnections)
      return turnError(503, 'server_overloaded', 'The gateway has too many connections: try again later.');
    const short = memory.refusal();
    return short === null ? null : turnErrorOf(short);
  }

  function accept(webSocket: WebSocket, socket: Socket, request: IncomingMessage): void {
    const id = idOf(request) ?? randomUUID();
    const query = /\?.*$/s.exec(request.url ?? '')?.[0] ?? '';
    const forward = forwarder.forConnection(forwardedHeaders(request.rawHeaders), query, id);
    const open = openSocket(webSocket, socket, id, options, {
      conversations,
      forward,
      userAgent: userAgentOf(request),
    });
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
    /** `HOST:PORT` with the port that the system gave, or `unix:PATH`. */
    address: addressOf(server.address()),
    get connections() {
      return sockets.size;
    },
    get keptBytes() {
      return conversations.bytes;
    },
    get evictions() {
      return conversations.evictions;
    },
    /** The client's message that became the request of this id, as it came, while its turn runs; null for any other. */
    messageOf(requestId: string): Buffer | null {
      for (const { id, connection } of sockets) {
        const turn = turnOfRequest(requestId, id);
        const message = turn === null ? null : connection.messageOf(turn);
        if (message !== null) return message;
      }
      return null;
    },
    /**
     * Reports unhealthy at once, still accepts connections for `delayMs`, then ends each connection after its running turn;
     * those left after another `timeoutMs` are cut.
     */
    async drain(timeoutMs: number, delayMs: number): Promise<void> {
      draining = true;
      await sleep(delayMs);
      accepting = false;
      const closed = [...sockets].map(({ over }) => over);
      for (const open of sockets) open.connection.end('shutdown');
      const cut = new AbortController();
      await Promise.race([Promise.all(closed), sleep(timeoutMs, null, { signal: cut.signal }).catch(() => {})]);
      cut.abort();
      for (const open of sockets) open.stop();
      clearInterval(pings);
      forwarder.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

type OpenSocket = ReturnType<typeof openSocket>;

/** Connects a WebSocket to a `Connection`: messages, backpressure, the end. */
function userAgentOf({ headers }: IncomingMessage): string | null {
  return headers['user-agent'] ?? null;
}

function openSocket(
  webSocket: WebSocket,
  socket: Socket,
  id: string,
  { lifetimeMs, limits, memory, observer, writeTimeoutMs }: WebSocketOptions,
  { userAgent, ...shared }: Pick<ConnectionHost, 'conversations' | 'forward'> & { readonly userAgent: string | null },
) {
  const startedAt = performance.now();
  const turns: Partial<Record<TurnOutcome, number>> = {};
  let reason: string | null = null;
  let alive = true;
  let blocked = false;
  /** Memory is short: nothing is read. */
  let isPaused = false;
  /** The code with which it was closed without a closing handshake. */
  let cutWith: number | null = null;
  /** Bytes of a message that has not arrived completely, and of those whose turns have not ended, with what these keep. */
  let arriving = 0;
  let lastRead = 0;
  let messages = 0;
  /** The part of them that the proxy has not taken. */
  let untaken = 0;

  const account = memory.enter({
    pause: guarded(() => {
      isPaused = true;
      read();
    }),
    resume: guarded(() => {
      isPaused = false;
      read();
    }),
    shed: guarded(({ code }: ApiError) => cutNow(tryAgainLater, code, null)),
    mayTakeLong: true,
  });
  account.hold(connectionBytes);

  /** Tells what it holds. Returns the error for its client if there is no room for that; until it is gone, it still counts. */
  function tell(): ApiError | null {
    const bytes = connectionBytes + arriving + messages;
    const overload = account.hold(bytes, arriving + untaken);
    if (overload !== null) account.hold(bytes);
    return overload;
  }

  /** Makes a handler of foreign bytes that never throws: a defect ends this connection alone, not the process with all others. */
  function guarded<Given extends unknown[]>(handle: (...given: Given) => void): (...given: Given) => void {
    return (...given) => {
      try {
        handle(...given);
      } catch (thrown) {
        observer.failed(thrown);
        fail();
      }
    };
  }

  function fail(): void {
    try {
      cutNow(internalError, 'internal_error', null);
    } catch {
      // Its turns cannot be ended either.
      webSocket.terminate();
    }
  }

  const connection = createConnection({
    ...shared,
    forward: (body, number, answer) =>
      shared.forward(body, number, {
        headers: guarded((head) => answer.headers(head)),
        body: guarded((bytes) => answer.body(bytes)),
        end: guarded(() => answer.end()),
        broken: guarded((why) => answer.broken(why)),
      }),
    limits,
    send(text) {
      if (webSocket.readyState !== webSocket.OPEN) return;
      // Events that arrive together leave in one write.
      if (socket.writableCorked === 0) {
        socket.cork();
        process.nextTick(() => socket.uncork());
      }
      webSocket.send(text);
      if (!blocked && socket.writableLength > maxUnsentBytes) {
        blocked = true;
        socket.setTimeout(writeTimeoutMs);
        read();
      }
      if (blocked) account.setUnsent(socket.writableLength);
    },
    close(code, why) {
      reason ??= why;
      // Who floods this side would go on during a closing handshake.
      if (code === policyViolation) cutNow(code, why, null);
      else webSocket.close(code, why);
    },
    hold(bytes, ofMessage) {
      messages += bytes;
      untaken += ofMessage;
      const overload = tell();
      if (overload === null || ofMessage <= 0) return null;
      messages -= bytes;
      untaken -= ofMessage;
      tell();
      return overload;
    },
    refused: (error, message) => observer.refused({ id, userAgent, ...error }, message),
    turnEnded(outcome) {
      turns[outcome] = (turns[outcome] ?? 0) + 1;
      observer.turnEnded(outcome);
    },
  });

  function cut(why: string): void {
    reason ??= why;
    webSocket.terminate();
  }

  /** Frees what the connection holds and reads nothing more. The client is sent why, unless it does not read. */
  function cutNow(code: number, why: string, farewell: Farewell | null): void {
    if (cutWith !== null) return;
    cutWith = code;
    reason ??= why;
    // What it has not read would stay in memory for as long as the closing handshake may take.
    while (socket.writableCorked > 0) socket.uncork();
    const reads = socket.writableLength === 0;
    connection.abort(reads ? farewell : null);
    read();
    if (!reads) {
      webSocket.terminate();
      return;
    }
    webSocket.close(code, why);
    if (code === policyViolation) {
      // While there are bytes of the client that nobody reads, the end of the socket discards what was written: it gets time to read it.
      socket.end();
      setTimeout(() => socket.destroy(), lingerMs).unref();
    } else socket.destroySoon();
  }

  /** Reads on or stops reading: messages, whose answers would wait as well, and answers. */
  function read(): void {
    const isHalted = blocked || isPaused || cutWith !== null;
    connection.setBlocked(isHalted);
    if (isHalted) webSocket.pause();
    else webSocket.resume();
  }

  // While nothing is read, any activity is that the system has accepted more of what was written.
  socket.on(
    'timeout',
    guarded(() => cut(unread)),
  );
  socket.on(
    'drain',
    guarded(() => {
      account.setUnsent(0);
      if (!blocked) return;
      blocked = false;
      socket.setTimeout(0);
      read();
    }),
  );

  // Before the library reads them.
  socket.prependListener(
    'data',
    guarded((bytes: Buffer) => {
      alive = true;
      arriving += bytes.length;
      lastRead = bytes.length;
      memory.worked(bytes.length);
      // More is there: it would all be read now, 32 such pieces of each connection, before anybody else has a turn.
      if (bytes.length < fullReadBytes) return;
      webSocket.pause();
      setImmediate(guarded(read));
    }),
  );
  // After that: a message that is complete has been answered, if only with an error.
  socket.on(
    'data',
    guarded(() => {
      const overload = cutWith === null ? tell() : null;
      if (overload !== null) cutNow(tryAgainLater, overload.code, null);
    }),
  );

  /** A frame of control is not a part of the message that it came in. */
  const control = guarded((payload: Buffer) => {
    // The library ends a connection whose client reads no pongs, and does not say so.
    if (socket.destroyed) reason ??= unread;
    if (cutWith !== null) return;
    arriving = Math.max(arriving - payload.length - frameHeadBytes, 0);
    tell();
  });

  webSocket.on(
    'message',
    guarded((data: Buffer, isBinary: boolean) => {
      if (cutWith !== null) return;
      // What is left came with the end of this one, and is the beginning of the next.
      arriving = Math.min(Math.max(arriving - data.length, 0), lastRead);
      tell();
      if (webSocket.readyState !== webSocket.OPEN) return;
      if (isBinary) {
        reason ??= 'binary_message';
        webSocket.close(1003, 'Only text messages are accepted.');
      } else connection.message(data);
    }),
  );
  webSocket.on('ping', control);
  webSocket.on('pong', control);
  // Protocol errors, and messages that are too large: the library answers with the close code.
  webSocket.on('error', (error: Error & { code?: string }) => {
    reason ??= (error.code ?? 'protocol_error').toLowerCase();
  });
  const endLifetime = guarded(() => {
    reason = 'websocket_connection_limit_reached';
    connection.end('time_limit');
  });
  const lifetime = setTimeout(endLifetime, lifetimeMs).unref();
  const over = new Promise<void>((resolve) => {
    webSocket.once('close', (code) => {
      clearTimeout(lifetime);
      resolve();
      guarded(() => {
        account.release();
        if (cutWith === null) connection.abort(null);
        const { bytesRead: bytesIn, bytesWritten: bytesOut } = socket;
        const durationMs = performance.now() - startedAt;
        observer.closed({ id, code: cutWith ?? code, reason, durationMs, turns, bytesIn, bytesOut });
      })();
    });
  });

  return {
    id,
    connection,
    over,
    /** Ends it now, its turns with an error, because the service stops. */
    stop: guarded(() => cutNow(serviceRestart, 'server_shutting_down', 'shutdown')),
    /** Pings the client; cuts the connection if it did not answer the last ping, or does not read. */
    ping: guarded(() => {
      // Nothing is read from a client that does not read, so its pong would not be seen.
      if (blocked || isPaused || webSocket.readyState !== webSocket.OPEN) return;
      if (!alive) {
        cut('no_pong');
        return;
      }
      alive = false;
      webSocket.ping();
    }),
  };
}

/** Answers a rejected handshake. */
function refuseUpgrade(socket: Duplex, { status, headers, error }: TurnError): void {
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
function answerHttp(request: IncomingMessage, response: ServerResponse, isDraining: () => boolean): void {
  if (request.url === '/healthz') {
    const status = isDraining() ? 503 : 200;
    response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 200 ? 'ok\n' : 'draining\n');
    return;
  }
  const message = 'This is the listener for WebSockets: HTTP requests go to the proxy.';
  const { status, error } = turnError(426, 'websocket_required', message);
  const headers = { 'content-type': 'application/json', upgrade: 'websocket', connection: 'close' };
  response.writeHead(status, headers).end(JSON.stringify({ error }));
}

function addressOf(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === 'string') return `unix:${bound}`;
  return `${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
