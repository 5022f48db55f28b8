import type { ServerHttp2Stream } from 'node:http2';
import { Metadata, ServerInterceptingCall, type ServerInterceptor, type status } from '@grpc/grpc-js';
import { takeHttp2Stream } from './grpc-js-internals.ts';
import { MessageFrameError, MessageFrameReader, putFrameHead } from './message-frames.ts';

/** A call of a method with streams both ways, its messages as bytes. */
export interface GrpcCall {
  /** What the caller opened it with. */
  readonly metadata: Metadata;
  /**
   * Sends a message: its bytes with `FRAME_HEAD_BYTES` free ones in front. Messages sent while a batch of incoming
   * messages is being read leave in one write.
   */
  send(frame: Buffer): void;
  /**
   * True while backpressure holds: nothing more is read from the caller until it has taken what it was sent. Call it
   * regularly while that is so: it also detects streams that were reset meanwhile.
   */
  isBlocked(): boolean;
  /** Sends the status and ends the call; later calls do nothing. */
  end(how: { readonly code: status; readonly details: string }): void;
}

/** Callbacks of a call; none may throw. */
export interface GrpcCallListener {
  message(bytes: Buffer): void;
  /** The caller half-closed: it sends nothing more. */
  halfClosed(): void;
  /** The call is over, whoever ended it. */
  closed(): void;
}

/**
 * Hands the calls of the method at `path` to `accept`, bypassing grpc-js's own stream of messages: that copies each one
 * twice, waits for a promise and goes through an object stream both ways, which costs more than the translation.
 * Connections, limits, metadata, deadlines, status and the drain stay grpc-js's.
 *
 * Fast path. Gains: a token that arrives alone costs about what a no-op filter on grpc-js costs (docs/performance.md).
 * Delete it, with `message-frames.ts`, when `npm run bench -- --only envoy` shows no difference without it.
 */
export function createCallInterceptor(
  path: string,
  maxMessageBytes: number,
  accept: (call: GrpcCall) => GrpcCallListener,
): ServerInterceptor {
  return (method, call) =>
    method.path === path
      ? new ServerInterceptingCall(call, { start: () => new DirectCall(call, maxMessageBytes).start(accept) })
      : new ServerInterceptingCall(call);
}

type InterceptedCall = Parameters<ServerInterceptor>[1];

/** Bytes of one call that may wait in this process for the caller to take them; the high-water mark of backpressure. */
const maxUnsentBytes = 64 * 1024;
const noopListener: GrpcCallListener = { message() {}, halfClosed() {}, closed() {} };

/** Reads and writes the HTTP/2 stream itself. */
class DirectCall implements GrpcCall {
  metadata = new Metadata();
  readonly #call: InterceptedCall;
  readonly #stream: ServerHttp2Stream;
  readonly #reader: MessageFrameReader;
  #listener = noopListener;
  /** Frames sent while reading a batch; nearly always one, which needs no list. */
  #unsent: Buffer | null = null;
  #more: Buffer[] | null = null;
  #reading = false;
  #headersSent = false;
  #blocked = false;
  #over = false;

  constructor(call: InterceptedCall, maxMessageBytes: number) {
    this.#call = call;
    this.#stream = takeHttp2Stream(call);
    this.#reader = new MessageFrameReader(maxMessageBytes);
  }

  start(accept: (call: GrpcCall) => GrpcCallListener): void {
    this.#call.start({
      onReceiveMetadata: (metadata) => {
        this.metadata = metadata;
        this.#listener = accept(this);
      },
      onReceiveMessage() {},
      onReceiveHalfClose: () => this.#listener.halfClosed(),
      onCancel: () => {
        this.#over = true;
        this.#listener.closed();
      },
    });
    this.#stream.on('data', (bytes: Buffer) => this.#read(bytes));
    this.#stream.on('drain', () => this.#unblock());
    this.#call.startRead();
  }

  send(frame: Buffer): void {
    putFrameHead(frame);
    if (this.#unsent === null) this.#unsent = frame;
    else if (this.#more === null) this.#more = [this.#unsent, frame];
    else this.#more.push(frame);
    if (!this.#reading) this.#flush();
  }

  isBlocked(): boolean {
    if (this.#blocked) this.#destroyIfReset();
    return this.#blocked;
  }

  end(how: { readonly code: status; readonly details: string }): void {
    this.#flush();
    if (isOpen(this.#stream)) this.#call.sendStatus(how);
    else this.#destroyIfReset();
    this.#over = true;
    this.#unblock();
  }

  /**
   * Some Envoys reset with NO_ERROR. Node then keeps the stream until everything received is read and everything written
   * is taken, which may be never.
   */
  #destroyIfReset(): void {
    if (this.#stream.closed) this.#stream.destroy();
  }

  #read(bytes: Buffer): void {
    // Nothing listens any more; the bytes are still read, because the stream closes only when it is drained.
    if (this.#over) return;
    this.#reading = true;
    try {
      this.#reader.push(bytes, this.#listener);
    } catch (thrown) {
      if (!(thrown instanceof MessageFrameError)) throw thrown;
      this.end({ code: thrown.code, details: thrown.message });
    } finally {
      this.#reading = false;
    }
    this.#flush();
  }

  #flush(): void {
    if (this.#unsent === null) return;
    const bytes = this.#more === null ? this.#unsent : Buffer.concat(this.#more);
    this.#unsent = null;
    this.#more = null;
    if (!isOpen(this.#stream)) return;
    if (!this.#headersSent) this.#call.sendMetadata(new Metadata());
    this.#headersSent = true;
    // Backpressure: a slow caller fills its window; then nothing more is read from it until it has caught up.
    if (this.#stream.write(bytes) || this.#stream.writableLength < maxUnsentBytes) return;
    this.#blocked = true;
    this.#stream.pause();
  }

  #unblock(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#stream.resume();
  }
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.writableEnded;
}
