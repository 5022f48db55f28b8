import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { ExchangeEvent } from '../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { takeCollector } from '../../../../src/service/memory/heap.ts';
import type { Holder } from '../../../../src/service/memory/overload.ts';
import type { GrpcCall, GrpcCallListener } from '../../../../src/service/server/grpc-call.ts';
import { frameHeadBytes } from '../../../../src/service/server/message-frames.ts';
import { ProcessCall, type ProcessOptions } from '../../../../src/service/server/process.ts';
import { createStepQueue } from '../../../../src/service/server/step-queue.ts';
import { createTicker } from '../../../../src/service/server/ticker.ts';
import type { CallTimes } from '../../../../src/service/telemetry/observer.ts';
import { defaultModes, exchangeOptions, headersOf } from '../../../support/exchange-options.ts';
import { messageOf } from '../../../support/extproc-client.ts';
import { processMethod } from '../../../support/proto-definitions.ts';

const collect = takeCollector();

/** A call whose caller takes whatever it is sent. */
const idleCall: GrpcCall = {
  metadata: {},
  send() {},
  isBlocked: () => false,
  hasRoom: () => true,
  pause() {},
  resume() {},
  end() {},
  cancel() {},
};

/** Of an event loop that has no time left in this turn: whatever may wait does, each for a turn of its own. */
const busyQueues = (): ProcessOptions['queues'] => ({
  queued_once: { ...createStepQueue(0), hasTime: () => false },
  in_steps: createStepQueue(0),
});

/** Options of a call that nobody observes, with an exchange of its own. */
const callOptions = (given: Pick<ProcessOptions, 'ticker'> & Partial<ProcessOptions>): ProcessOptions => ({
  open: () => ({ exchange: new Exchange(exchangeOptions()), modes: defaultModes, admission: null }),
  observers: [],
  worked() {},
  refusalAfter: () => null,
  queues: busyQueues(),
  firstMessageMs: 1000,
  onFault() {},
  ...given,
});

const headers: ExchangeEvent = {
  type: 'request_headers',
  headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' }),
  endOfStream: false,
};

/** Opens exchanges, and notes their calls as the guard knows them. */
const noting =
  (calls: Holder[]): ProcessOptions['open'] =>
  (_metadata, _modes, call) => {
    calls.push(call);
    return { exchange: new Exchange(exchangeOptions()), modes: defaultModes, admission: null };
  };

type Send = (event: ExchangeEvent) => void;

/** Sends events to the call as Envoy would. */
const sender =
  (listener: GrpcCallListener): Send =>
  (event) =>
    listener.message(processMethod.requestSerialize(messageOf(event)));

/** A request for a stream, and the upstream's headers. */
function beginStream(send: Send): void {
  send(headers);
  send({ type: 'request_body', body: Buffer.from('{"model":"m","input":"Hi","stream":true}'), endOfStream: true });
  const answered = headersOf({ ':status': '200', 'content-type': 'text/event-stream' });
  send({ type: 'response_headers', headers: answered, endOfStream: false });
}

// Node's own handle of the stream, and with it all of this, may live long after the call.
test.each(['closed', 'halfClosed'] as const)('a call that is %s no longer refers to its exchange', async (how) => {
  const ticker = createTicker(1000);
  const call: GrpcCall = { ...idleCall };
  let exchange: WeakRef<Exchange> | null = null;
  const listener = new ProcessCall(
    call,
    callOptions({
      open() {
        const opened = new Exchange(exchangeOptions());
        exchange = new WeakRef(opened);
        return { exchange: opened, modes: defaultModes, admission: null };
      },
      ticker,
    }),
  );
  listener.message(processMethod.requestSerialize(messageOf(headers)));
  const isHeld = () => exchange?.deref() !== undefined;
  // What a WeakRef refers to stays for the turn in which it was made or read.
  await setImmediate();
  collect();
  expect(isHeld()).toBe(true);

  listener[how]();
  await setImmediate();
  collect();
  expect(isHeld()).toBe(false);
  listener.closed();
  ticker.stop();
});

// Hundreds of bodies may be completed by one read of a connection.
test('of bodies that are completed together in a busy turn each waits for its own, and small ones for none', async () => {
  const ticker = createTicker(1000);
  const queues = busyQueues();
  const bytes = 8 * 1024 * 1024;
  const options = exchangeOptions({
    bodyLimits: { maxRequestBytes: bytes, maxResponseBytes: bytes, maxErrorBytes: bytes, maxSseEventBytes: bytes },
  });
  const sent: string[] = [];
  const ask = (name: string, length: number) => {
    const listener = new ProcessCall(
      { ...idleCall, send: () => void sent.push(name) },
      callOptions({
        open: () => ({ exchange: new Exchange(options), modes: defaultModes, admission: null }),
        ticker,
        queues,
      }),
    );
    listener.message(processMethod.requestSerialize(messageOf(headers)));
    sent.pop();
    const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(length) }));
    listener.message(processMethod.requestSerialize(messageOf({ type: 'request_body', body, endOfStream: true })));
    return listener;
  };
  const MiB = 1024 * 1024;
  const listeners = [ask('5 MiB', 5 * MiB), ask('1 MiB', MiB), ask('2 MiB', 2 * MiB), ask('small', 1000)];
  expect(sent).toEqual(['small']);
  await setImmediate();
  expect(sent).toEqual(['small', '1 MiB']);
  await setImmediate();
  expect(sent).toEqual(['small', '1 MiB', '2 MiB']);
  while (sent.length < 4) await setImmediate();
  expect(sent).toEqual(['small', '1 MiB', '2 MiB', '5 MiB']);
  for (const listener of listeners) listener.closed();
  ticker.stop();
});

test('a call that the guard fails because of its own message opens no second exchange', () => {
  const ticker = createTicker(1000);
  let opened = 0;
  let closed = 0;
  const release = () => {
    closed += 1;
  };
  const holders: Holder[] = [];
  let isShort = false;
  const listener = new ProcessCall(
    idleCall,
    callOptions({
      open(_metadata, _modes, call) {
        opened += 1;
        holders.push(call);
        const exchange = new Exchange(exchangeOptions());
        const admission = { hold: () => null, setUnsent() {}, release };
        return { exchange, modes: defaultModes, admission };
      },
      ticker,
      worked() {
        if (isShort)
          holders[0]?.shed(new ApiError('short', { status: 503, type: 'server_error', code: 'server_overloaded' }));
      },
    }),
  );
  const send = sender(listener);
  send(headers);
  isShort = true;
  send({ type: 'request_body', body: Buffer.from('{'), endOfStream: false });
  expect([opened, closed]).toEqual([1, 1]);
  listener.closed();
  ticker.stop();
});

test.each([
  ['before the upstream answers', false, 'end'],
  ['while its caller reads nothing', true, 'cancel'],
])('a call that is cut for want of memory %s has failed, and is not aborted', (_, isBlocked, expected) => {
  const ticker = createTicker(1000);
  const holders: Holder[] = [];
  const seen: unknown[] = [];
  const end = (how: string) => () => void seen.push(how);
  const listener = new ProcessCall(
    { ...idleCall, isBlocked: () => isBlocked, end: end('end'), cancel: end('cancel') },
    callOptions({
      open: noting(holders),
      observers: [({ how, summary: { outcome, errorCode } }) => void seen.push([how, outcome, errorCode])],
      ticker,
    }),
  );
  if (isBlocked) beginStream(sender(listener));
  else sender(listener)(headers);
  holders[0]?.shed(new ApiError('short', { status: 503, type: 'server_error', code: 'server_overloaded' }));
  expect(seen).toEqual([['done', 'failed', 'server_overloaded'], expected]);
  ticker.stop();
});

test('bursts of many answers wait in a busy turn, tokens do not, and nothing is lost when the caller half-closes', async () => {
  const ticker = createTicker(1000);
  const queues = busyQueues();
  const sent: string[] = [];
  const chunk = (bytes: number) =>
    Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(bytes) } }] })}\n\n`);
  const answer = (name: string) => {
    const listener = new ProcessCall(
      {
        ...idleCall,
        send: (frame) => {
          if (frame.includes('response.output_text.delta')) sent.push(name);
        },
        end: () => void sent.push(`end of ${name}`),
      },
      callOptions({ ticker, queues }),
    );
    const send = sender(listener);
    beginStream(send);
    const body = (bytes: number) => send({ type: 'response_body', body: chunk(bytes), endOfStream: false });
    return { body, listener };
  };
  const [one, two, three, four] = [answer('1'), answer('2'), answer('3'), answer('4')];
  one.body(60_000);
  // Behind the burst of the same call.
  one.body(1);
  two.body(60_000);
  three.body(1);
  four.body(60_000);
  four.body(1);
  expect(sent).toEqual(['3']);
  await setImmediate();
  expect(sent).toEqual(['3', '1', '1']);
  await setImmediate();
  expect(sent).toEqual(['3', '1', '1', '2']);
  four.listener.halfClosed();
  await setImmediate();
  expect(sent.slice(4)).toEqual(['4', '4', 'end of 4']);
  for (const { listener } of [one, two, three, four]) listener.closed();
  ticker.stop();
});

test('a call that is failed while a burst of its answer waits tells its client, and sends nothing after that', async () => {
  const ticker = createTicker(1000);
  const sent: string[] = [];
  const holders: Holder[] = [];
  const listener = new ProcessCall(
    { ...idleCall, send: (frame) => void sent.push(frame.includes('response.failed') ? 'failed' : 'other') },
    callOptions({
      open: noting(holders),
      ticker,
    }),
  );
  const send = sender(listener);
  beginStream(send);
  const chunk = (content: string) =>
    Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
  send({ type: 'response_body', body: chunk('first'), endOfStream: false });
  sent.length = 0;
  send({ type: 'response_body', body: chunk('x'.repeat(60_000)), endOfStream: false });
  holders[0]?.shed(new ApiError('short', { status: 503, type: 'server_error', code: 'server_overloaded' }));
  expect(sent).toEqual(['failed']);
  await setImmediate();
  expect(sent).toEqual(['failed']);
  listener.closed();
  ticker.stop();
});

test('a body that has waited too long for its turn gets an answer while the proxy still waits for one', async () => {
  const ticker = createTicker(1000);
  const sent: string[] = [];
  const late = new ApiError('late', { status: 503, type: 'server_error', code: 'server_overloaded' });
  const listener = new ProcessCall(
    { ...idleCall, send: (frame) => void sent.push(String(frame)) },
    callOptions({ ticker, refusalAfter: (waitedMs) => (waitedMs > 0 ? late : null) }),
  );
  const send = sender(listener);
  // Compressed bodies take steps, however short they are.
  const compressed = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-encoding': 'gzip' });
  send({ type: 'request_headers', headers: compressed, endOfStream: false });
  const body = gzipSync('{"model":"m","input":"Hi"}');
  sent.length = 0;
  send({ type: 'request_body', body, endOfStream: true });
  expect(sent).toEqual([]);
  await setImmediate();
  expect(sent).toEqual([expect.stringContaining('"message":"late"')]);
  listener.closed();
  ticker.stop();
});

test('bursts are translated as they come while the turn has time left', async () => {
  const ticker = createTicker(1000);
  let ms = 0;
  const queues = { queued_once: createStepQueue(100, () => ms), in_steps: createStepQueue(0) };
  const sent: string[] = [];
  const body = Buffer.from(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(60_000) } }] })}\n\n`,
  );
  const listeners = ['1', '2', '3'].map((name) => {
    const send = (frame: Buffer) => {
      if (frame.includes('response.output_text.delta')) sent.push(name);
    };
    const listener = new ProcessCall({ ...idleCall, send }, callOptions({ ticker, queues }));
    beginStream(sender(listener));
    sender(listener)({ type: 'response_body', body, endOfStream: false });
    ms += 50;
    return listener;
  });
  expect(sent).toEqual(['1', '2']);
  await setImmediate();
  expect(sent).toEqual(['1', '2', '3']);
  for (const listener of listeners) listener.closed();
  ticker.stop();
});

const textOf300kB = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(300_000) } }] })}\n\n`;
const finished = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

test.each([
  ['a burst behind the long end of an answer', [textOf300kB + finished, `: ${'-'.repeat(60_000)}\n\n`]],
  ['the end of the body behind a long end that waited itself', [textOf300kB, finished, ': end\n\n']],
])('%s is answered before a half-closed call ends', async (_, bodies) => {
  const ticker = createTicker(1000);
  const sent: string[] = [];
  const listener = new ProcessCall(
    {
      ...idleCall,
      send(frame) {
        const { response_body: body } = processMethod.responseDeserialize(frame.subarray(frameHeadBytes));
        const isLast = body?.response?.body_mutation?.streamed_response?.end_of_stream;
        sent.push(isLast ? 'last' : 'reply');
      },
      end: () => void sent.push('end'),
    },
    callOptions({ ticker }),
  );
  const send = sender(listener);
  beginStream(send);
  sent.length = 0;
  for (const [index, body] of bodies.entries())
    send({ type: 'response_body', body: Buffer.from(body), endOfStream: index === bodies.length - 1 });
  listener.halfClosed();
  while (!sent.includes('end')) await setImmediate();
  expect(sent.filter((name) => name !== 'reply')).toEqual(['last', 'end']);
  ticker.stop();
});

test('a call that the guard resumes while a burst waits is not read before that', async () => {
  const ticker = createTicker(1000);
  const holders: Holder[] = [];
  let isReading = true;
  const read = (is: boolean) => () => {
    isReading = is;
  };
  const listener = new ProcessCall(
    { ...idleCall, pause: read(false), resume: read(true) },
    callOptions({
      open: noting(holders),
      ticker,
    }),
  );
  const send = sender(listener);
  beginStream(send);
  send({ type: 'response_body', body: Buffer.from(textOf300kB), endOfStream: false });
  holders[0]?.pause();
  holders[0]?.resume();
  expect(isReading).toBe(false);
  for (let step = 0; step < 5; step += 1) await setImmediate();
  expect(isReading).toBe(true);
  listener.closed();
  ticker.stop();
});

test('the time for which a long answer waits for its reader is no silence of the upstream', async () => {
  let tick = (_at: number): void => {};
  let hasRoom = true;
  const sent: string[] = [];
  const listener = new ProcessCall(
    { ...idleCall, send: (frame) => void sent.push(frame.toString()), hasRoom: () => hasRoom },
    callOptions({
      ticker: {
        add(added) {
          tick = (at) => added.tick(at);
        },
        remove() {},
        stop() {},
      },
    }),
  );
  const send = sender(listener);
  const sendBody = (text: string) => send({ type: 'response_body', body: Buffer.from(text), endOfStream: false });
  beginStream(send);
  tick(0);
  hasRoom = false;
  sendBody(`${textOf300kB}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`);
  for (let step = 0; step < 5; step += 1) await setImmediate();
  for (let at = 500; at < 60_000; at += 500) tick(at);
  hasRoom = true;
  listener.drained();
  tick(60_000);
  sendBody(
    'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\ndata: [DONE]\n\n',
  );
  expect(sent.join('')).toContain('"total_tokens":3');
  listener.closed();
});

test.each([1, 5])('a body of %d MiB is answered before a call that the caller has half-closed ends', async (size) => {
  const ticker = createTicker(1000);
  const bytes = 8 * 1024 * 1024;
  const options = exchangeOptions({
    bodyLimits: { maxRequestBytes: bytes, maxResponseBytes: bytes, maxErrorBytes: bytes, maxSseEventBytes: bytes },
  });
  const sent: string[] = [];
  const listener = new ProcessCall(
    { ...idleCall, send: () => void sent.push('reply'), end: () => void sent.push('end') },
    callOptions({
      open: () => ({ exchange: new Exchange(options), modes: defaultModes, admission: null }),
      ticker,
    }),
  );
  const send = sender(listener);
  send(headers);
  sent.length = 0;
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(size * 1024 * 1024) }));
  send({ type: 'request_body', body, endOfStream: true });
  listener.halfClosed();
  while (!sent.includes('end')) await setImmediate();
  expect(sent).toEqual(['reply', 'end']);
  ticker.stop();
});

/** The times of a call in which that body asks, and that one answers. */
function timesOf(request: object, path: string, contentType: string, answer: string): CallTimes {
  const ticker = createTicker(1000);
  const call: GrpcCall = { ...idleCall };
  let times: CallTimes | null = null;
  const listener = new ProcessCall(call, {
    open: () => ({ exchange: new Exchange(exchangeOptions()), modes: defaultModes, admission: null }),
    observers: [
      (ended) => {
        times = ended.times;
      },
    ],
    ticker,
    worked() {},
    refusalAfter: () => null,
    queues: busyQueues(),
    firstMessageMs: 1000,
    onFault() {},
  });
  const messages: ExchangeEvent[] = [
    { ...headers, headers: headersOf({ ':method': 'POST', ':path': path }) } as ExchangeEvent,
    { type: 'request_body', body: Buffer.from(JSON.stringify(request)), endOfStream: true },
    {
      type: 'response_headers',
      headers: headersOf({ ':status': '200', 'content-type': contentType }),
      endOfStream: false,
    },
    { type: 'response_body', body: Buffer.from(answer), endOfStream: true },
  ];
  for (const message of messages) listener.message(processMethod.requestSerialize(messageOf(message)));
  listener.closed();
  ticker.stop();
  if (times === null) throw new Error('the observer was not told of the end');
  return times;
}

const sse = 'text/event-stream';
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const text = `${chunk({ content: 'Hi' })}${chunk({}, 'stop')}data: [DONE]\n\n`;
const json = JSON.stringify({ choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] });
const responses = '/v1/responses';
const instructions = 'word '.repeat(1_800);

test.each([
  ['a stream', { stream: true }, sse, text],
  // `response.created` and `response.in_progress` repeat them before the first delta.
  ['a stream after long instructions', { stream: true, instructions }, sse, text],
  ['reasoning', { stream: true }, sse, `${chunk({ reasoning_content: 'Hm' })}${chunk({}, 'length')}`],
  ['a stream made of JSON', { stream: true, instructions }, 'application/json', json],
])('%s has a first token', (_, fields, contentType, answer) => {
  const times = timesOf({ model: 'm', input: 'Hi', ...fields }, responses, contentType, answer);
  expect(times.firstToken).toBeGreaterThan(0);
  expect(times.firstToken).toBeGreaterThanOrEqual(times.firstByte ?? Number.NaN);
});

test.each([
  ['JSON', {}, sse, text],
  ['a refusal', { stream: true, background: true }, sse, text],
  ['a stream that fails before it', { stream: true }, sse, 'data: {"error":{"message":"no"}}\n\n'],
  ['a summary', { stream: true, input: [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }] }, sse, text],
])('%s has no first token', (_, fields, contentType, answer) => {
  const times = timesOf({ model: 'm', input: 'Hi', ...fields }, responses, contentType, answer);
  expect(times).toMatchObject({ firstByte: expect.any(Number), firstToken: null });
});

test('what is passed has no first token', () => {
  const delta = 'event: response.output_text.delta\ndata: {}\n\n';
  expect(timesOf({}, '/v1/other', sse, delta).firstToken).toBeNull();
});

test('the times of a call are those of its first message, its first byte, its first token and its end', () => {
  let now = 1000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const took = { request_headers: 1, request_body: 2, response_headers: 4, response_body: 8 } as const;
  class TimedExchange extends Exchange {
    override handle(event: ExchangeEvent) {
      now += took[event.type as keyof typeof took] ?? 0;
      return super.handle(event);
    }
  }
  const ticker = createTicker(1000);
  const all: CallTimes[] = [];
  const listener = new ProcessCall(
    idleCall,
    callOptions({
      open: () => ({ exchange: new TimedExchange(exchangeOptions()), modes: defaultModes, admission: null }),
      observers: [({ times }) => void all.push(times)],
      ticker,
    }),
  );
  now = 5000; // it waits for its first message
  const send = sender(listener);
  const sendAt = (ms: number, event: ExchangeEvent) => {
    now = 5000 + ms;
    send(event);
  };
  const sendText = (ms: number, body: string) =>
    sendAt(ms, { type: 'response_body', body: Buffer.from(body), endOfStream: false });
  sendAt(0, headers);
  sendAt(10, {
    type: 'request_body',
    body: Buffer.from('{"model":"m","input":"Hi","stream":true}'),
    endOfStream: true,
  });
  const answered = headersOf({ ':status': '200', 'content-type': 'text/event-stream' });
  sendAt(100, { type: 'response_headers', headers: answered, endOfStream: false });
  sendText(200, ': a comment\n\n');
  sendText(300, chunk({ role: 'assistant', content: '' }));
  sendText(400, chunk({ content: 'Hi' }));
  sendText(500, chunk({ content: ' again' }));
  now = 6000;
  listener.closed();
  listener.closed();
  ticker.stop();
  expect(all).toEqual([{ duration: 1000, firstByte: 208, firstToken: 408, work: { request: 3, response: 36 } }]);
});

test('a call that is passed sends no byte to its client', () => {
  const ticker = createTicker(1000);
  const all: CallTimes[] = [];
  const listener = new ProcessCall(idleCall, callOptions({ observers: [({ times }) => void all.push(times)], ticker }));
  sender(listener)({ type: 'request_headers', headers: headersOf({ ':path': '/v1/models' }), endOfStream: true });
  listener.closed();
  ticker.stop();
  expect(all).toMatchObject([{ firstByte: null, firstToken: null }]);
});

test('a long answer that fails while it is sent ends its call, and its log line says so', () => {
  const ticker = createTicker(1000);
  const defect = new TypeError('a defect');
  const exchange = Object.assign(new Exchange(exchangeOptions()), {
    handle: () =>
      (function* () {
        yield* [];
        throw defect;
      })(),
  });
  const ended: unknown[] = [];
  const listener = new ProcessCall(
    { ...idleCall, end: ({ code, details }) => void ended.push(code, details) },
    callOptions({
      ticker,
      open: () => ({ exchange, modes: defaultModes, admission: null }),
      observers: [({ how, cause }) => ended.push(how, cause)],
    }),
  );
  sender(listener)(headers);
  expect(ended).toEqual(['crashed', defect, 13, 'The service failed on this call.']);
  listener.closed();
  ticker.stop();
});
