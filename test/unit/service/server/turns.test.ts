import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeEvent } from '../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { ProcessCall } from '../../../../src/service/server/process.ts';
import { createStepQueue } from '../../../../src/service/server/step-queue.ts';
import { createTicker, type Ticker } from '../../../../src/service/server/ticker.ts';
import { exchangeOptions, headersOf } from '../../../support/exchange-options.ts';
import { messageOf } from '../../../support/extproc-client.ts';
import { processMethod } from '../../../support/proto-definitions.ts';

/** How many turns of the event loop a request's body takes, in a busy one: in each of them other calls are answered. */
const KiB = 1024;
const MiB = 1024 * KiB;
const bodyLimits = { ...exchangeOptions().bodyLimits, maxRequestBytes: 32 * MiB };

let ticker: Ticker;
let calls: ProcessCall[];
beforeEach(() => {
  ticker = createTicker(1000);
  calls = [];
});
afterEach(() => {
  for (const call of calls) call.closed();
  ticker.stop();
});

/** A call that has the headers of a request. */
function begun(request: BodyMode, headers: Readonly<Record<string, string>> = {}) {
  let replies = 0;
  const modes = { request, response: 'FULL_DUPLEX_STREAMED' } as const;
  const call = new ProcessCall(
    {
      ...{ metadata: {}, isBlocked: () => false, hasRoom: () => true, pause() {}, resume() {}, end() {}, cancel() {} },
      send() {
        replies += 1;
      },
    },
    {
      open: () => ({ exchange: new Exchange(exchangeOptions({ modes, bodyLimits })), modes, admission: null }),
      ...{ ticker, observers: [], worked() {}, refusalAfter: () => null, firstMessageMs: 1e9 },
      queues: { queued_once: { ...createStepQueue(0), hasTime: () => false }, in_steps: createStepQueue(0) },
      onFault(thrown) {
        throw thrown;
      },
    },
  );
  calls.push(call);
  const send = (event: ExchangeEvent) => call.message(processMethod.requestSerialize(messageOf(event)));
  const asked = headersOf({ ':method': 'POST', ':path': '/v1/responses', ...headers });
  send({ type: 'request_headers', headers: asked, endOfStream: false });
  return {
    send,
    shed: (error: ApiError) => call.shed(error),
    /** Turns from now on until there is one more reply. */
    async turns(): Promise<number> {
      const before = replies;
      let turns = 0;
      for (; replies === before; turns += 1) await setImmediate();
      return turns;
    },
    get replies() {
      return replies;
    },
  };
}

const bodies = new Map<number, Buffer>();

/** A request whose JSON is of that many bytes: messages of up to a MiB. */
function ofSize(size: number): Buffer {
  const known = bodies.get(size) ?? bodyOf(size);
  bodies.set(size, known);
  return known;
}

function bodyOf(size: number): Buffer {
  const body = (lengths: readonly number[]) =>
    JSON.stringify({ model: 'm', input: lengths.map((length) => ({ role: 'user', content: 'x'.repeat(length) })) });
  const lengths = Array.from({ length: Math.floor(size / MiB) }, () => MiB - KiB);
  return Buffer.from(body([...lengths, size - body([...lengths, 0]).length]));
}

/** From the last piece to its reply. */
async function turnsOf(mode: BodyMode, pieces: readonly Buffer[], headers = {}): Promise<number> {
  const call = begun(mode, headers);
  let before = 0;
  for (const [index, body] of pieces.entries()) {
    before = call.replies;
    call.send({ type: 'request_body', body, endOfStream: index === pieces.length - 1 });
  }
  return call.replies > before ? 0 : call.turns();
}

describe.each(['FULL_DUPLEX_STREAMED', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL'] as const)('a body in %s', (mode) => {
  it('of up to 256 KiB is translated at once, and of up to 4 MiB in a turn of its own', async () => {
    expect(await turnsOf(mode, [ofSize(256 * KiB)])).toBe(0);
    expect(await turnsOf(mode, [ofSize(256 * KiB + 1)])).toBe(1);
    expect(await turnsOf(mode, [ofSize(4 * MiB)])).toBe(1);
  });

  it('that is larger takes a turn for each 4 MiB that are written', async () => {
    const least = await turnsOf(mode, [ofSize(4 * MiB + 1)]);
    expect(least).toBeGreaterThan(1);
    expect(await turnsOf(mode, [ofSize(20 * MiB)])).toBeGreaterThanOrEqual(least + 3);
  });

  it('that is compressed takes several turns, since nobody knows how long it is', async () => {
    const body = gzipSync('{"model":"m","input":"Hi"}');
    expect(await turnsOf(mode, [body], { 'content-encoding': 'gzip' })).toBeGreaterThan(1);
  });
});

describe.each(['FULL_DUPLEX_STREAMED', 'STREAMED'] as const)('a body in pieces in %s', (mode) => {
  it('is translated with the last of them, as long as all of it takes', async () => {
    const [small, turn, long] = [ofSize(256 * KiB), ofSize(256 * KiB + 1), ofSize(5 * MiB)];
    expect(await turnsOf(mode, [small.subarray(0, 100), small.subarray(100)])).toBe(0);
    expect(await turnsOf(mode, [turn.subarray(0, 100), turn.subarray(100)])).toBe(1);
    expect(await turnsOf(mode, [long.subarray(0, -1), long.subarray(-1)])).toBeGreaterThan(1);
  });

  it('is over once it is refused: what was in flight is not read', async () => {
    const call = begun(mode);
    const before = call.replies;
    call.send({ type: 'request_body', body: Buffer.alloc(32 * MiB + 1, ' '), endOfStream: false });
    expect(call.replies).toBe(before + 1);
    call.send({ type: 'request_body', body: ofSize(5 * MiB), endOfStream: true });
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    expect(call.replies).toBe(before + 1);
  });
});

it('a body in full duplex waits for the trailers where they come, and is then as long', async () => {
  const call = begun('FULL_DUPLEX_STREAMED');
  call.send({ type: 'request_body', body: ofSize(5 * MiB), endOfStream: false });
  call.send({ type: 'request_trailers' });
  expect(await call.turns()).toBeGreaterThan(1);
});

describe('a piece of an answer', () => {
  const events = 'data:{}\n\n'.repeat(40_000);
  const end = '\n\ndata: {"error":{"message":"no"}}\n\n';

  /** A call that has the headers of an event stream. */
  function answered(headers: Readonly<Record<string, string>>) {
    const call = begun('FULL_DUPLEX_STREAMED');
    const body = Buffer.from('{"model":"m","input":"x","stream":true}');
    call.send({ type: 'request_body', body, endOfStream: true });
    const answer = { ':status': '200', 'content-type': 'text/event-stream', ...headers };
    call.send({ type: 'response_headers', headers: headersOf(answer), endOfStream: false });
    return call;
  }

  /** Turns until the first reply: to an error at the end of the piece. */
  async function turnsOf(body: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const call = answered(headers);
    const before = call.replies;
    call.send({ type: 'response_body', body, endOfStream: true });
    return call.replies > before ? 0 : call.turns();
  }

  it('that is decompressed takes a turn for each 64 KiB that it becomes', async () => {
    const plain = events + end;
    const body = gzipSync(plain);
    expect(body.length).toBeLessThan(2 * KiB);
    expect(await turnsOf(body, { 'content-encoding': 'gzip' })).toBe(Math.ceil(plain.length / (64 * KiB)));
  });

  it('that is long takes a turn for each 64 KiB', async () => {
    expect(await turnsOf(Buffer.from(events.slice(0, 9 * 30_000) + end))).toBe(5);
  });

  it('of up to 64 KiB takes one at the most', async () => {
    expect(await turnsOf(Buffer.from(end))).toBe(0);
    expect(await turnsOf(Buffer.from(events.slice(0, 9 * 6000) + end))).toBe(1);
  });

  it('is no longer read once its answer is ended for want of memory', async () => {
    const call = answered({ 'content-encoding': 'gzip' });
    const before = call.replies;
    call.send({ type: 'response_body', body: gzipSync(events + end), endOfStream: true });
    await setImmediate();
    expect(call.replies).toBe(before);
    call.shed(new ApiError('Too much.', { status: 503, code: 'overloaded' }));
    const shed = call.replies;
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    expect([shed > before, call.replies]).toEqual([true, shed]);
  });
});
