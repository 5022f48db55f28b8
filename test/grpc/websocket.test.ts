import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { findFreePort } from '../../mesh/ports.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { OverloadGuard } from '../../src/service/memory/overload.ts';
import type { ClosedConnection, WebSocketRefusal } from '../../src/service/websocket/client-socket.ts';
import {
  startWebSocketEndpoint,
  type WebSocketEndpoint,
  type WebSocketOptions,
} from '../../src/service/websocket/websocket-server.ts';
import { holdTimers } from '../support/held-timers.ts';
import { roomyGuard } from '../support/roomy-guard.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { settled } from '../support/settled.ts';
import { cut, eventStream, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { HandshakeError, openWebSocket } from '../support/websocket-client.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** A proxy that answers turns by itself. */
let proxy: ScriptedUpstream;
beforeAll(async () => {
  proxy = await startScriptedUpstream({ http2: true });
});
afterAll(() => proxy.close());

let closed: ClosedConnection[];
let refused: WebSocketRefusal[];
/** What a handler has thrown. */
let failures: unknown[];
let endpoint: WebSocketEndpoint;
let guard: OverloadGuard;
beforeEach(() => {
  closed = [];
  refused = [];
  failures = [];
});
afterEach(async () => {
  await endpoint.drain(0, 0);
  expect(failures).toEqual([]);
});

async function start(options: Partial<WebSocketOptions> = {}, maxBufferedBytes = 64 * MiB): Promise<void> {
  guard = roomyGuard({ maxBufferedBytes });
  const [closedHere, refusedHere, failuresHere] = [closed, refused, failures]; // what comes late is not the next test's
  endpoint = await startWebSocketEndpoint({
    listen: { host: '127.0.0.1', port: 0 },
    forwardTo: `http://127.0.0.1:${proxy.port}/v1`,
    limits: { maxLanes: 4, maxWaiting: 8, maxUnasked: 40, maxEventBytes: MiB, maxErrorBytes: MiB, maxValues: 100_000 },
    maxConnections: 100,
    maxMessageBytes: MiB,
    origins: [],
    lifetimeMs: 600_000,
    pingMs: 30_000,
    writeTimeoutMs: 60_000,
    memory: guard,
    observer: {
      closed: (line) => closedHere.push(line),
      refused: (refusal) => refusedHere.push(refusal),
      turnEnded: () => {},
      failed: (thrown) => failuresHere.push(thrown),
    },
    ...options,
  });
}

const url = () => `http://${endpoint.address}/v1/responses`;
const open = (headers = {}) => openWebSocket(url(), headers);
const event = (fields: Readonly<Record<string, unknown>>) =>
  `event: ${fields['type']}\ndata: ${JSON.stringify(fields)}\n\n`;
const completed = (id: string, output: readonly unknown[] = []) =>
  event({ type: 'response.completed', response: { id, output } });
const done = 'data: [DONE]\n\n';
const closedLine = async () => {
  await expect.poll(() => closed.length).toBe(1);
  return closed[0];
};

describe('messages that cannot be', () => {
  test('a binary one closes the connection with 1003', async () => {
    await start();
    const client = await open();
    client.socket.send(Buffer.from('{}'), { binary: true });
    expect(await client.closed).toMatchObject({ code: 1003 });
    expect(await closedLine()).toMatchObject({ code: 1003, reason: 'binary_message' });
  });

  test('one that is larger than may be closes it with 1009', async () => {
    await start();
    const client = await open();
    client.send('x'.repeat(MiB + 1));
    expect(await client.closed).toMatchObject({ code: 1009 });
    expect(await closedLine()).toMatchObject({ reason: 'ws_err_unsupported_message_length' });
  });

  test('one that is not UTF-8 closes it with 1007', async () => {
    await start();
    const client = await open();
    client.socket.send(Buffer.from([0xc3, 0x28]), { binary: false });
    expect(await client.closed).toMatchObject({ code: 1007 });
    expect(await closedLine()).toMatchObject({ reason: 'ws_err_invalid_utf8' });
  });

  test('a frame without a mask closes it with 1002', async () => {
    await start();
    const socket = await rawClient();
    socket.write(Buffer.from([0x81, 0x01, 0x78]));
    expect(await closedLine()).toMatchObject({ code: 1006, reason: 'ws_err_expected_mask' });
    socket.destroy();
  });
});

test('a message in many fragments, with pings between them, is one message', async () => {
  await start();
  proxy.script('fragments', { headers: eventStream, body: [completed('resp_1'), done] });
  const client = await open();
  const text = JSON.stringify({ type: 'response.create', model: 'fragments', input: 'ä'.repeat(1000) });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 7) {
    client.socket.send(bytes.subarray(at, at + 7), { binary: false, fin: at + 7 >= bytes.length });
    if (at % 70 === 0) client.socket.ping();
  }
  await client.message(({ type }) => type === 'response.completed');
  expect(proxy.received('fragments')[0]?.json()).toEqual({ model: 'fragments', input: 'ä'.repeat(1000), stream: true });
  await client.close();
});

test('pings are no bytes of a message', async () => {
  await start();
  const client = await open();
  for (let n = 0; n < 20; n++) {
    const answered = once(client.socket, 'pong');
    client.socket.ping(Buffer.alloc(125));
    await answered;
  }
  expect(guard.held).toBeLessThan(20 * KiB + 1000);
  await client.close();
});

test('of requests beyond the limit each is refused in its place, and a flood of them ends the connection', async () => {
  await start();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  proxy.script('flood', { headers: eventStream, body: [() => held, completed('resp_1'), done] });
  const client = await open();
  const ask = (count: number) => {
    for (let index = 0; index < count; index++) client.send({ type: 'response.create', model: 'flood', input: 'Hi' });
  };
  ask(18); // one runs, eight wait
  await expect.poll(() => proxy.received('flood').length).toBe(1);
  expect(client.received).toEqual([]);
  release();
  await expect.poll(() => client.received.length).toBe(18);
  expect(client.received.map(({ type, error }) => error?.['code'] ?? type)).toEqual([
    ...Array.from({ length: 9 }, () => 'response.completed'),
    ...Array.from({ length: 9 }, () => 'too_many_waiting_responses'),
  ]);
  expect(proxy.received('flood')).toHaveLength(9);

  const never = new Promise<void>(() => {});
  proxy.script('flood', { headers: eventStream, body: [() => never] });
  const before = client.received.length;
  ask(2000);
  expect(await client.closed).toEqual({ code: 1008, reason: 'too_many_refused_messages' });
  // One runs, eight wait, 32 were to be refused in their places: all that the client is told is why it is closed.
  expect(client.received.slice(before).map(({ error }) => error?.['code'])).toEqual(['too_many_refused_messages']);
  await expect.poll(() => guard.held).toBe(0);
});

test('response.interrupt cuts the upstream, the next turn continues from there, and nothing stays held', async () => {
  await start();
  const item = { type: 'message', role: 'assistant', content: 'Whole.' };
  proxy.script(
    'steered',
    {
      headers: eventStream,
      body: [
        event({ type: 'response.created', response: { id: 'resp_1' } }),
        event({ type: 'response.output_item.done', output_index: 0, item }),
        () => new Promise(() => {}),
      ],
    },
    { headers: eventStream, body: [completed('resp_2'), done] },
  );
  const client = await open();
  client.send({ type: 'response.create', model: 'steered', input: [] });
  await client.message(({ type }) => type === 'response.output_item.done');
  client.send({ type: 'response.interrupt', response_id: 'resp_1', mode: 'discard_partial_items' });
  await client.message(({ type }) => type === 'response.incomplete');
  expect(await proxy.received('steered')[0]?.over).toBe(false);
  await client.turn({ model: 'steered', previous_response_id: 'resp_1', input: [] });
  expect(proxy.received('steered')[1]?.json()['input']).toEqual([item]);
  await client.close();
  expect((await closedLine())?.turns).toEqual({ incomplete: 1, completed: 1 });
  expect(guard.held).toBe(0);
});

test('a turn or a message that is refused before the proxy is asked is told of, with the connection’s id and the turn’s number', async () => {
  await start();
  const client = await open({ 'x-request-id': 'conversation-7' });
  await client.turn({ model: 'm', input: 'Hi', background: true });
  await client.turn({ model: 'm', input: 'Hi', previous_response_id: 'resp_0' });
  client.send('{');
  await client.message(({ error }) => error?.['code'] === 'invalid_json');
  expect(refused).toMatchObject([
    { id: 'conversation-7', turn: 1, status: 400, error: { code: 'unsupported_value', param: 'background' } },
    { id: 'conversation-7', turn: 2, status: 400, error: { code: 'previous_response_not_found' } },
    { id: 'conversation-7', turn: null, status: 400, error: { code: 'invalid_json', param: null } },
  ]);
  await client.close();
});

describe('a client that does not read', () => {
  const large = event({ type: 'response.output_text.delta', delta: 'x'.repeat(64 * KiB) });

  test('stops its turn’s answer, and is cut after a time', async () => {
    await start({ writeTimeoutMs: 300 });
    let sent = 0;
    proxy.script('endless', {
      headers: eventStream,
      body: (function* () {
        for (;;) {
          sent += large.length;
          yield large;
        }
      })(),
    });
    const client = await open();
    client.socket.pause();
    client.send({ type: 'response.create', model: 'endless', input: 'Hi' });
    const line = await closedLine();
    expect(line).toMatchObject({ code: 1006, reason: 'client_does_not_read', turns: { aborted: 1 } });
    expect(await proxy.received('endless')[0]?.over).toBe(false);
    // The windows of two connections and what this process holds; without a pause it would be whatever fits into 300 ms.
    expect(sent).toBeLessThan(64 * MiB);
    client.socket.terminate();
  });

  test('gets all of it once it reads again', async () => {
    await start();
    const count = 400;
    let sent = 0;
    proxy.script('later', {
      headers: eventStream,
      body: (function* () {
        for (; sent < count; sent += 1) yield large;
        yield completed('resp_1');
        yield done;
      })(),
    });
    const client = await open();
    client.socket.pause();
    client.send({ type: 'response.create', model: 'later', input: 'Hi' });
    await expect.poll(() => proxy.received('later').length).toBe(1);
    expect(await settled(() => sent)).toBeLessThan(count);
    client.socket.resume();
    await client.message(({ type }) => type === 'response.completed');
    expect(client.received).toHaveLength(count + 1);
    await client.close();
  });
});

test('a client that answers no ping is cut', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  await start();
  const lively = await open();
  const socket = await rawClient();
  const pinged = once(lively.socket, 'ping');
  vi.advanceTimersByTime(30_000);
  await pinged;
  // What the client sends arrives in order: with this answer its pong was there.
  const answered = once(lively.socket, 'pong');
  lively.socket.ping();
  await answered;
  vi.advanceTimersByTime(30_000);
  expect(await closedLine()).toMatchObject({ code: 1006, reason: 'no_pong' });
  expect(lively.socket.readyState).toBe(WebSocket.OPEN);
  socket.destroy();
  await lively.close();
});

test('a client that reads no pongs is cut, and the log says why', async () => {
  await start();
  const socket = await rawClient();
  socket.pause();
  const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125]), Buffer.alloc(4 + 125)]);
  const many = Buffer.concat(Array.from({ length: 1000 }, () => ping));
  const send = () => {
    while (!socket.destroyed && socket.write(many));
  };
  socket.on('drain', send);
  socket.on('error', () => {});
  send();
  expect(await closedLine()).toMatchObject({ code: 1006, reason: 'client_does_not_read' });
  socket.destroy();
});

test('a connection ends at its time limit, with words', async () => {
  await start({ lifetimeMs: 50 });
  const client = await open();
  await client.message(({ error }) => error?.['code'] === 'websocket_connection_limit_reached');
  expect(await client.closed).toEqual({ code: 1001, reason: 'websocket_connection_limit_reached' });
});

describe('memory', () => {
  const ask = (model: string, bytes: number) => ({ model, input: 'x'.repeat(bytes) });

  test('is kept for continuations only as far as requests leave it', async () => {
    await start({}, MiB);
    proxy.script('keeps', { headers: eventStream, body: [completed('resp_1'), done] });
    const client = await open();
    await client.turn(ask('keeps', 600 * KiB));
    expect(endpoint.keptBytes).toBeGreaterThan(600 * KiB);
    const admission = guard.admit();
    if (!('release' in admission)) throw admission;
    expect(admission.hold(900 * KiB, 900 * KiB)).toBeNull();
    expect({ bytes: endpoint.keptBytes, evictions: endpoint.evictions }).toEqual({ bytes: 0, evictions: 1 });
    admission.release();
    expect(await client.turn({ model: 'keeps', previous_response_id: 'resp_1', input: '?' })).toMatchObject([
      { error: { code: 'previous_response_not_found' } },
    ]);
    await client.close();
  });

  /** A connection with a turn that runs until `release`, whose own message waits no more. */
  async function busy(model: string) {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    proxy.script(model, {
      headers: eventStream,
      body: [event({ type: 'response.created', response: { id: 'resp_1' } }), () => held],
    });
    const client = await open();
    client.send({ type: 'response.create', ...ask(model, 1) });
    await client.message(({ type }) => type === 'response.created');
    return { client, release };
  }

  test('that waiting messages have no room in refuses them', async () => {
    await start({}, 100 * KiB);
    const { client, release } = await busy('waits');
    client.send({ type: 'response.create', ...ask('waits', 60 * KiB) });
    // On a lane of its own: on the other it would be answered once the turn that runs has ended.
    client.send({ type: 'response.create', stream_id: 'b', ...ask('waits', 60 * KiB) });
    expect(await client.message(({ type }) => type === 'error')).toMatchObject({
      status: 503,
      error: { code: 'server_overloaded' },
      headers: { 'retry-after': '2' },
    });
    release();
    client.socket.terminate();
    await expect.poll(() => guard.held).toBe(0);
  });

  test('that a message has no room in while it arrives closes its connection with 1013', async () => {
    await start({}, 600 * KiB);
    const { client, release } = await busy('arrives');
    for (let index = 0; index < 3; index++) client.send({ type: 'response.create', ...ask('arrives', 250 * KiB) });
    expect(await client.closed).toEqual({ code: 1013, reason: 'server_overloaded' });
    expect(await closedLine()).toMatchObject({ code: 1013, reason: 'server_overloaded' });
    release();
    await expect.poll(() => guard.held).toBe(0);
  });

  test('that is short stops the reading of a connection, until it is not', async () => {
    const holders: Parameters<typeof guard.enter>[0][] = [];
    await start({
      memory: {
        refusal: () => null,
        setStore: () => () => {},
        worked() {},
        enter(holder) {
          holders.push(holder);
          return guard.enter(holder);
        },
      },
    });
    const answer = { headers: eventStream, body: [completed('resp_1'), done] };
    proxy.script('paused', answer);
    proxy.script('other', answer);
    const client = await open();
    holders[0]?.pause();
    let isAnswered = false;
    const turn = client.turn(ask('paused', 1)).then(() => {
      isAnswered = true;
    });
    const other = await open();
    await other.turn(ask('other', 1));
    expect([isAnswered, proxy.received('paused')]).toEqual([false, []]);
    holders[0]?.resume();
    await turn;
    await Promise.all([client.close(), other.close()]);
  });

  test('is given back at once when its client does not read', async () => {
    let shed = (_error: ApiError) => {};
    await start({
      memory: {
        refusal: () => null,
        setStore: () => () => {},
        worked() {},
        enter(holder) {
          shed = (error) => holder?.shed(error);
          return guard.enter(holder);
        },
      },
    });
    const large = event({ type: 'response.output_text.delta', delta: 'x'.repeat(64 * KiB) });
    proxy.script('unread', { headers: eventStream, body: [...Array.from({ length: 400 }, () => large), cut] });
    const client = await open();
    client.socket.pause();
    client.send({ type: 'response.create', ...ask('unread', 1) });
    await expect.poll(() => guard.held).toBeGreaterThan(256 * KiB);
    holdTimers(30_000); // what a closing handshake waits that nobody answers
    shed(new ApiError('Memory is short.', { status: 503, type: 'server_error', code: 'server_overloaded' }));
    expect(await closedLine()).toMatchObject({ code: 1013, reason: 'server_overloaded', turns: { aborted: 1 } });
    expect(guard.held).toBe(0);
    client.socket.terminate();
  });

  test('is all given back when connections are gone', async () => {
    await start();
    proxy.script('gone', { headers: eventStream, body: [completed('resp_1'), done] });
    const clients = await Promise.all(Array.from({ length: 20 }, () => open()));
    await Promise.all(clients.map((client) => client.turn(ask('gone', 10 * KiB))));
    expect(endpoint.keptBytes).toBeGreaterThan(200 * KiB);
    // Of the turns nothing is left: the connections are open, and a frame's head may begin the next message.
    await expect.poll(() => guard.held - endpoint.keptBytes).toBeLessThanOrEqual(20 * (20 * KiB + 16));
    for (const client of clients) client.socket.terminate();
    await expect.poll(() => endpoint.keptBytes).toBe(0);
    expect({ connections: endpoint.connections, buffered: guard.held }).toEqual({
      connections: 0,
      buffered: 0,
    });
  });
});

describe('the proxy', () => {
  test('that breaks off is an error of the turn, and the connection goes on', async () => {
    await start();
    proxy.script(
      'breaks',
      { headers: eventStream, body: [event({ type: 'response.output_text.delta', delta: 'x' }), 20, cut] },
      { headers: eventStream, body: [completed('resp_1'), done] },
    );
    const client = await open();
    const broken = await client.turn({ model: 'breaks', input: 'Hi' });
    expect(broken.at(-1)).toMatchObject({ status: 502, error: { code: 'upstream_stream_truncated' } });
    expect((await client.turn({ model: 'breaks', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
    await client.close();
  });

  test('that is not there is an error of the turn', async () => {
    await start({ forwardTo: 'http://127.0.0.1:1/v1' });
    const client = await open();
    expect(await client.turn({ model: 'm', input: 'Hi' })).toMatchObject([
      { status: 502, error: { code: 'upstream_unavailable', message: expect.stringContaining('ECONNREFUSED') } },
    ]);
    await client.close();
  });

  test('gets the query of the handshake, and nothing else chooses where a turn goes', async () => {
    await start();
    proxy.script('query', { headers: eventStream, body: [completed('resp_1'), done] });
    const client = await openWebSocket(`${url()}?api-version=2`, { host: 'api.example' });
    await client.turn({ model: 'query', input: 'Hi' });
    expect(proxy.received('query')[0]).toMatchObject({
      path: '/v1/responses?api-version=2',
      headers: { ':authority': 'api.example' },
    });
    await client.close();
  });
});

describe('a handshake', () => {
  const refusal = async (address: string, headers = {}) => {
    const error = await openWebSocket(address, headers).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof HandshakeError)) throw error ?? new Error('it was accepted');
    return { status: error.status, code: JSON.parse(error.body).error.code, retryAfter: error.headers['retry-after'] };
  };

  test('beyond the limit of connections is a 503 that says when to try again', async () => {
    await start({ maxConnections: 1 });
    const client = await open();
    expect(await refusal(url())).toEqual({ status: 503, code: 'server_overloaded', retryAfter: '2' });
    await client.close();
    await expect.poll(() => endpoint.connections).toBe(0);
    await (await open()).close();
    expect(refused).toMatchObject([{ id: null, status: 503, error: { code: 'server_overloaded' } }]);
  });

  test('of a page whose origin is not allowed is a 403, on another path a 404', async () => {
    await start({ origins: ['https://app.example'] });
    expect(await refusal(url(), { origin: 'https://app.example.evil' })).toMatchObject({
      status: 403,
      code: 'origin_not_allowed',
    });
    expect(await refusal(url().replace('responses', 'models'))).toMatchObject({ status: 404, code: 'not_found' });
    await (await open({ origin: 'https://app.example' })).close();
  });

  test('may have any name for a header, and a turn carries it', async () => {
    await start();
    proxy.script('names', { headers: eventStream, body: [completed('resp_1'), done] });
    const socket = await rawClient('x', ['constructor: a', '__proto__: b', 'constructor: c']);
    expect(socket.answer).toMatch(/^HTTP\/1.1 101/);
    socket.write(clientFrame('{"type":"response.create","model":"names","input":"Hi"}'));
    await expect.poll(() => proxy.received('names').length).toBe(1);
    expect(Object.entries(proxy.received('names')[0]?.headers ?? {})).toEqual(
      expect.arrayContaining([['constructor', 'a, c']]),
    );
    socket.destroy();
  });

  test('whose host cannot be a turn’s is a 400', async () => {
    await start();
    for (const host of ['', 'user@gateway', 'a, b']) {
      const socket = await rawClient(host);
      expect(socket.answer, host).toMatch(/^HTTP\/1.1 400 .*"code":"invalid_host"/s);
      await closedOf(socket);
    }
    expect(refused.map(({ error }) => error['code'])).toEqual(['invalid_host', 'invalid_host', 'invalid_host']);
  });

  test('that is a plain request is told what this listener is for; health is answered', async () => {
    await start();
    const answer = await fetch(url(), { method: 'POST', body: '{}' });
    expect(answer.status).toBe(426);
    expect(await answer.json()).toMatchObject({ error: { code: 'websocket_required' } });
    expect((await fetch(`http://${endpoint.address}/healthz`)).status).toBe(200);
  });

  test('while the last turns run is a 503', async () => {
    await start();
    proxy.script('last', {
      headers: eventStream,
      body: [event({ type: 'response.created', response: { id: 'resp_1' } }), () => new Promise(() => {})],
    });
    const [client, idle] = [await open(), await open()];
    client.send({ type: 'response.create', model: 'last', input: 'Hi' });
    await client.message(({ type }) => type === 'response.created');
    const drained = endpoint.drain(240_000, 0);
    expect(await idle.closed).toMatchObject({ code: 1001 });
    expect(await refusal(url())).toEqual({ status: 503, code: 'server_shutting_down', retryAfter: '2' });
    client.socket.terminate();
    await drained;
  });

  test('that is refused may be reset before its socket has ended', async () => {
    await start();
    const socket = await rawClient('', [], true);
    expect(socket.answer).toMatch(/^HTTP\/1.1 400/);
    socket.resetAndDestroy();
    await endpoint.drain(0, 0); // which waits for every socket
  });

  test('while the service stops is a 503, and health says so before', async () => {
    await start();
    const client = await open();
    const delay = holdTimers(3_600_000);
    const drained = endpoint.drain(240_000, 3_600_000);
    expect((await fetch(`http://${endpoint.address}/healthz`)).status).toBe(503);
    const late = await open(); // a proxy that has not noticed
    delay.pass();
    expect(await late.closed).toEqual({ code: 1001, reason: 'server_shutting_down' });
    expect(await client.closed).toEqual({ code: 1001, reason: 'server_shutting_down' });
    await drained;
  });
});

test('no extension is taken of those that a handshake offers, and the end of the drain waits for no half request', async () => {
  await start();
  const socket = await rawClient('x', ['sec-websocket-extensions: permessage-deflate']);
  expect(socket.answer).toMatch(/^HTTP\/1.1 101/);
  expect(socket.answer).not.toMatch(/extensions/i);
  socket.destroy();
  const [address = '', port] = endpoint.address.split(':');
  const half = connect(Number(port), address).on('error', () => {});
  half.write('GET /healthz HTTP/1.1\r\nhost: x\r\n');
  await once(half, 'connect');
  // With this answer the server has accepted the other.
  expect((await fetch(`http://${endpoint.address}/healthz`)).status).toBe(200);
  await endpoint.drain(0, 0);
  await closedOf(half);
});

test('a turn that the end of the drain cuts is told so, and its connection is closed with 1012', async () => {
  await start();
  proxy.script('long', {
    headers: eventStream,
    body: [event({ type: 'response.created', response: { id: 'resp_1' } }), () => new Promise(() => {})],
  });
  const client = await open();
  client.send({ type: 'response.create', model: 'long', input: 'Hi' });
  await client.message(({ type }) => type === 'response.created');
  await endpoint.drain(50, 0);
  expect(await client.message(({ type }) => type === 'error')).toMatchObject({
    status: 503,
    error: { code: 'server_shutting_down' },
  });
  expect(await client.closed).toEqual({ code: 1012, reason: 'server_shutting_down' });
  expect(closed).toMatchObject([{ code: 1012, reason: 'server_shutting_down', turns: { error: 1 } }]);
});

describe('a handler that throws ends its own connection alone', () => {
  const defect = new Error('a defect');
  /** Throws once what it is to guard has begun. */
  let isArmed = false;
  const throwing = () => {
    if (!isArmed) return;
    isArmed = false;
    throw defect;
  };
  /** What another connection has afterwards: its turn, as if nothing had been. */
  async function expectOthersServed(other: Awaited<ReturnType<typeof open>>): Promise<void> {
    expect(failures.splice(0)).toEqual([defect]);
    expect((await other.turn({ model: 'others', input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
    await other.close();
    await expect.poll(() => [endpoint.connections, guard.held]).toEqual([0, 0]);
  }
  beforeEach(() => {
    isArmed = false;
    proxy.script('others', { headers: eventStream, body: [completed('resp_1'), done] });
  });

  test('of the bytes of its socket, or of a message', async () => {
    await start();
    const worked = vi.spyOn(guard, 'worked').mockImplementation(throwing);
    const [client, other] = [await open(), await open()];
    isArmed = true;
    client.send({ type: 'response.create', model: 'others', input: 'Hi' });
    expect(await client.closed).toMatchObject({ code: 1011 });
    await expectOthersServed(other);
    worked.mockRestore();
  });

  test('of the proxy’s answer', async () => {
    await start({
      observer: {
        closed: () => {},
        refused: () => {},
        turnEnded: throwing,
        failed: (thrown) => failures.push(thrown),
      },
    });
    const [client, other] = [await open(), await open()];
    isArmed = true;
    client.send({ type: 'response.create', model: 'others', input: 'Hi' });
    expect(await client.closed).toMatchObject({ code: 1011 });
    await expectOthersServed(other);
  });

  test('of the end of a socket', async () => {
    await start({
      observer: {
        closed: throwing,
        refused: () => {},
        turnEnded: () => {},
        failed: (thrown) => failures.push(thrown),
      },
    });
    const [client, other] = [await open(), await open()];
    isArmed = true;
    await client.close();
    await expect.poll(() => failures.length).toBe(1);
    await expectOthersServed(other);
  });

  test('of a handshake', async () => {
    await start();
    const other = await open();
    const refusal = vi.spyOn(guard, 'refusal').mockImplementation(() => {
      throw defect;
    });
    await expect(open()).rejects.toThrow();
    refusal.mockRestore();
    await expectOthersServed(other);
  });
});

test('a UNIX socket will do', async () => {
  const path = join(tmpdir(), `responses-extproc-${process.pid}.sock`);
  rmSync(path, { force: true });
  await start({ listen: { path } });
  expect(endpoint.address).toBe(`unix:${path}`);
  proxy.script('unix', { headers: eventStream, body: [completed('resp_1'), done] });
  const client = await openWebSocket(`ws+unix://${path}:/v1/responses`);
  expect((await client.turn({ model: 'unix', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
  await client.close();
});

/** A client that completes the handshake and then says nothing by itself, nor ends its side if `allowHalfOpen`. */
async function rawClient(
  host = 'x',
  more: readonly string[] = [],
  allowHalfOpen = false,
): Promise<Socket & { answer?: string }> {
  const [address = '', port] = endpoint.address.split(':');
  const socket: Socket & { answer?: string } = connect({ port: Number(port), host: address, allowHalfOpen });
  const lines = ['GET /v1/responses HTTP/1.1', `host: ${host}`, 'connection: Upgrade', 'upgrade: websocket', ...more];
  const ofWebSocket = ['sec-websocket-version: 13', 'sec-websocket-key: cmVzcG9uc2VzLWV4dHByYw=='];
  socket.write(`${[...lines, ...ofWebSocket].join('\r\n')}\r\n\r\n`);
  const [answer] = await once(socket, 'data');
  socket.answer = String(answer);
  socket.resume();
  return socket;
}

/** A text message of a client, with a mask that changes nothing. */
function clientFrame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

const closedOf = (socket: Socket) => (socket.destroyed ? Promise.resolve() : once(socket, 'close'));

describe('the service as it is built', () => {
  let service: ServiceProcess;
  afterEach(async () => {
    await start(); // for the `afterEach` of all
    await service.remove();
  });

  test('shares the port among its workers, and closes their connections when it stops', async () => {
    const port = await findFreePort();
    service = await startServiceProcess({
      WORKERS: '2',
      WEBSOCKET_LISTEN: `127.0.0.1:${port}`,
      WEBSOCKET_FORWARD_TO: `http://127.0.0.1:${proxy.port}/v1`,
    });
    proxy.script('workers', { headers: eventStream, body: [completed('resp_1'), done] });
    const address = `http://127.0.0.1:${port}/v1/responses`;
    // One after the other: a worker that has not yet confirmed a connection gets no other, and so fewer than its half.
    const clients: Awaited<ReturnType<typeof openWebSocket>>[] = [];
    while (clients.length < 4) clients.push(await openWebSocket(address));
    for (const client of clients)
      expect((await client.turn({ model: 'workers', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
    expect(await service.metric('responses_extproc_websocket_connections')).toBe(4);
    for (const worker of ['1', '2'])
      expect(await service.metric('responses_extproc_websocket_turns_total', { worker, outcome: 'completed' })).toBe(2);
    service.child.kill('SIGTERM');
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 1001 });
    expect(await service.child.ended).toBe('exit code 0');
  });

  test('names what WEBSOCKET_LISTEN needs', async () => {
    const failed = startServiceProcess({ WEBSOCKET_LISTEN: '127.0.0.1:0' });
    await expect(failed).rejects.toThrow(/WEBSOCKET_LISTEN: needs WEBSOCKET_FORWARD_TO/);
    service = await startServiceProcess({});
    expect(await (await service.get('/metrics')).text()).not.toContain('websocket_connections');
  });
});
