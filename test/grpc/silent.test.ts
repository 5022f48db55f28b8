import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { holdTimers } from '../support/held-timers.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { type RunningService, startService, until } from '../support/service.ts';
import { ownTurn } from '../support/settled.ts';

let running: RunningService;
const sessions: ClientHttp2Session[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await running.stop();
});

function open(): ClientHttp2Session {
  const session = connect(`http://${running.address}`).on('error', () => {});
  sessions.push(session);
  return session;
}
const startCall = (session: ClientHttp2Session) =>
  session
    .request({ ':method': 'POST', ':path': processMethod.path, 'content-type': 'application/grpc', te: 'trailers' })
    .on('error', () => {});

describe('a connection', () => {
  test('that opens no call is closed, whether it speaks HTTP/2 or not', async () => {
    running = await startService({}, { firstCallMs: 100 });
    const speaking = Array.from({ length: 20 }, open);
    const port = Number(running.address.split(':').at(-1));
    const mute = Array.from({ length: 20 }, () =>
      connectTcp(port, '127.0.0.1')
        .on('error', () => {})
        .resume(),
    );
    await expect.poll(() => [...speaking, ...mute].every(({ closed }) => closed)).toBe(true);
  });

  test('that has opened a call stays, with none running for long', async () => {
    const limit = holdTimers(3_600_001);
    running = await startService({}, { firstCallMs: 3_600_001 });
    const session = open();
    startCall(session).close(constants.NGHTTP2_CANCEL);
    await once(session, 'connect');
    const unused = open();
    await once(unused, 'connect');
    await until(() => limit.count === 1);
    limit.pass();
    await until(() => unused.closed);
    expect(session.closed).toBe(false);
    const again = startCall(session);
    again.end();
    await once(again.resume(), 'response');
  });

  test('that resets calls is closed when all together reset too many, and one that resets few is not', async () => {
    running = await startService({}, { unansweredResetLimits: { burst: 2000, perSecond: 1 } });
    const quiet = open();
    const floods = [open(), open(), open(), open()];
    await Promise.all([quiet, ...floods].map((session) => once(session, 'connect')));
    const call = startCall(quiet);
    // Fewer on each than are tolerated, more on all.
    for (const session of floods)
      for (let opened = 0; opened < 1200; opened += 1) startCall(session).close(constants.NGHTTP2_CANCEL);
    for (let opened = 0; opened < 50; opened += 1) startCall(quiet).close(constants.NGHTTP2_CANCEL);
    await until(() => floods.filter(({ destroyed }) => destroyed).length >= 3);
    expect([quiet.destroyed, call.destroyed]).toEqual([false, false]);
  });

  test('that resets more calls than any Envoy could is closed, and one with fewer is not', async () => {
    running = await startService({}, { resetLimits: { burst: 500, perSecond: 1 } });
    const fast = open();
    const slow = open();
    await Promise.all([once(fast, 'connect'), once(slow, 'connect')]);
    const reset = async (session: ClientHttp2Session, calls: number) => {
      for (let opened = 0; opened < calls && !session.destroyed; opened += 1) {
        startCall(session).close(constants.NGHTTP2_CANCEL);
        if (opened % 50 === 0) await ownTurn();
      }
    };
    await reset(slow, 300);
    await reset(fast, 5000);
    await until(() => fast.destroyed);
    expect(slow.destroyed).toBe(false);
  });
});

describe('a call without a message', () => {
  test('is ended after a while', async () => {
    running = await startService({}, { firstMessageMs: 100 });
    const call = startCall(open());
    const [headers] = await once(call.resume(), 'response');
    expect(headers['grpc-status']).toBe(String(status.DEADLINE_EXCEEDED));
  });

  test('does not concern one that waits for its second', async () => {
    running = await startService({}, { firstMessageMs: 3_600_000 });
    const call = running.client.open(defaultModes);
    const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses' });
    call.send({ type: 'request_headers', headers, endOfStream: false });
    await call.next();
    const session = open();
    await once(session, 'connect');
    const without = startCall(session);
    await ownTurn();
    await new Promise((resolve) => session.ping(resolve)); // the service has read the beginning of that call
    const { now } = performance;
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 3_600_001);
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    await once(without.resume(), 'response');
    call.send({ type: 'request_body', body: Buffer.from('{"model":"m","input":"Hi"}'), endOfStream: true });
    expect(await call.next()).toHaveProperty('request_body');
    call.cancel();
  });
});
