import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync, gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ExchangeEvent } from '../../src/filter/exchange/types.ts';
import type { OverloadGuard } from '../../src/service/memory/overload.ts';
import { frameHeadBytes, MessageFrameReader, putFrameHead } from '../../src/service/server/message-frames.ts';
import { headersOf } from '../support/exchange-options.ts';
import { messageOf } from '../support/extproc-client.ts';
import type { ProcessingRequest } from '../support/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import type { ProcessingResponse__Output as ProcessingResponse } from '../support/generated/envoy/service/ext_proc/v3/ProcessingResponse.ts';
import { holdTimers } from '../support/held-timers.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { roomyGuard } from '../support/roomy-guard.ts';
import { type RunningService, startService, until } from '../support/service.ts';
import { settled } from '../support/settled.ts';

/** The HTTP/2 stream under a call, which the service reads and writes itself: every way it can go and end. */
let running: RunningService;
let guard: OverloadGuard;
/** The service's HTTP/2 streams. */
let streams: ServerHttp2Stream[] = [];
subscribe('http2.server.stream.created', (message) => {
  streams.push((message as { stream: ServerHttp2Stream }).stream);
});
let sessions: ClientHttp2Session[] = [];
const sockets = new WeakMap<ClientHttp2Session, Socket>();
let calls: WireCall[] = [];
afterEach(async () => {
  for (const session of sessions) session.destroy();
  sessions = [];
  calls = [];
  streams = [];
  await running.stop();
});

async function start(environment: Record<string, string> = {}, options = {}): Promise<void> {
  guard = roomyGuard();
  running = await startService(environment, { guard, ...options });
  streams = []; // without that of the check at the start
}

function connection(settings = {}): ClientHttp2Session {
  const [host, port] = running.address.split(':');
  const socket = connectTcp(Number(port), host);
  const session = connect(`http://${running.address}`, { settings, createConnection: () => socket });
  sessions.push(session.on('error', () => {}));
  sockets.set(session, socket);
  return session;
}

/** A frame RST_STREAM and nothing else: Node's own client ends its side first where the code is NO_ERROR. */
function reset({ id, session }: ClientHttp2Stream, code: number): void {
  const rst = Buffer.alloc(13);
  rst.writeUInt8(4, 2); // length
  rst.writeUInt8(3, 3); // type
  rst.writeUInt32BE(id ?? 0, 5);
  rst.writeUInt32BE(code, 9);
  if (session !== undefined) sockets.get(session as ClientHttp2Session)?.write(rst);
}

interface WireCall {
  readonly stream: ClientHttp2Stream;
  readonly replies: ProcessingResponse[];
  /** The gRPC status; null while there is none, `reset` if there never was. */
  readonly status: string | null;
  readonly details: string | null;
  /** Takes what was sent, from now on. */
  read(): void;
}

const { requestSerialize, responseDeserialize, path } = processMethod;

function call(session: ClientHttp2Session, metadata = {}, { reading = true } = {}): WireCall {
  const grpc = { 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ':method': 'POST', ':path': path, ...grpc, ...metadata }, { endStream: false });
  const replies: ProcessingResponse[] = [];
  let ended: string | null = null;
  let details: string | null = null;
  const end = (headers: Record<string, unknown>) => {
    if (headers['grpc-status'] === undefined) return;
    ended = String(headers['grpc-status']);
    details = decodeURI(String(headers['grpc-message']));
  };
  stream.on('error', () => {});
  stream.on('response', end);
  stream.on('trailers', end);
  stream.on('close', () => {
    ended ??= 'reset';
  });
  const reader = new MessageFrameReader(1e9);
  const read = () => {
    stream.on('data', (bytes: Buffer) =>
      reader.push(bytes, { message: (message) => replies.push(responseDeserialize(message)) }),
    );
  };
  if (reading) read();
  const wire = {
    stream,
    replies,
    get status() {
      return ended;
    },
    get details() {
      return details;
    },
    read,
  };
  calls.push(wire);
  return wire;
}

function frame(message: Uint8Array, compressed = 0): Buffer {
  const framed = Buffer.concat([Buffer.alloc(frameHeadBytes), message]);
  putFrameHead(framed);
  framed[0] = compressed;
  return framed;
}
const framed = (message: ProcessingRequest): Buffer => frame(requestSerialize(message));
const framesOf = (...events: readonly ExchangeEvent[]): Buffer =>
  Buffer.concat(events.map((event) => framed(messageOf(event))));

const opening = {
  ...messageOf({
    type: 'request_headers',
    headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' }),
    endOfStream: false,
  }),
  protocol_config: { request_body_mode: 'BUFFERED', response_body_mode: 'FULL_DUPLEX_STREAMED' },
} as const satisfies ProcessingRequest;
const requestBody: ExchangeEvent = {
  type: 'request_body',
  body: Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', stream: true })),
  endOfStream: true,
};
const sseHeaders: ExchangeEvent = {
  type: 'response_headers',
  headers: headersOf({ ':status': '200', 'content-type': 'text/event-stream' }),
  endOfStream: false,
};
const chunk = (content: string): ExchangeEvent => ({
  type: 'response_body',
  body: Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`),
  endOfStream: false,
});
const begun = () => Buffer.concat([framed(opening), framesOf(requestBody, sseHeaders)]);
const unknownKind = framed({});
const noBytes = Buffer.alloc(0);

/** Whatever came before: no call is left, none of its places, and no stream. */
async function expectNothingLeft(): Promise<void> {
  await until(() => running.running === 0);
  expect([guard.exchanges, guard.held]).toEqual([0, 0]);
  // Who has the status of a call resets what it has not sent.
  for (const { stream, status: ended } of calls) if (ended !== null) reset(stream, constants.NGHTTP2_NO_ERROR);
  await until(() => streams.every(({ destroyed }) => destroyed));
}

function deltas({ replies }: WireCall): number {
  const text = replies.map((reply) =>
    String(reply.response_body?.response?.body_mutation?.streamed_response?.body ?? ''),
  );
  return text.join('').match(/^event: response\.output_text\.delta$/gm)?.length ?? 0;
}

/** The service has read what was sent on this connection: its answer to a ping comes after that. */
const pinged = (session: ClientHttp2Session) => new Promise<void>((resolve) => session.ping(() => resolve()));

/** Writes this on the call; resolves once the service has read it. */
async function deliver({ stream }: WireCall, bytes: Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => stream.write(bytes, () => resolve()));
  if (stream.session !== undefined) await pinged(stream.session as ClientHttp2Session);
}

/** A call that has been sent more than its client takes. */
async function blocked(metadata = {}, after: readonly Uint8Array[] = []): Promise<WireCall> {
  const session = connection();
  const wire = call(session, metadata, { reading: false });
  wire.stream.write(begun());
  const large = framesOf(chunk('x'.repeat(60_000)));
  wire.stream.write(Buffer.concat([...Array.from({ length: 40 }, () => large), ...after]));
  await until(() => running.readBytes() > 100_000);
  expect(await settled(running.readBytes, () => pinged(session))).toBeLessThan(39 * 60_000);
  return wire;
}

/** The deadline of a call: it passes when the test says so, with what came before surely read. */
const anHour = 3_600_000;
const withinAnHour = { 'grpc-timeout': '1H' };

describe('a call whose client takes nothing', () => {
  test.each([
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
  ])('is over when it is reset with %s', async (_name, code) => {
    await start();
    const { stream } = await blocked();
    reset(stream, code);
    await expectNothingLeft();
    expect(running.ends.map(({ how }) => how)).toEqual(['aborted']);
  });

  test.each([
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
  ])('is over when its deadline has passed and it is reset with %s', async (_name, code) => {
    await start();
    const deadline = holdTimers(anHour);
    const { stream } = await blocked(withinAnHour);
    deadline.pass(); // unseen, since its client takes nothing
    reset(stream, code);
    await expectNothingLeft();
  });

  test('is over when its connection breaks', async () => {
    await start();
    await blocked();
    sessions[0]?.destroy();
    await expectNothingLeft();
  });

  test('is over when the service is shut down by force', async () => {
    await start();
    await blocked();
    expect(await running.service.drain(100)).toBe('forced');
    await until(() => running.running === 0);
    expect(guard.exchanges).toBe(0);
  });

  test('gets all of it, and its status, once it takes it, though it has said that nothing more comes', async () => {
    await start();
    const unsent: number[] = [];
    const admit = guard.admit.bind(guard);
    vi.spyOn(guard, 'admit').mockImplementation((holder) => {
      const admission = admit(holder);
      if (!('release' in admission)) return admission;
      return { ...admission, setUnsent: (bytes) => void unsent.push(bytes) };
    });
    const wire = await blocked();
    expect(unsent.at(-1), 'the guard knows of it').toBeGreaterThanOrEqual(64 * 1024);
    wire.stream.end();
    wire.read();
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(status.OK));
    expect(deltas(wire)).toBe(40);
    expect(unsent.at(-1)).toBe(0);
    await expectNothingLeft();
  });

  test('gets all of it before the status of what is wrong', async () => {
    await start();
    const wire = await blocked({}, [unknownKind]);
    wire.read();
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(status.INVALID_ARGUMENT));
    expect(deltas(wire)).toBe(40);
    await expectNothingLeft();
  });

  test('leaves nothing when it was ended, and is reset with NO_ERROR', async () => {
    await start();
    const wire = call(connection({ initialWindowSize: 1000 }), {}, { reading: false });
    // Two frames of HTTP/2 bring more than may wait, and the end before anybody knows.
    const event = chunk('x');
    const events = 'body' in event ? Buffer.concat(Array.from({ length: 270 }, () => event.body)) : Buffer.alloc(0);
    const frames = framesOf({ type: 'response_body', body: events, endOfStream: false });
    expect(frames.length).toBeLessThan(16_000);
    wire.stream.write(begun());
    wire.stream.write(frames);
    wire.stream.write(Buffer.concat([frames, unknownKind]));
    await until(() => running.ends.length === 1);
    await deliver(wire, framesOf(chunk('late')));
    reset(wire.stream, constants.NGHTTP2_NO_ERROR);
    await expectNothingLeft();
  });

  /** Replies wait for it, but not so many that nothing more is read. */
  async function unread(after: Uint8Array = Buffer.alloc(0)): Promise<WireCall> {
    const wire = call(connection({ initialWindowSize: 1000 }), {}, { reading: false });
    wire.stream.write(Buffer.concat([begun(), framesOf(chunk('x'.repeat(5000))), after]));
    await until(() => running.readBytes() > 5000);
    expect(streams).toHaveLength(1);
    return wire;
  }

  test('leaves nothing when it is reset with NO_ERROR', async () => {
    await start();
    const { stream } = await unread();
    reset(stream, constants.NGHTTP2_NO_ERROR);
    await expectNothingLeft();
  });

  test('leaves nothing when it is reset with NO_ERROR after its end', async () => {
    await start();
    const { stream } = await unread(unknownKind);
    reset(stream, constants.NGHTTP2_NO_ERROR);
    await expectNothingLeft();
  });

  test('leaves nothing when it is reset with NO_ERROR after the client’s last word', async () => {
    await start();
    const { stream } = await unread();
    stream.end();
    await until(() => running.ends.length === 1);
    reset(stream, constants.NGHTTP2_NO_ERROR);
    await expectNothingLeft();
  });
});

describe('a call that ends', () => {
  test('with its first message takes none of those that came with it', async () => {
    await start();
    const wire = call(connection());
    wire.stream.write(Buffer.concat([unknownKind, begun()]));
    await until(() => wire.status !== null);
    expect([wire.status, wire.details]).toEqual(['3', 'A message of an unknown kind.']);
    expect(wire.replies).toEqual([]);
    expect(running.ends).toEqual([]);
    await expectNothingLeft();
  });

  test('with a message in the middle answers those before it, and none behind', async () => {
    await start();
    const wire = call(connection());
    wire.stream.write(Buffer.concat([begun(), framesOf(chunk('a')), unknownKind, framesOf(chunk('b'))]));
    await until(() => wire.status !== null);
    expect(wire.status).toBe('3');
    expect(wire.replies.map((reply) => Object.keys(reply)[0])).toEqual([
      'request_headers',
      'request_body',
      'response_headers',
      'response_body',
    ]);
    expect(running.ends.map(({ how }) => how)).toEqual(['protocol_error']);
    await expectNothingLeft();
  });

  test('by a message that is too large reads nothing of it as messages', async () => {
    await start();
    const wire = call(connection());
    wire.stream.write(begun());
    await until(() => wire.replies.length === 2);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(0xf000_0000, 1);
    await deliver(wire, head);
    // The bytes of that message, which happen to be messages too.
    wire.stream.write(unknownKind);
    wire.stream.write(framesOf(chunk('b')));
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(status.RESOURCE_EXHAUSTED));
    expect(wire.replies).toHaveLength(2);
    await expectNothingLeft();
    expect(running.ends.map(({ how }) => how)).toEqual(['aborted']);
  });

  test.each([
    [
      'that may not come then',
      status.INVALID_ARGUMENT,
      Buffer.concat([framed(opening), framesOf(requestBody)]),
      noBytes,
    ],
    ['with one behind it that is too large', status.RESOURCE_EXHAUSTED, begun(), Buffer.alloc(frameHeadBytes, 0x7f)],
  ])('by a burst %s leaves nothing', async (_, code, before, behind) => {
    await start();
    const wire = call(connection());
    wire.stream.write(before);
    wire.stream.write(Buffer.concat([framesOf(chunk('x'.repeat(40_000))), behind]));
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(code));
    await deliver(wire, framesOf(chunk('late')));
    reset(wire.stream, constants.NGHTTP2_NO_ERROR);
    await expectNothingLeft();
  });

  test.each(['before its first message', 'in the middle of one', 'after one'])('by its deadline: %s', async (when) => {
    await start();
    const deadline = holdTimers(anHour);
    const wire = call(connection(), withinAnHour);
    const bytes = begun();
    if (when !== 'before its first message') wire.stream.write(when === 'after one' ? bytes : bytes.subarray(0, -3));
    await until(() => deadline.count === 1 && wire.replies.length === (when === 'before its first message' ? 0 : 2));
    deadline.pass();
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(status.DEADLINE_EXCEEDED));
    if (when === 'in the middle of one') await deliver(wire, bytes.subarray(-3));
    if (when === 'after one') await deliver(wire, framesOf(chunk('late')));
    reset(wire.stream, constants.NGHTTP2_NO_ERROR);
    await expectNothingLeft();
    expect(running.ends.map(({ how }) => how)).toEqual(when === 'before its first message' ? [] : ['aborted']);
  });

  test.each([
    ['101m', 101],
    ['102000u', 102],
    ['2S', 2000],
    ['3M', 180_000],
  ])('by its deadline, %s', async (timeout, ms) => {
    await start();
    const deadline = holdTimers(ms);
    const wire = call(connection(), { 'grpc-timeout': timeout });
    wire.stream.write(begun());
    await until(() => deadline.count === 1);
    deadline.pass();
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(status.DEADLINE_EXCEEDED));
    await expectNothingLeft();
  });

  test('by a deadline that is none', async () => {
    await start();
    const wire = call(connection(), { 'grpc-timeout': 'soon' });
    wire.stream.write(begun());
    await until(() => wire.status !== null);
    expect(wire.status).toBe(String(status.INTERNAL));
    await expectNothingLeft();
  });

  test('by a deadline that is years away goes on', async () => {
    await start();
    const wire = call(connection(), { 'grpc-timeout': '99999999H' });
    wire.stream.write(begun());
    await until(() => wire.replies.length === 2);
    // Node makes one millisecond of what is too long for it: a deadline of that length would have passed before this one.
    await sleep(1);
    await deliver(wire, noBytes);
    expect(wire.status).toBeNull();
    wire.stream.end();
    await until(() => wire.status !== null);
    expect(wire.status).toBe('0');
    await expectNothingLeft();
  });

  test('with another content type is not one of gRPC', async () => {
    await start();
    const wire = call(connection(), { 'content-type': 'application/json' });
    const [headers] = await once(wire.stream, 'response');
    expect(headers[':status']).toBe(415);
    wire.stream.end(begun());
    await expectNothingLeft();
    expect(running.ends).toEqual([]);
  });

  test('with half a message by its client’s word is OK', async () => {
    await start();
    const wire = call(connection());
    wire.stream.end(Buffer.concat([begun(), framesOf(chunk('half')).subarray(0, -1)]));
    await until(() => wire.status !== null);
    expect(wire.status).toBe('0');
    expect(wire.replies).toHaveLength(2);
    await expectNothingLeft();
  });

  test('without a message is OK', async () => {
    await start();
    const wire = call(connection());
    wire.stream.end();
    await until(() => wire.status !== null);
    expect(wire.status).toBe('0');
    await expectNothingLeft();
  });

  test.each(['HEAD', 'GET'])('by %s harms nobody', async (method) => {
    await start();
    const wire = call(connection(), { ':method': method });
    await deliver(wire, begun());
    reset(wire.stream, constants.NGHTTP2_CANCEL);
    await expectNothingLeft();
  });
});

describe('a reset', () => {
  const whole = () =>
    Buffer.concat([
      begun(),
      framesOf(chunk('one'), chunk('two'), {
        type: 'response_body',
        body: Buffer.from('data: [DONE]\n\n'),
        endOfStream: true,
      }),
    ]);

  test.each([
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
  ])('with %s leaves nothing, wherever it comes', async (_name, code) => {
    await start();
    const bytes = whole();
    const session = connection();
    for (let at = 0; at <= bytes.length; at += 7) {
      const wire = call(session);
      if (at % 2 === 0) wire.stream.write(bytes.subarray(0, at));
      else await deliver(wire, bytes.subarray(0, at));
      reset(wire.stream, code);
    }
    await expectNothingLeft();
  });
});

describe('a message', () => {
  test('of no bytes is none of ext_proc', async () => {
    await start();
    const wire = call(connection());
    wire.stream.write(frame(Buffer.alloc(0)));
    await until(() => wire.status !== null);
    expect([wire.status, wire.details]).toEqual(['3', 'A message of an unknown kind.']);
    await expectNothingLeft();
  });

  test('may be exactly as large as the limit, and not a byte larger', async () => {
    const bodies = 2 * 1024 * 1024;
    // A quarter more, which Envoy takes, and headers.
    const limit = 1.25 * bodies + 1024 * 1024;
    await start({ MAX_REQUEST_BYTES: String(bodies), MAX_RESPONSE_BYTES: '1048576' });
    for (const size of [limit, limit + 1]) {
      const body = (length: number) => requestSerialize({ request_body: { body: Buffer.alloc(length, ' ') } });
      const message = body(size - (body(size).length - size));
      expect(message).toHaveLength(size);
      const wire = call(connection());
      wire.stream.write(Buffer.concat([framed(opening), frame(message)]));
      await until(() => wire.status !== null || wire.replies.length === 2);
      if (size === limit) expect(wire.replies[1]).toHaveProperty('immediate_response.status.code', 413);
      else expect(wire.status).toBe(String(status.RESOURCE_EXHAUSTED));
      reset(wire.stream, constants.NGHTTP2_CANCEL);
    }
    await expectNothingLeft();
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('may be compressed with %s', async (encoding, compress) => {
    await start();
    const wire = call(connection(), { 'grpc-encoding': encoding });
    const compressed = [opening, messageOf(requestBody)].map((message) =>
      frame(compress(requestSerialize(message)), 1),
    );
    wire.stream.write(Buffer.concat(compressed));
    await until(() => wire.replies.length === 2);
    reset(wire.stream, constants.NGHTTP2_CANCEL);
    await expectNothingLeft();
  });
});

describe('a mistake of ours', () => {
  const mistakes = {
    'in the guard': { guard: { admit: () => fail(), checkAvailability: () => true, exchanges: 0, bufferedBytes: 0 } },
    'in making the exchange': { createExchange: () => fail() },
    'in an observer': { observers: [() => fail()] },
  };
  function fail(): never {
    throw new Error('ours');
  }

  test.each(Object.entries(mistakes))('%s ends that call alone', async (where, options) => {
    const faults: unknown[] = [];
    await start({}, { onFault: (thrown: unknown) => faults.push(thrown), ...options });
    const session = connection();
    for (let round = 0; round < 3; round++) {
      const wire = call(session);
      wire.stream.write(begun());
      if (where === 'in an observer') {
        await until(() => wire.replies.length === 2);
        wire.stream.end();
      }
      await until(() => wire.status !== null);
      expect(wire.status).toBe(String(where === 'in an observer' ? status.OK : status.INTERNAL));
    }
    expect(faults.length).toBe(3);
    await until(() => running.running === 0);
    expect(guard.exchanges).toBe(0);
  });
});

test('a connection may carry 16 MiB that nobody has read, of which a call may carry 64 KiB', async () => {
  running = await startService();
  const session = connect(`http://${running.address}`);
  await new Promise((resolve) => session.once('remoteSettings', resolve));
  // The answer to a ping comes after the window.
  await new Promise((resolve) => session.ping(resolve));
  expect(session.state.remoteWindowSize).toBe(16 * 1024 * 1024);
  expect(session.remoteSettings?.initialWindowSize).toBe(65_535);
  session.destroy();
});
