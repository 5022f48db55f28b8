import { EventEmitter } from 'node:events';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { acceptCall, type GrpcCall, type GrpcCallListener } from '../../../../src/service/server/grpc-call.ts';
import { frameHeadBytes, MessageFrameReader, putFrameHead } from '../../../../src/service/server/message-frames.ts';
import { holdTimers } from '../../../support/held-timers.ts';

/** A call on a stream that takes what is written while its caller reads, and what each of both is told, in order. */
function callOf(headers: Record<string, string> = {}, listener: Partial<GrpcCallListener> = {}) {
  const told: unknown[] = [];
  const faults: string[] = [];
  const wire = { reads: true };
  const stream = Object.assign(new EventEmitter(), {
    ...{ closed: false, destroyed: false, writableEnded: false, headersSent: false },
    writableLength: 0,
    respond(given: object, options: object) {
      stream.headersSent = true;
      told.push(['respond', given, options]);
    },
    write(bytes: Buffer) {
      const messages: string[] = [];
      new MessageFrameReader(1e6).push(bytes, { message: (message) => messages.push(String(message)) });
      told.push(['write', ...messages]);
      if (!wire.reads) stream.writableLength += bytes.length;
      return wire.reads;
    },
    end() {
      stream.writableEnded = true;
      stream.emit('wantTrailers');
    },
    sendTrailers: (trailers: object) => void told.push(['trailers', trailers]),
    close: (code: number) => void told.push(['reset', code]),
    destroy: () => void told.push('destroy'),
    pause: () => void told.push('pause'),
    resume: () => void told.push('resume'),
  });
  let call: GrpcCall | null = null;
  acceptCall(
    stream as unknown as ServerHttp2Stream,
    { 'content-type': 'application/grpc', ...headers },
    {
      maxMessageBytes: 1000,
      accept(accepted) {
        call = accepted;
        return {
          message: (bytes) => void told.push(['message', String(bytes)]),
          blocked: (bytes) => void told.push(['blocked', bytes]),
          drained: () => void told.push('drained'),
          halfClosed: () => void told.push('half-closed'),
          closed: () => void told.push('closed'),
          ...listener,
        };
      },
      onFault: (thrown) => void faults.push(String(thrown)),
    },
  );
  return { stream, wire, faults, take: () => told.splice(0), call: call as unknown as GrpcCall };
}

function framed(text: string): Buffer {
  const frame = Buffer.concat([Buffer.alloc(frameHeadBytes), Buffer.from(text)]);
  putFrameHead(frame);
  return frame;
}
const headers = { ':status': 200, 'content-type': 'application/grpc+proto' };
const begun = ['respond', headers, { waitForTrailers: true }];
/** The answer to a call that has a status and nothing else. */
const aloneWith = (code: number, message: string) => [
  'respond',
  { ...headers, 'grpc-status': code, 'grpc-message': encodeURI(message) },
  { endStream: true },
];

it('what is no gRPC is refused, and its errors end nothing', () => {
  const { stream, take, call } = callOf({ 'content-type': 'text/plain' });
  expect([take(), call]).toEqual([[['respond', { ':status': 415 }, { endStream: true }]], null]);
  stream.emit('error', new Error('reset'));
});

describe('a call', () => {
  it('answers messages at once, and those of a batch in one write', () => {
    const { stream, take, call } = callOf({}, { message: (bytes) => call.send(framed(String(bytes))) });
    for (const batch of [['a', 'b', 'c'], ['d']]) stream.emit('data', Buffer.concat(batch.map(framed)));
    call.send(framed('e'));
    expect(take()).toEqual([begun, ['write', 'a', 'b', 'c'], ['write', 'd'], ['write', 'e']]);
  });

  it('has its status behind its messages, or alone, and nothing after it', () => {
    const status = { code: 13, details: 'ü' };
    const trailers = { 'grpc-status': 13, 'grpc-message': '%C3%BC' };
    const alone = callOf();
    alone.call.end(status);
    expect(alone.take()).toEqual([aloneWith(13, 'ü'), 'resume']);
    const { stream, call, take } = callOf();
    call.send(framed('a'));
    call.end(status);
    call.end(status);
    call.send(framed('b'));
    stream.emit('data', framed('c'));
    expect(take()).toEqual([begun, ['write', 'a'], ['trailers', trailers], 'resume', 'resume']);
    expect(call.hasRoom()).toBe(false);
  });

  it('waits for a caller that does not read, with more than 64 KiB', () => {
    const { stream, wire, call, take } = callOf();
    const large = 'x'.repeat(64 * 1024 - frameHeadBytes);
    wire.reads = false;
    call.send(framed(large.slice(1)));
    expect([take().at(-1), call.isBlocked(), call.hasRoom()]).toEqual([['write', large.slice(1)], false, true]);
    stream.writableLength = 0;
    call.send(framed(large));
    expect(take().slice(-2)).toEqual(['pause', ['blocked', 64 * 1024]]);
    expect([call.isBlocked(), call.hasRoom()]).toEqual([true, false]);
    call.pause();
    stream.emit('drain');
    expect(call.isBlocked()).toBe(false);
    call.resume();
    expect(take()).toEqual(['pause', 'pause', 'drained', 'resume']);
    stream.emit('drain');
    expect(take(), 'it was not blocked').toEqual([]);
  });

  it('that is reset is found while it is blocked, and when its caller has sent all', () => {
    const { stream, call, take } = callOf();
    stream.closed = true;
    expect(call.isBlocked()).toBe(false);
    expect(take()).toEqual([]);
    stream.emit('end');
    expect(take()).toEqual(['half-closed', 'destroy']);
    call.pause();
    call.isBlocked();
    expect(take()).toEqual(['pause', 'destroy']);
    call.end({ code: 0, details: '' });
    expect(take()).toEqual(['destroy', 'resume']);
  });

  it('that is cancelled drops what was not sent', () => {
    const { stream, take, call } = callOf(
      {},
      {
        message(bytes) {
          for (const text of ['one', 'two']) call.send(framed(text + bytes));
          call.cancel();
        },
      },
    );
    stream.emit('data', framed('a'));
    expect(take()).toEqual(['resume', ['reset', constants.NGHTTP2_INTERNAL_ERROR], 'destroy']);
  });

  it('that is over tells its listener nothing more', () => {
    const { stream, take, faults } = callOf();
    for (const event of ['close', 'drain', 'end', 'close']) stream.emit(event);
    stream.emit('data', framed('a'));
    expect([take().filter((one) => one !== 'resume'), faults]).toEqual([['closed'], []]);
  });

  it('ends with what a message or a listener does wrong; of a defect the service is told', () => {
    const long = callOf();
    long.stream.emit('data', framed('x'.repeat(1001)));
    expect(long.take()).toMatchObject([
      aloneWith(8, 'Received message larger than max (1001 vs 1000)'),
      'resume',
      'resume',
      'closed',
    ]);
    expect(long.faults).toEqual([]);
    const broken = callOf(
      {},
      {
        halfClosed() {
          throw new Error('a defect');
        },
        closed() {
          throw new Error('another');
        },
      },
    );
    broken.stream.emit('end');
    expect(broken.take()).toMatchObject([
      aloneWith(13, 'The service failed on this call.'),
      'resume',
      'resume',
      'destroy',
    ]);
    expect(broken.faults).toEqual(['Error: a defect', 'Error: another']);
  });

  it.each([
    ['2S', 2000],
    ['1500m', 1500],
    ['3M', 180_000],
    ['1H', 3_600_000],
    ['7000000u', 7000],
    ['90000000n', 90],
    ['99999999H', 2 ** 31 - 1],
  ])('with the grpc-timeout %s ends after it', (timeout, ms) => {
    const timers = holdTimers(ms);
    const { take, stream } = callOf({ 'grpc-timeout': timeout });
    expect([timers.count, take()]).toEqual([1, []]);
    timers.pass();
    expect(take()).toMatchObject([aloneWith(4, 'Deadline exceeded'), 'resume', 'resume', 'closed']);
    stream.emit('close');
    const early = callOf({ 'grpc-timeout': timeout });
    early.stream.emit('close');
    expect(timers.count).toBe(0);
  });

  it.each(['', '5', '5X', '123456789S', 'S', ' 5S'])('with the grpc-timeout %j is refused', (timeout) => {
    const { take } = callOf({ 'grpc-timeout': timeout });
    expect(take()).toMatchObject([
      aloneWith(13, `Invalid grpc-timeout value "${timeout}"`),
      'resume',
      'resume',
      'closed',
    ]);
  });
});
