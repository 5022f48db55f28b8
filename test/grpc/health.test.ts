import { Client, type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { holdTimers } from '../support/held-timers.ts';
import { healthService } from '../support/proto-definitions.ts';
import { roomyGuard } from '../support/roomy-guard.ts';
import { type RunningService, startService, until } from '../support/service.ts';

let running: RunningService;
let clients: Client[] = [];
afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await running.stop();
});

function connect(): Client {
  const client = new Client(running.address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  clients.push(client);
  return client;
}

function check(client: Client, service: string): Promise<string> {
  const { path, requestSerialize, responseDeserialize } = healthService.Check;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service }, (error, reply) =>
      error === null ? resolve((reply as unknown as { status: string }).status) : reject(error),
    );
  });
}

function watch(client: Client, service: string): ClientReadableStream<object> {
  const { path, requestSerialize, responseDeserialize } = healthService.Watch;
  return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
}

function statuses(stream: ClientReadableStream<object>): Promise<string[]> {
  const seen: string[] = [];
  return new Promise((resolve) => {
    stream.on('data', (reply: { status: string }) => seen.push(reply.status));
    stream.on('error', () => resolve(seen));
    stream.on('end', () => resolve(seen));
  });
}

const names = ['', 'envoy.service.ext_proc.v3.ExternalProcessor', 'liveness', 'readiness'];

describe('health', () => {
  test.each(names)('says that “%s” is serving', async (name) => {
    running = await startService();
    expect(await check(connect(), name)).toBe('SERVING');
  });

  test('knows no other names', async () => {
    running = await startService();
    const refused = await check(connect(), 'nobody').catch((error: ServiceError) => error.code);
    expect(refused).toBe(status.NOT_FOUND);
    const stream = watch(connect(), 'nobody');
    const first = await new Promise((resolve) => stream.once('data', resolve));
    expect(first).toEqual({ status: 'SERVICE_UNKNOWN' });
    stream.on('error', () => {});
    stream.cancel();
  });
});

test('who watches is told when the service has no room and when it has again, and who asks whether it lives is not', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  let available = true;
  const told: boolean[] = [];
  const guard = roomyGuard();
  vi.spyOn(guard, 'checkAvailability').mockImplementation(() => available);
  running = await startService({}, { guard, onAvailability: (is) => told.push(is) });
  const seen = Object.fromEntries(
    names.concat('nobody').map((name) => {
      const statusesOf: string[] = [];
      watch(connect(), name)
        .on('data', (reply: { status: string }) => statusesOf.push(reply.status))
        .on('error', () => {});
      return [name, statusesOf] as const;
    }),
  );
  const all = (...statuses: readonly string[]) =>
    until(() => names.every((name) => name === 'liveness' || seen[name]?.join() === statuses.join()));
  await all('SERVING');
  const tick = (is: boolean) => {
    available = is;
    vi.advanceTimersByTime(1000); // two looks
  };
  tick(false);
  await all('SERVING', 'NOT_SERVING');
  expect([running.service.isReady(), await check(connect(), ''), await check(connect(), 'liveness')]).toEqual([
    false,
    'NOT_SERVING',
    'SERVING',
  ]);
  tick(true);
  await all('SERVING', 'NOT_SERVING', 'SERVING');
  expect([running.service.isReady(), told]).toEqual([true, [false, true]]);
  await until(() => [seen['liveness'], seen['nobody']].every((one) => one?.length === 1));
  expect([seen['liveness'], seen['nobody']]).toEqual([['SERVING'], ['SERVICE_UNKNOWN']]);
});

describe('a drain', () => {
  test('tells every watcher, lets a running stream end, and takes no new one', async () => {
    running = await startService();
    const ready = statuses(watch(connect(), 'readiness'));
    const live = statuses(watch(connect(), 'liveness'));
    const call = running.client.open(defaultModes);
    const headers = headersOf({ ':method': 'PUT', ':path': '/files' });
    call.send({ type: 'request_headers', headers, endOfStream: false });
    await call.next();

    const limit = holdTimers(240_000);
    const drained = running.service.drain(240_000);
    expect(running.service.isReady()).toBe(false);
    expect(await ready).toEqual(['SERVING', 'NOT_SERVING']);
    expect(await live).toEqual(['SERVING', 'SERVING']);
    await expect(check(connect(), '')).rejects.toThrow();

    call.send({ type: 'request_body', body: Buffer.from('x'), endOfStream: true });
    expect(await call.next()).toHaveProperty('request_body');
    call.halfClose();
    expect((await call.status).code).toBe(status.OK);
    expect([await drained, limit.count]).toEqual(['drained', 0]);
  });

  test('is not held up by who watches a name that is not there, or begins to watch while it lasts', async () => {
    running = await startService();
    const unknown = watch(connect(), 'nobody');
    const seen = statuses(unknown);
    await new Promise((resolve) => unknown.once('data', resolve));
    const delay = holdTimers(3_600_000);
    const drained = running.service.drain(240_000, 3_600_000);
    expect(await seen).toEqual(['SERVICE_UNKNOWN', 'SERVICE_UNKNOWN']);
    expect(await statuses(watch(connect(), 'readiness'))).toEqual(['NOT_SERVING']);
    delay.pass();
    expect(await drained).toBe('drained');
  });

  test('breaks off what still runs after the timeout', async () => {
    running = await startService();
    const call = running.client.open(defaultModes);
    const headers = headersOf({ ':method': 'PUT', ':path': '/files' });
    call.send({ type: 'request_headers', headers, endOfStream: false });
    await call.next();
    const limit = holdTimers(3_600_000);
    const drained = running.service.drain(3_600_000);
    await until(() => limit.count === 1);
    limit.pass();
    expect(await drained).toBe('forced');
    expect((await call.status).code).not.toBe(status.OK);
  });

  test('says NOT_SERVING while it still takes calls, for as long as it is told', async () => {
    running = await startService();
    const delay = holdTimers(3_600_000);
    const drained = running.service.drain(240_000, 3_600_000);
    expect(await check(connect(), 'readiness')).toBe('NOT_SERVING');
    expect(await check(connect(), 'liveness')).toBe('SERVING');
    const call = running.client.open(defaultModes);
    call.send({ type: 'request_headers', headers: headersOf({ ':path': '/' }), endOfStream: true });
    expect(await call.next()).toHaveProperty('request_headers');
    call.halfClose();
    delay.pass();
    for (const client of clients) client.close();
    running.client.close();
    expect(await drained).toBe('drained');
  });
});

describe('listening', () => {
  test('is possible on several addresses, sockets among them, and on a socket that was left behind', async () => {
    const path = `/tmp/extproc-test-${process.pid}-${Math.trunc(performance.now())}.sock`;
    for (let round = 0; round < 2; round++) {
      running = await startService({ LISTEN: `127.0.0.1:0,unix:${path}` });
      const client = new Client(`unix:${path}`, credentials.createInsecure());
      expect(await check(client, '')).toBe('SERVING');
      client.close();
      if (round === 0) await running.stop();
    }
  });

  test('fails on an address that is taken', async () => {
    running = await startService();
    await expect(startService({ LISTEN: running.address })).rejects.toThrow(/EADDRINUSE|No address added/);
  });
});
