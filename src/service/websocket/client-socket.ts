import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { ApiError } from '../../filter/index.ts';
import { type FlowEvent, type FlowPhase, flowMoves, isBlocked } from '../memory/flow-phases.ts';
import type { Admission, OverloadGuard } from '../memory/overload.ts';
import { Connection, type ConnectionLimits, type ConnectionSocket, type EndReason } from './connection.ts';
import type { TurnError } from './errors.ts';
import { MessageBytes } from './message-bytes.ts';
import type { AnswerListener, ForwardedTurn, TurnOutcome } from './turn.ts';

export interface ClientSocketOptions {
  readonly limits: ConnectionLimits;
  readonly lifetimeMs: number;
  /** Time after which a client that does not read is cut. */
  readonly writeTimeoutMs: number;
  readonly memory: Pick<OverloadGuard, 'enter' | 'worked'>;
  readonly observer: WebSocketObserver;
}

export interface WebSocketObserver {
  closed(connection: ClosedConnection): void;
  turnEnded(outcome: TurnOutcome): void;
  /** Called with what a handler has thrown, which is a defect and has ended its connection. */
  failed(thrown: unknown): void;
  /** Called for a refused handshake, and for a message for which the proxy was not asked. */
  refused(refusal: WebSocketRefusal, message: Buffer | null): void;
}

/** The error that answered a handshake or a message. */
export interface WebSocketRefusal extends TurnError {
  /** The id of the connection; null where a refused handshake had none. */
  readonly id: string | null;
  /** The number of the turn; null for a handshake, and for a message that did not become a turn. */
  readonly turn: number | null;
  readonly userAgent: string | null;
}

export interface ClosedConnection {
  /** The ids of its turns' requests begin with this id; `-turn-` and a number follow. */
  readonly id: string;
  /** The close code of the WebSocket; 1006 if there was no closing handshake. */
  readonly code: number;
  /** Why the service ended the connection; null if the client did. */
  readonly reason: string | null;
  readonly durationMs: number;
  readonly turns: Readonly<Partial<Record<TurnOutcome, number>>>;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** What a connection has of its handshake. */
interface Client extends Pick<ConnectionSocket, 'conversations' | 'forward'> {
  readonly id: string;
  readonly userAgent: string | null;
}

/** Above this many bytes that a client has yet to read, its turns are paused. */
const maxUnsentBytes = 256 * 1024;
/** The most bytes that one read of a socket gives. */
const fullReadBytes = 64 * 1024;
// Close codes: too many refused messages, a defect, the end of the service, want of memory.
const [policyViolation, internalError, serviceRestart, tryAgainLater] = [1008, 1011, 1012, 1013];
/** Time that a client gets to read the last message before its socket is destroyed. */
const lingerMs = 1000;
const unread = 'client_does_not_read';

/** Connects a WebSocket to its `Connection`, and does what concerns the socket: backpressure, memory, pings, the close. */
export class ClientSocket implements ConnectionSocket {
  readonly id: string;
  readonly connection: Connection;
  readonly closed: Promise<void>;
  readonly limits: ConnectionSocket['limits'];
  readonly conversations: ConnectionSocket['conversations'];
  readonly #client: Client;
  readonly #options: ClientSocketOptions;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #account: Admission;
  readonly #bytes: MessageBytes;
  readonly #startedAt = performance.now();
  readonly #turns: Partial<Record<TurnOutcome, number>> = {};
  #flow: FlowPhase = 'open';
  #reason: string | null = null;
  /** The close code of a connection that was cut. */
  #cutWith: number | null = null;
  #isAlive = true;

  constructor(webSocket: WebSocket, socket: Socket, client: Client, options: ClientSocketOptions) {
    this.id = client.id;
    this.limits = options.limits;
    this.conversations = client.conversations;
    this.#client = client;
    this.#options = options;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#account = options.memory.enter({
      pause: this.#guarded(() => this.#move('pause')),
      resume: this.#guarded(() => this.#move('resume')),
      shed: this.#guarded(({ code }: ApiError) => this.#cut(tryAgainLater, code, null)),
      mayTakeLong: true,
    });
    this.#bytes = new MessageBytes(this.#account);
    this.connection = new Connection(this);
    // The timeout is set while the socket is not read. Then its only activity is that the client reads.
    socket.on('timeout', () => this.#terminate(unread));
    socket.on('drain', this.#onDrain);
    // The library reads the bytes between the two listeners, and answers a complete message.
    socket.prependListener('data', this.#beforeRead);
    socket.on('data', this.#afterRead);
    webSocket.on('message', this.#onMessage);
    webSocket.on('ping', this.#onControlFrame);
    webSocket.on('pong', this.#onControlFrame);
    // The library closes the connection after a protocol error, and after a message that is too large.
    webSocket.on('error', (error: Error & { code?: string }) => {
      this.#reason ??= (error.code ?? 'protocol_error').toLowerCase();
    });
    const endLifetime = this.#guarded(() => {
      this.#reason = 'websocket_connection_limit_reached';
      this.connection.end('time_limit');
    });
    const lifetime = setTimeout(endLifetime, options.lifetimeMs).unref();
    this.closed = new Promise((resolve) => {
      webSocket.once('close', (code) => {
        clearTimeout(lifetime);
        resolve();
        this.#onClose(code);
      });
    });
  }

  forward(body: readonly Buffer[], number: number, answer: AnswerListener): ForwardedTurn {
    return this.#client.forward(body, number, {
      headers: this.#guarded((head) => answer.headers(head)),
      body: this.#guarded((bytes) => answer.body(bytes)),
      end: this.#guarded(() => answer.end()),
      broken: this.#guarded((why) => answer.broken(why)),
    });
  }

  send(text: string): void {
    const socket = this.#socket;
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    // Events that arrive together leave in one write.
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    this.#webSocket.send(text);
    if (!isBlocked(this.#flow) && socket.writableLength > maxUnsentBytes) {
      socket.setTimeout(this.#options.writeTimeoutMs);
      this.#move('fill');
    }
    if (isBlocked(this.#flow)) this.#account.setUnsent(socket.writableLength);
  }

  close(code: number, why: string): void {
    this.#reason ??= why;
    // A client that floods the service would go on during a closing handshake.
    if (code === policyViolation) this.#cut(code, why, null);
    else this.#webSocket.close(code, why);
  }

  hold(bytes: number, untaken: number): ApiError | null {
    return this.#bytes.hold(bytes, untaken);
  }

  refused(error: TurnError, message: Buffer | null, turn: number | null): void {
    const { id, userAgent } = this.#client;
    this.#options.observer.refused({ id, turn, userAgent, ...error }, message);
  }

  turnEnded(outcome: TurnOutcome): void {
    this.#turns[outcome] = (this.#turns[outcome] ?? 0) + 1;
    this.#options.observer.turnEnded(outcome);
  }

  /** Ends the connection, and its turns with an error, because the service stops. */
  readonly stop = this.#guarded(() => this.#cut(serviceRestart, 'server_shutting_down', 'shutdown'));

  /** Pings the client, or cuts the connection if the last ping had no answer. */
  readonly ping = this.#guarded(() => {
    // While the socket is not read, no pong would be seen.
    if (this.#flow !== 'open' || this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    if (!this.#isAlive) {
      this.#terminate('no_pong');
      return;
    }
    this.#isAlive = false;
    this.#webSocket.ping();
  });

  /** Returns a handler that never throws, so that a defect ends this connection and not the process with all others. */
  #guarded<Given extends unknown[]>(handle: (...given: Given) => void): (...given: Given) => void {
    return (...given) => {
      try {
        handle(...given);
      } catch (thrown) {
        this.#options.observer.failed(thrown);
        this.#fail();
      }
    };
  }

  #fail(): void {
    try {
      this.#cut(internalError, 'internal_error', null);
    } catch {
      // The defect may be in what ends the turns.
      this.#webSocket.terminate();
    }
  }

  #terminate(why: string): void {
    this.#reason ??= why;
    this.#webSocket.terminate();
  }

  /** Frees what the connection holds, and reads nothing more. A client that reads gets the close code, and `told` as an error. */
  #cut(code: number, why: string, told: EndReason | null): void {
    if (this.#flow === 'over') return;
    const socket = this.#socket;
    this.#cutWith = code;
    this.#reason ??= why;
    while (socket.writableCorked > 0) socket.uncork();
    // Unread bytes would stay in memory during a closing handshake.
    const isRead = socket.writableLength === 0;
    this.#move('end');
    this.connection.abort(isRead ? told : null);
    if (!isRead) {
      this.#webSocket.terminate();
      return;
    }
    this.#webSocket.close(code, why);
    if (code === policyViolation) {
      // The client has sent bytes that nobody reads, so destroying the socket at once would discard what was written.
      socket.end();
      setTimeout(() => socket.destroy(), lingerMs).unref();
    } else socket.destroySoon();
  }

  #move(event: FlowEvent): void {
    this.#flow = flowMoves[this.#flow][event][0];
    this.#read();
  }

  #read(): void {
    const isHalted = this.#flow !== 'open';
    this.connection.setBlocked(isHalted);
    if (isHalted) this.#webSocket.pause();
    else this.#webSocket.resume();
  }

  readonly #onDrain = this.#guarded(() => {
    this.#account.setUnsent(0);
    if (!isBlocked(this.#flow)) return;
    this.#socket.setTimeout(0);
    this.#move('drain');
  });

  readonly #beforeRead = this.#guarded((bytes: Buffer) => {
    this.#isAlive = true;
    this.#bytes.read(bytes.length);
    this.#options.memory.worked(bytes.length);
    // After a full read, Node would read up to 31 more pieces of this connection before it serves the next.
    if (bytes.length < fullReadBytes) return;
    this.#webSocket.pause();
    setImmediate(this.#guarded(() => this.#read()));
  });

  readonly #afterRead = this.#guarded(() => {
    const overload = this.#flow === 'over' ? null : this.#bytes.tell();
    if (overload !== null) this.#cut(tryAgainLater, overload.code, null);
  });

  readonly #onControlFrame = this.#guarded((payload: Buffer) => {
    // The library ends the connection of a client that reads no pongs, without an error.
    if (this.#socket.destroyed) this.#reason ??= unread;
    if (this.#flow !== 'over') this.#bytes.onControlFrame(payload.length);
  });

  readonly #onMessage = this.#guarded((data: Buffer, isBinary: boolean) => {
    if (this.#flow === 'over') return;
    this.#bytes.onMessage(data.length);
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    if (isBinary) {
      this.#reason ??= 'binary_message';
      this.#webSocket.close(1003, 'Only text messages are accepted.');
    } else this.connection.message(data);
  });

  readonly #onClose = this.#guarded((code: number) => {
    this.#account.release();
    if (this.#flow !== 'over') this.connection.abort(null);
    const { bytesRead: bytesIn, bytesWritten: bytesOut } = this.#socket;
    const durationMs = performance.now() - this.#startedAt;
    const how = { code: this.#cutWith ?? code, reason: this.#reason, durationMs };
    this.#options.observer.closed({ id: this.id, ...how, turns: this.#turns, bytesIn, bytesOut });
  });
}
