import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { ApiError } from '../../filter/index.ts';
import { type FlowEvent, type FlowPhase, flowMoves, isBlocked } from '../memory/flow-phases.ts';
import type { Admission, OverloadGuard } from '../memory/overload.ts';
import { Connection, type ConnectionHost, type ConnectionLimits, type EndReason } from './connection.ts';
import type { TurnError } from './errors.ts';
import { MessageBytes } from './message-bytes.ts';
import type { AnswerListener, ForwardedTurn, TurnOutcome } from './turn.ts';
import type { WebSocketObserver } from './websocket-observer.ts';

export interface ClientSocketOptions {
  readonly limits: ConnectionLimits;
  readonly lifetimeMs: number;
  /** How long a client may go without reading. */
  readonly writeTimeoutMs: number;
  /** The process's ledger, and its policy for memory. */
  readonly memory: Pick<OverloadGuard, 'enter' | 'worked'>;
  readonly observer: WebSocketObserver;
}

/** A client of the proxy's, as its handshake describes it. */
export interface Client extends Pick<ConnectionHost, 'conversations' | 'forward'> {
  readonly id: string;
  readonly userAgent: string | null;
}

/** Bytes pending for a client that reads slowly, above which its turns are paused. */
const maxUnsentBytes = 256 * 1024;
/** The largest number of bytes that one read of a socket gives. */
const fullReadBytes = 64 * 1024;
/** The codes with which a connection is closed for want of memory, and when the service stops before its turns have ended. */
const tryAgainLater = 1013;
const serviceRestart = 1012;
/** The codes for a client that sends too much, and for a defect of this side. */
const policyViolation = 1008;
const internalError = 1011;
/** How long the socket of a client that sends too much stays, unread, after the last message. */
const lingerMs = 1000;
const unread = 'client_does_not_read';

/** Connects a WebSocket to a `Connection`: messages, backpressure, the end. */
export class ClientSocket implements ConnectionHost {
  readonly id: string;
  readonly connection: Connection;
  /** Resolves when it is closed. */
  readonly over: Promise<void>;
  readonly limits: ConnectionHost['limits'];
  readonly conversations: ConnectionHost['conversations'];
  readonly #client: Client;
  readonly #options: ClientSocketOptions;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #account: Admission;
  readonly #bytes: MessageBytes;
  readonly #startedAt = performance.now();
  readonly #turns: Partial<Record<TurnOutcome, number>> = {};
  #flow: FlowPhase = 'open';
  /** Why this side ends it, and the code if it does so without a closing handshake. */
  #reason: string | null = null;
  #cutWith: number | null = null;
  /** The client has sent something since it was pinged last. */
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
    // While nothing is read, any activity is that the system has accepted more of what was written.
    socket.on('timeout', () => this.#terminate(unread));
    socket.on('drain', this.#onDrain);
    // Before the library reads them, and after that: a message that is complete has been answered, if only with an error.
    socket.prependListener('data', this.#beforeRead);
    socket.on('data', this.#afterRead);
    webSocket.on('message', this.#onMessage);
    webSocket.on('ping', this.#onControlFrame);
    webSocket.on('pong', this.#onControlFrame);
    // Protocol errors, and messages that are too large: the library answers with the close code.
    webSocket.on('error', (error: Error & { code?: string }) => {
      this.#reason ??= (error.code ?? 'protocol_error').toLowerCase();
    });
    const endLifetime = this.#guarded(() => {
      this.#reason = 'websocket_connection_limit_reached';
      this.connection.end('time_limit');
    });
    const lifetime = setTimeout(endLifetime, options.lifetimeMs).unref();
    this.over = new Promise((resolve) => {
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
    // Who floods this side would go on during a closing handshake.
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

  /** Ends it now, its turns with an error, because the service stops. */
  readonly stop = this.#guarded(() => this.#cut(serviceRestart, 'server_shutting_down', 'shutdown'));

  /** Pings the client; cuts the connection if it did not answer the last ping. */
  readonly ping = this.#guarded(() => {
    // Nothing is read from a client that does not read, so its pong would not be seen.
    if (this.#flow !== 'open' || this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    if (!this.#isAlive) {
      this.#terminate('no_pong');
      return;
    }
    this.#isAlive = false;
    this.#webSocket.ping();
  });

  /** Makes a handler of foreign bytes that never throws: a defect ends this connection alone, not the process with all others. */
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
      // Its turns cannot be ended either.
      this.#webSocket.terminate();
    }
  }

  #terminate(why: string): void {
    this.#reason ??= why;
    this.#webSocket.terminate();
  }

  /** Frees what the connection holds and reads nothing more. The client is sent why, unless it does not read. */
  #cut(code: number, why: string, told: EndReason | null): void {
    if (this.#flow === 'over') return;
    const socket = this.#socket;
    this.#cutWith = code;
    this.#reason ??= why;
    // What it has not read would stay in memory for as long as the closing handshake may take.
    while (socket.writableCorked > 0) socket.uncork();
    const reads = socket.writableLength === 0;
    this.#move('end');
    this.connection.abort(reads ? told : null);
    if (!reads) {
      this.#webSocket.terminate();
      return;
    }
    this.#webSocket.close(code, why);
    if (code === policyViolation) {
      // While there are bytes of the client that nobody reads, the end of the socket discards what was written: it gets time to read it.
      socket.end();
      setTimeout(() => socket.destroy(), lingerMs).unref();
    } else socket.destroySoon();
  }

  #move(event: FlowEvent): void {
    this.#flow = flowMoves[this.#flow][event][0];
    this.#read();
  }

  /** Reads on or stops reading: messages, whose answers would wait as well, and answers. */
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
    // More is there: it would all be read now, 32 such pieces of each connection, before anybody else has a turn.
    if (bytes.length < fullReadBytes) return;
    this.#webSocket.pause();
    setImmediate(this.#guarded(() => this.#read()));
  });

  readonly #afterRead = this.#guarded(() => {
    const overload = this.#flow === 'over' ? null : this.#bytes.tell();
    if (overload !== null) this.#cut(tryAgainLater, overload.code, null);
  });

  readonly #onControlFrame = this.#guarded((payload: Buffer) => {
    // The library ends a connection whose client reads no pongs, and does not say so.
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
