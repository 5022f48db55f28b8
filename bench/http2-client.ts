import { connect, type Socket } from 'node:net';

/**
 * The minimum of HTTP/2 for a gRPC client with one method: frames are prepared in advance, replies are counted but not
 * read. A message costs this client a fraction of what it costs a service on node:http2, so that a machine with two
 * cores can saturate one.
 */
export interface Http2Client {
  /** Opens a stream. Its first frames leave with the next `send`. */
  open(listener: StreamListener): Http2Stream;
  close(): void;
}

export interface Http2Stream {
  /** Sends one gRPC message (its bytes behind `messageRoom` free ones), as soon as the windows have room. */
  send(message: Buffer): void;
  /** Resets the stream with NO_ERROR, as Envoy ends its calls. */
  reset(): void;
}

export interface StreamListener {
  /** A whole gRPC message has arrived, with its size in bytes. */
  message(bytes: number): void;
  /** The server ended the stream, or the connection is gone. */
  ended(reason: string): void;
}

/** Free bytes that `Http2Stream.send` needs in front of a message, for the headers of the frame and of the message. */
export const messageRoom = 9 + 5;

const frameHead = 9;
const largestFrame = 16_384;
const defaultWindow = 65_535;
const ownWindow = 2 ** 31 - 1;
/** The server may send this much before it needs a WINDOW_UPDATE. */
const refillAfter = 2 ** 28;

const types = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const endStream = 1;
const endHeaders = 4;
const ack = 1;
const initialWindowSize = 4;

/** Connects to a gRPC server without TLS. Rejects when nothing listens. */
export function connectHttp2(to: { host: string; port: number }, path: string): Promise<Http2Client> {
  return new Promise((resolve, reject) => {
    const socket = connect(to);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.setNoDelay(true);
      resolve(new Connection(socket, requestHeaders(path, `${to.host}:${to.port}`)));
    });
  });
}

class Connection implements Http2Client {
  readonly #socket: Socket;
  readonly #headers: Buffer;
  readonly #streams = new Map<number, Stream>();
  /** Streams that wait for a window. */
  readonly #blocked = new Set<Stream>();
  #nextId = 1;
  #window = defaultWindow;
  #streamWindow = defaultWindow;
  #received = 0;
  #held: Buffer | null = null;
  #unsent: Buffer[] = [];

  constructor(socket: Socket, headers: Buffer) {
    this.#socket = socket;
    this.#headers = headers;
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const stream of this.#streams.values()) stream.listener.ended('connection closed');
    });
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(initialWindowSize);
    settings.writeUInt32BE(ownWindow, 2);
    this.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    this.write(frame(types.settings, 0, 0, settings));
    this.write(frame(types.windowUpdate, 0, 0, uint32(ownWindow - defaultWindow)));
  }

  open(listener: StreamListener): Http2Stream {
    const stream = new Stream(this, this.#nextId, this.#streamWindow, listener);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.write(this.#headers, stream.id);
    return stream;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Everything written in one turn of the event loop leaves in one system call. */
  write(frameBytes: Buffer, id?: number): void {
    // All streams share the same bytes, except for the id.
    const bytes = id === undefined ? frameBytes : Buffer.from(frameBytes);
    if (id !== undefined) bytes.writeUInt32BE(id, 5);
    if (this.#unsent.push(bytes) === 1) setImmediate(() => this.#flush());
  }

  /** Takes room for `bytes` from the connection's window; false when there is none. */
  takeWindow(bytes: number, stream: Stream): boolean {
    if (this.#window >= bytes && stream.window >= bytes) {
      this.#window -= bytes;
      stream.window -= bytes;
      return true;
    }
    this.#blocked.add(stream);
    return false;
  }

  forget(stream: Stream): void {
    this.#streams.delete(stream.id);
    this.#blocked.delete(stream);
  }

  #flush(): void {
    const all = this.#unsent;
    this.#unsent = [];
    this.#socket.write(all.length === 1 ? (all[0] as Buffer) : Buffer.concat(all));
  }

  #read(bytes: Buffer): void {
    const all = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    let at = 0;
    while (all.length - at >= frameHead) {
      const end = at + frameHead + all.readUIntBE(at, 3);
      if (end > all.length) break;
      this.#onFrame(all[at + 3] as number, all[at + 4] as number, all.readUInt32BE(at + 5), all, at + frameHead, end);
      at = end;
    }
    this.#held = at === all.length ? null : all.subarray(at);
  }

  #onFrame(type: number, flags: number, id: number, bytes: Buffer, at: number, end: number): void {
    switch (type) {
      case types.data:
        this.#received += end - at;
        if (this.#received >= refillAfter) {
          this.write(frame(types.windowUpdate, 0, 0, uint32(this.#received)));
          this.#received = 0;
        }
        this.#streams.get(id)?.read(bytes, at, end);
        break;
      case types.settings:
        if ((flags & ack) === 0) this.#onSettings(bytes, at, end);
        break;
      case types.ping:
        if ((flags & ack) === 0) this.write(frame(types.ping, ack, 0, bytes.subarray(at, end)));
        break;
      case types.windowUpdate:
        this.#onWindowUpdate(id, bytes.readUInt32BE(at));
        break;
      case types.reset:
        this.#streams.get(id)?.listener.ended(`reset, code ${bytes.readUInt32BE(at)}`);
        break;
      case types.goAway:
        for (const stream of this.#streams.values()) stream.listener.ended('the server goes away');
        break;
    }
    const isEnd = (type === types.data || type === types.headers) && (flags & endStream) !== 0;
    if (isEnd) this.#streams.get(id)?.listener.ended('ended by the server');
  }

  #onSettings(bytes: Buffer, at: number, end: number): void {
    for (let field = at; field < end; field += 6) {
      if (bytes.readUInt16BE(field) !== initialWindowSize) continue;
      const size = bytes.readUInt32BE(field + 2);
      for (const stream of this.#streams.values()) stream.window += size - this.#streamWindow;
      this.#streamWindow = size;
    }
    this.write(frame(types.settings, ack, 0, Buffer.alloc(0)));
  }

  #onWindowUpdate(id: number, bytes: number): void {
    const stream = this.#streams.get(id);
    if (id === 0) this.#window += bytes;
    else if (stream !== undefined) stream.window += bytes;
    for (const blocked of [...this.#blocked]) {
      this.#blocked.delete(blocked);
      blocked.flush();
    }
  }
}

class Stream implements Http2Stream {
  readonly id: number;
  readonly listener: StreamListener;
  window: number;
  readonly #connection: Connection;
  /** Frames that wait for a window; nearly always none. */
  readonly #waiting: Buffer[] = [];
  /** Bytes of the message still to come, and bytes of its header that have arrived. */
  #missing = 0;
  #size = 0;
  #headBytes = 0;

  constructor(connection: Connection, id: number, window: number, listener: StreamListener) {
    this.#connection = connection;
    this.id = id;
    this.window = window;
    this.listener = listener;
  }

  send(message: Buffer): void {
    for (const piece of framesOf(message)) this.#waiting.push(piece);
    this.flush();
  }

  flush(): void {
    for (let piece = this.#waiting[0]; piece !== undefined; piece = this.#waiting[0]) {
      if (!this.#connection.takeWindow(piece.length - frameHead, this)) return;
      this.#connection.write(piece, this.id);
      this.#waiting.shift();
    }
  }

  reset(): void {
    this.#connection.forget(this);
    this.#connection.write(resetFrame, this.id);
  }

  /** DATA from the server: counts the gRPC messages in it, whose heads and bodies may be cut anywhere. */
  read(bytes: Buffer, from: number, end: number): void {
    let at = from;
    while (at < end) {
      if (this.#headBytes < 5) {
        // One byte of flags, four of length.
        if (this.#headBytes > 0) this.#size = this.#size * 256 + (bytes[at] as number);
        this.#headBytes += 1;
        at += 1;
        if (this.#headBytes < 5) continue;
        this.#missing = this.#size;
      }
      const taken = Math.min(this.#missing, end - at);
      at += taken;
      this.#missing -= taken;
      if (this.#missing > 0) return;
      const size = this.#size;
      this.#headBytes = 0;
      this.#size = 0;
      this.listener.message(size);
    }
  }
}

/** The frames of each message, made once. */
const prepared = new WeakMap<Buffer, readonly Buffer[]>();

/** DATA frames of a message with free bytes in front, which are filled. All frames but the last are of the largest size. */
function framesOf(message: Buffer): readonly Buffer[] {
  const known = prepared.get(message);
  if (known !== undefined) return known;
  message.writeUInt8(0, frameHead);
  message.writeUInt32BE(message.length - messageRoom, frameHead + 1);
  const frames: Buffer[] = [];
  for (let at = frameHead; at < message.length; at += largestFrame)
    frames.push(frame(types.data, 0, 0, message.subarray(at, at + largestFrame)));
  prepared.set(message, frames);
  return frames;
}

function frame(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHead);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

const resetFrame = frame(types.reset, 0, 0, uint32(0));

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** HPACK without its dynamic table: indexed fields, and literals that are not to be remembered (RFC 7541, 6.1 and 6.2.2). */
function requestHeaders(path: string, authority: string): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const block = [
    Buffer.from([0x83, 0x86]), // :method POST, :scheme http
    Buffer.from([0x04]), // :path
    text(path),
    Buffer.from([0x01]), // :authority
    text(authority),
    Buffer.from([0x0f, 0x10]), // content-type
    text('application/grpc'),
    Buffer.from([0x00]),
    text('te'),
    text('trailers'),
  ];
  return frame(types.headers, endHeaders, 0, Buffer.concat(block));
}
