import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type StatusObject, status } from '@grpc/grpc-js';
import { type FlowEvent, type FlowPhase, flowMoves, isBlocked } from '../memory/flow-phases.ts';
import type { CallMetadata } from '../telemetry/observer.ts';
import { MessageFrameError, MessageFrameReader, putFrameHead } from './message-frames.ts';

export type GrpcCall = Pick<Http2Call, keyof Http2Call>;

type CallStatus = Pick<StatusObject, 'code' | 'details'>;

export interface GrpcCallListener {
  message(bytes: Buffer): void;
  /** The caller does not read: `bytes` are pending for it. `drained` follows once it has read them. */
  blocked(bytes: number): void;
  drained(): void;
  /** The caller sends nothing more. */
  halfClosed(): void;
  /** The call is over, whoever ended it. May be called more than once. */
  closed(): void;
}

interface AcceptOptions {
  /** A longer message ends the call. */
  readonly maxMessageBytes: number;
  accept(call: GrpcCall): GrpcCallListener;
  /** Called with what a listener throws, which ends the call; other calls go on. */
  onFault(thrown: unknown): void;
}

/**
 * Answers a new HTTP/2 stream as a gRPC call (“gRPC over HTTP/2”).
 *
 * Fast path: grpc-js's own calls copy each message twice, pass it through a promise and an object stream, and need metadata,
 * interceptors and a duplex stream. Decision 5 (docs/decisions) has the costs, and says when to go back to such calls.
 */
export function acceptCall(stream: ServerHttp2Stream, headers: CallMetadata, options: AcceptOptions): void {
  // `close` follows each error; nothing can be sent by then.
  stream.on('error', ignore);
  if (headers['content-type']?.startsWith('application/grpc') !== true)
    stream.respond({ ':status': constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
  else new Http2Call(stream, headers, options);
}

function ignore(): void {}

/** High-water mark of the pending bytes of one call. */
const maxUnsentBytes = 64 * 1024;
const noopListener: GrpcCallListener = { message() {}, blocked() {}, drained() {}, halfClosed() {}, closed() {} };

const responseHeaders = Object.freeze({ ':status': 200, 'content-type': 'application/grpc+proto' });
const responseOptions = { waitForTrailers: true };

/** A call of a bidirectional streaming method, which reads and writes messages on the HTTP/2 stream itself. */
class Http2Call {
  readonly metadata: CallMetadata;
  readonly #stream: ServerHttp2Stream;
  readonly #reader: MessageFrameReader;
  readonly #onFault: (thrown: unknown) => void;
  #listener = noopListener;
  /** The frame to send, nearly always the only one. With more, `#more` has all of them. */
  #unsent: Buffer | null = null;
  #more: Buffer[] | null = null;
  #deadline: NodeJS.Timeout | null = null;
  #isReading = false;
  #flow: FlowPhase = 'open';

  constructor(stream: ServerHttp2Stream, headers: CallMetadata, options: AcceptOptions) {
    this.metadata = headers;
    this.#onFault = options.onFault;
    this.#stream = stream;
    this.#reader = new MessageFrameReader(options.maxMessageBytes);
    stream.on('data', (bytes: Buffer) => this.#read(bytes));
    stream.on('end', () => this.#guard(() => this.#halfClose()));
    stream.on('drain', () => this.#guard(() => this.#drained()));
    stream.on('close', () => this.#guard(() => this.#close()));
    this.#listener = options.accept(this);
    const timeout = headers['grpc-timeout'];
    if (timeout !== undefined) this.#startDeadline(String(timeout));
  }

  /**
   * Sends a message: its bytes, with `frameHeadBytes` free bytes in front. Messages that are sent while incoming bytes are being
   * read leave in one write.
   */
  send(frame: Buffer): void {
    putFrameHead(frame);
    if (this.#unsent === null) this.#unsent = frame;
    else if (this.#more === null) this.#more = [this.#unsent, frame];
    else this.#more.push(frame);
    if (!this.#isReading) this.#flush();
  }

  /**
   * True under backpressure: nothing is read from the caller until it has read what it was sent. Call it regularly, because it also
   * detects streams that have been reset.
   */
  isBlocked(): boolean {
    if (this.#flow !== 'open') this.#destroyIfReset();
    return isBlocked(this.#flow);
  }

  /** Sends what is pending. False if the caller should read some of it before it is sent more. */
  hasRoom(): boolean {
    this.#flush();
    return !isBlocked(this.#flow) && isOpen(this.#stream);
  }

  pause(): void {
    this.#move('pause');
  }

  resume(): void {
    this.#move('resume');
  }

  /** Resets the call, and discards what has not been sent. */
  cancel(): void {
    this.#unsent = null;
    this.#more = null;
    this.#move('end');
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    this.#stream.destroy();
  }

  /** Sends the status and ends the call; later calls do nothing. */
  end(how: CallStatus): void {
    this.#flush();
    // A stream that has sent a status is not open.
    if (isOpen(this.#stream)) this.#sendStatus(how);
    else this.#destroyIfReset();
    this.#move('end');
  }

  #startDeadline(timeout: string): void {
    const ms = readTimeoutMs(timeout);
    const end = (how: CallStatus) => {
      this.end(how);
      this.#close();
    };
    if (ms === null) end({ code: status.INTERNAL, details: `Invalid grpc-timeout value "${timeout}"` });
    else
      this.#deadline = setTimeout(end, Math.min(ms, maxTimerMs), {
        code: status.DEADLINE_EXCEEDED,
        details: 'Deadline exceeded',
      });
  }

  /** The status is a trailer, or a header if nothing was sent before it (“Trailers-Only”). */
  #sendStatus({ code, details }: CallStatus): void {
    const stream = this.#stream;
    const trailers: OutgoingHttpHeaders = { 'grpc-status': code, 'grpc-message': encodeURI(details.toWellFormed()) };
    if (!stream.headersSent) {
      stream.respond({ ...responseHeaders, ...trailers }, { endStream: true });
      return;
    }
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end();
  }

  #halfClose(): void {
    this.#listener.halfClosed();
    this.#destroyIfReset();
  }

  #close(): void {
    this.#move('end');
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    const listener = this.#listener;
    // Node keeps streams in a Map. Its old tables keep removed streams, and all that they refer to, until the old generation is collected.
    this.#listener = noopListener;
    listener.closed();
  }

  /** Where Envoy resets with NO_ERROR, Node keeps the stream until both sides have read everything, which may never happen. */
  #destroyIfReset(): void {
    if (this.#stream.closed) this.#stream.destroy();
  }

  #read(bytes: Buffer): void {
    // The bytes of a call that is over are read and discarded, because its stream closes only once it is drained.
    if (this.#flow === 'over') return;
    this.#isReading = true;
    try {
      this.#reader.push(bytes, this.#listener);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#isReading = false;
    }
    this.#guard(() => this.#flush());
  }

  #guard(handle: () => void): void {
    try {
      handle();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    const known = thrown instanceof MessageFrameError;
    if (!known) this.#onFault(thrown);
    const { code, message } = known ? thrown : { code: status.INTERNAL, message: 'The service failed on this call.' };
    try {
      this.end({ code, details: message });
      this.#close();
    } catch (again) {
      this.#onFault(again);
      this.#stream.destroy();
    }
  }

  #flush(): void {
    if (this.#unsent === null) return;
    const bytes = this.#more === null ? this.#unsent : Buffer.concat(this.#more);
    this.#unsent = null;
    this.#more = null;
    if (!isOpen(this.#stream)) return;
    if (!this.#stream.headersSent) this.#stream.respond(responseHeaders, responseOptions);
    if (this.#stream.write(bytes) || this.#stream.writableLength < maxUnsentBytes) return;
    this.#move('fill');
    this.#listener.blocked(this.#stream.writableLength);
  }

  #drained(): void {
    if (!isBlocked(this.#flow)) return;
    this.#move('drain');
    this.#listener.drained();
  }

  /** Moves to the event's phase. The caller is read while the call is open; what it sends after the end is read and discarded. */
  #move(event: FlowEvent): void {
    this.#flow = flowMoves[this.#flow][event][0];
    if (this.#flow === 'open' || this.#flow === 'over') this.#stream.resume();
    else this.#stream.pause();
  }
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.writableEnded;
}

/** For longer delays, Node's timers fire at once. */
const maxTimerMs = 2 ** 31 - 1;
const unitMs = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Returns the milliseconds of a `grpc-timeout`, which is up to eight digits and a unit; null for anything else. */
function readTimeoutMs(value: string): number | null {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  return unit === undefined ? null : Number(digits) * unitMs[unit as keyof typeof unitMs];
}
