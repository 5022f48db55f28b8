import type { ServerHttp2Stream } from 'node:http2';
import { Metadata, ServerInterceptingCall, type ServerInterceptor, type status } from '@grpc/grpc-js';
import { MessageFrameError, MessageFrameReader, putFrameHead } from './message-frames.ts';

/** A call of a method with streams both ways, its messages as bytes. */
export interface GrpcCall {
  /** What the caller opened it with. */
  readonly metadata: Metadata;
  /**
   * Sends a message: its bytes with `FRAME_HEAD_BYTES` free ones in front. What is sent while messages are read that
   * came together leaves together.
   */
  send(frame: Buffer): void;
  /** Nothing more is read from the caller until it has taken what it was sent. To be asked now and then while it is so. */
  isBlocked(): boolean;
  /** The last word; more than once does no harm. */
  end(how: { readonly code: status; readonly details: string }): void;
}

/** What a call tells. Nothing of it may throw. */
export interface GrpcCallListener {
  message(bytes: Buffer): void;
  /** The caller sends nothing more. */
  halfClosed(): void;
  /** The call is over, whoever ended it. */
  closed(): void;
}

/**
 * Hands the calls of the method at `path` to `accept`, past grpc-js's own stream of messages: that copies each one
 * twice, waits for a promise and goes through an object stream both ways, which costs more than the translation.
 * Connections, limits, metadata, deadlines, status and the drain stay grpc-js's.
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

/** Bytes of one call that may wait in this process for the caller to take them. */
const maxUnsentBytes = 64 * 1024;
const noopListener: GrpcCallListener = { message() {}, halfClosed() {}, closed() {} };

/** Reads and writes the HTTP/2 stream itself. */
class DirectCall implements GrpcCall {
  metadata = new Metadata();
  readonly #call: InterceptedCall;
  readonly #stream: ServerHttp2Stream;
  readonly #reader: MessageFrameReader;
  #listener = noopListener;
  /** What was sent since the last message was read; nearly always one frame, which needs no list. */
  #unsent: Buffer | null = null;
  #more: Buffer[] | null = null;
  #reading = false;
  #answered = false;
  #blocked = false;
  #over = false;

  constructor(call: InterceptedCall, maxMessageBytes: number) {
    this.#call = call;
    this.#stream = streamOf(call);
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
   * Some Envoys reset with NO_ERROR. Node then keeps the stream until all that came is read and all that was written is
   * taken, which may be never.
   */
  #destroyIfReset(): void {
    if (this.#stream.closed) this.#stream.destroy();
  }

  #read(bytes: Buffer): void {
    // Nobody hears what still comes; it is read all the same, because the stream closes only then.
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
    if (!this.#answered) this.#call.sendMetadata(new Metadata());
    this.#answered = true;
    // A slow caller fills the window; then nothing more is read from it until it has taken what it was sent.
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

/** The HTTP/2 stream of a call, with nobody else listening to its bytes. grpc-js does not show it. */
function streamOf(call: InterceptedCall): ServerHttp2Stream {
  const stream = Reflect.get(call, 'stream') as ServerHttp2Stream | undefined;
  if (typeof stream?.respond !== 'function')
    throw new Error('grpc-js keeps the HTTP/2 stream of a call elsewhere now.');
  return stream.removeAllListeners('data');
}
