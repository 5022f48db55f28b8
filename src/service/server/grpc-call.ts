import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type StatusObject, status } from '@grpc/grpc-js';
import { type FlowEvent, type FlowPhase, flowMoves, isBlocked } from '../memory/flow-phases.ts';
import type { CallMetadata } from '../telemetry/observer.ts';
import { MessageFrameError, MessageFrameReader, putFrameHead } from './message-frames.ts';

/** A call as its listener sees it. */
export type GrpcCall = Pick<Http2Call, keyof Http2Call>;

/** A gRPC status and its message. */
type CallStatus = Pick<StatusObject, 'code' | 'details'>;

/** Callbacks of a call. */
export interface GrpcCallListener {
  message(bytes: Buffer): void;
  /** `bytes` are pending for a caller that does not read; then `drained`, once it has read them. */
  blocked(bytes: number): void;
  drained(): void;
  /** The caller half-closed: it sends nothing more. */
  halfClosed(): void;
  /** The call is over, whoever ended it. Called once or more. */
  closed(): void;
}

/**
 * Answers a new HTTP/2 stream as a gRPC call (“gRPC over HTTP/2”): `accept` gets the call and returns its listener.
 * Messages longer than `maxMessageBytes` end it. So does what a callback throws, a defect: `onFault` is told, and other calls go on.
 *
 * Fast path, in place of grpc-js's own calls: it copies each message twice, waits for a promise and goes through
 * an object stream both ways, and makes metadata, two layers of interceptors and a duplex stream for each call. What that would
 * cost, and when to go back to it: docs/decisions/0005.
 */
export function acceptCall(
  stream: ServerHttp2Stream,
  headers: CallMetadata,
  maxMessageBytes: number,
  accept: (call: GrpcCall) => GrpcCallListener,
  onFault: (thrown: unknown) => void,
): void {
  // Each error is followed by `close`; nothing can be sent by then.
  stream.on('error', ignore);
  if (headers['content-type']?.startsWith('application/grpc') !== true)
    stream.respond({ ':status': constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
  else new Http2Call(stream, headers, maxMessageBytes, accept, onFault);
}

function ignore(): void {}

/** High-water mark: bytes of one call that may be pending in this process. */
const maxUnsentBytes = 64 * 1024;
const noopListener: GrpcCallListener = { message() {}, blocked() {}, drained() {}, halfClosed() {}, closed() {} };

const responseHeaders = Object.freeze({ ':status': 200, 'content-type': 'application/grpc+proto' });
const responseOptions = { waitForTrailers: true };

/** A call of a bidirectional streaming method, with its messages as bytes. Reads and writes the HTTP/2 stream itself. */
class Http2Call {
  readonly metadata: CallMetadata;
  readonly #stream: ServerHttp2Stream;
  readonly #reader: MessageFrameReader;
  readonly #onFault: (thrown: unknown) => void;
  #listener = noopListener;
  /** Frames sent while reading a batch; nearly always one, which needs no list. */
  #unsent: Buffer | null = null;
  #more: Buffer[] | null = null;
  #deadline: NodeJS.Timeout | null = null;
  /** A batch of incoming messages is being read. */
  #isReading = false;
  #flow: FlowPhase = 'open';

  constructor(
    stream: ServerHttp2Stream,
    headers: CallMetadata,
    maxMessageBytes: number,
    accept: (call: GrpcCall) => GrpcCallListener,
    onFault: (thrown: unknown) => void,
  ) {
    this.metadata = headers;
    this.#onFault = onFault;
    this.#stream = stream;
    this.#reader = new MessageFrameReader(maxMessageBytes);
    stream.on('data', (bytes: Buffer) => this.#read(bytes));
    stream.on('end', () => this.#guard(() => this.#halfClose()));
    stream.on('drain', () => this.#guard(() => this.#drained()));
    stream.on('close', () => this.#guard(() => this.#close()));
    this.#listener = accept(this);
    const timeout = this.metadata['grpc-timeout'];
    if (timeout !== undefined) this.#startDeadline(String(timeout));
  }

  /**
   * Sends a message: its bytes with `frameHeadBytes` free ones in front. Messages sent while a batch of incoming
   * messages is being read leave in one write.
   */
  send(frame: Buffer): void {
    putFrameHead(frame);
    if (this.#unsent === null) this.#unsent = frame;
    else if (this.#more === null) this.#more = [this.#unsent, frame];
    else this.#more.push(frame);
    if (!this.#isReading) this.#flush();
  }

  /**
   * True under backpressure: nothing more is read from the caller until it has read what it was sent. Call it regularly
   * meanwhile: it also detects streams that have been reset.
   */
  isBlocked(): boolean {
    if (this.#flow !== 'open') this.#destroyIfReset();
    return isBlocked(this.#flow);
  }

  /** Sends what is pending; false if the caller should read some of it before it is sent more. */
  hasRoom(): boolean {
    this.#flush();
    return !isBlocked(this.#flow) && isOpen(this.#stream);
  }

  /** Pauses and resumes reading, when this process is short of memory. */
  pause(): void {
    this.#move('pause');
  }

  resume(): void {
    this.#move('resume');
  }

  /** Resets the call: what has not been sent yet is discarded. */
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
    // Not if a status was sent: its stream accepts nothing more.
    if (isOpen(this.#stream)) this.#sendStatus(how);
    else this.#destroyIfReset();
    this.#move('end');
  }

  #startDeadline(timeout: string): void {
    const ms = timeoutMs(timeout);
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
    // Node keeps its streams in a Map, whose old tables keep some of those removed, and all that is reachable from
    // them, until the old generation is collected.
    this.#listener = noopListener;
    listener.closed();
  }

  /**
   * Some Envoys reset with NO_ERROR. Node then keeps the stream until both sides have read everything, which may be
   * never.
   */
  #destroyIfReset(): void {
    if (this.#stream.closed) this.#stream.destroy();
  }

  #read(bytes: Buffer): void {
    // There is no listener any more; the bytes are still read, because the stream closes only when it is drained.
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
    // Backpressure: once a slow caller's window is full, nothing more is read from it until it has caught up.
    if (this.#stream.write(bytes) || this.#stream.writableLength < maxUnsentBytes) return;
    this.#move('fill');
    this.#listener.blocked(this.#stream.writableLength);
  }

  #drained(): void {
    if (!isBlocked(this.#flow)) return;
    this.#move('drain');
    this.#listener.drained();
  }

  /** Reads the caller while the call is open, and what it still sends once the call is over. */
  #move(event: FlowEvent): void {
    this.#flow = flowMoves[this.#flow][event][0];
    if (this.#flow === 'open' || this.#flow === 'over') this.#stream.resume();
    else this.#stream.pause();
  }
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.writableEnded;
}

/** Node's timers fire at once for longer delays. */
const maxTimerMs = 2 ** 31 - 1;
const unitMs = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds of a `grpc-timeout`: up to eight digits and a unit. Null if it is not one. */
function timeoutMs(value: string): number | null {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  return unit === undefined ? null : Number(digits) * unitMs[unit as keyof typeof unitMs];
}
