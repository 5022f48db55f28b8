import { Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { settled } from '../support/settled.ts';
import { readUntil } from '../support/stream-lines.ts';
import { type BodyStep, completion, delta, done, eventStream, finish } from '../support/upstream.ts';

const active = 'responses_extproc_active_exchanges';

/** A stream that sends a delta every 20 ms until it is told to end. */
function* endless(over: { yet: boolean }): Generator<BodyStep> {
  while (!over.yet) {
    yield delta({ content: 'more ' });
    yield 20;
  }
  yield finish('stop');
  yield done;
}

describe('faults', () => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh();
  });
  afterAll(() => mesh.close());

  test('a client that leaves in mid-stream: the upstream is closed and nothing is left of the exchange', async () => {
    mesh.upstream.script('left', { headers: eventStream, body: endless({ yet: false }) });
    const leave = new AbortController();
    const response = await mesh.post({ model: 'left', input: 'Hi', stream: true }, { signal: leave.signal });
    await readUntil(response, '"delta":"more "');
    expect(await mesh.service.metric(active)).toBe(1);

    leave.abort();

    expect(await mesh.upstream.received('left')[0]?.over).toBe(false);
    await expect.poll(() => mesh.service.metric(active)).toBe(0);
    const line = await mesh.service.logged((entry) => entry['model'] === 'left');
    expect(line).toMatchObject({ outcome: 'aborted' });
  });

  test('a client that stops reading stops the upstream', async () => {
    const burst = delta({ content: 'x' }).repeat(460); // 64 KiB
    let sent = 0;
    mesh.upstream.script('unread', {
      headers: eventStream,
      body: (function* (): Generator<BodyStep> {
        for (; sent < 256 * 1024 * 1024; sent += burst.length) yield burst;
      })(),
    });
    const leave = new AbortController();
    const response = await mesh.post({ model: 'unread', input: 'Hi', stream: true }, { signal: leave.signal });
    await readUntil(response, '"delta":"x"'); // and no more
    const turns = () => Promise.all([mesh.admin('/ready'), mesh.service.admin('/healthz')]);
    expect(await settled(() => sent, turns)).toBeLessThan(100 * 1024 * 1024);
    leave.abort();
    await expect.poll(() => mesh.service.metric(active)).toBe(0);
  });

  test('the service is killed in mid-stream and started again: that client’s stream breaks, the next request works', async () => {
    const over = { yet: false };
    mesh.upstream.script('killed', { headers: eventStream, body: endless(over) });
    mesh.upstream.script('next', { body: [completion({ content: 'Alive.' })] });
    const reader = await readUntil(await mesh.post({ model: 'killed', input: 'Hi', stream: true }), '"delta":"more "');

    await mesh.service.kill();
    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toThrow();
    over.yet = true;

    await mesh.service.start();
    const response = await mesh.client.responses.create({ model: 'next', input: 'Hi' });
    expect(response.output_text).toBe('Alive.');
  });

  test('while the service is down nothing passes untranslated; other paths go on working', async () => {
    mesh.upstream.script('down', { body: [completion({ content: 'Never.' })] });
    mesh.upstream.script('/v1/models', { body: ['{"data":[]}'] });
    await mesh.service.kill();

    for (const stream of [false, true]) {
      const response = await mesh.post({ model: 'down', input: 'Hi', stream });
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
    }
    expect(mesh.upstream.received('down')).toEqual([]);
    expect((await fetch(`${mesh.url}/v1/models`)).status).toBe(200);

    await mesh.service.start();
    await expect.poll(async () => (await mesh.post({ model: 'down', input: 'Hi' })).status).toBe(200);
  });

  test('SIGTERM lets a running stream end, and the process with it', async () => {
    const over = { yet: false };
    mesh.upstream.script('drained', { headers: eventStream, body: endless(over) });
    const reader = await readUntil(await mesh.post({ model: 'drained', input: 'Hi', stream: true }), '"delta":"more "');

    const ended = mesh.service.terminate();
    await mesh.service.logged(({ msg }) => msg === 'draining');
    over.yet = true;
    let rest = '';
    for (;;) {
      const { value, done: end } = await reader.read();
      if (end) break;
      rest += new TextDecoder().decode(value);
    }
    expect(rest).toContain('event: response.completed\n');
    expect(await ended).toBe('exit code 0');
    await mesh.service.start();
  });
});

describe('limits', () => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh({ environment: { MAX_EXCHANGES: '2' } });
  });
  afterAll(() => mesh.close());

  test('an upstream that falls silent ends the stream in words', async () => {
    // One of its own: a busy machine may make any upstream silent for so long.
    const impatient = await startTestMesh({ environment: { UPSTREAM_IDLE_TIMEOUT_MS: '400' } });
    try {
      impatient.upstream.script('silent', ({ over }) => ({
        headers: eventStream,
        body: [delta({ content: 'And then' }), () => over],
      }));
      const events = await (await impatient.post({ model: 'silent', input: 'Hi', stream: true })).text();
      expect(events).toContain('"delta":"And then"');
      expect(events).toMatch(/event: error\ndata: .*"code":"upstream_timeout"/);
      expect(events).toMatch(/event: response\.failed\n/);
      await expect.poll(() => impatient.service.metric(active)).toBe(0);
    } finally {
      await impatient.close();
    }
  });

  test('more exchanges than the service takes are a 503 with retry-after, and the others live', async () => {
    const over = { yet: false };
    mesh.upstream.script(
      'busy',
      { headers: eventStream, body: endless(over) },
      { headers: eventStream, body: endless(over) },
    );
    const running = [
      await readUntil(await mesh.post({ model: 'busy', input: 'Hi', stream: true }), '"delta":"more "'),
      await readUntil(await mesh.post({ model: 'busy', input: 'Hi', stream: true }), '"delta":"more "'),
    ];

    const refused = await mesh.post({ model: 'busy', input: 'Hi', stream: true });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toEqual(expect.any(String));
    expect(await refused.json()).toMatchObject({ error: { type: 'server_error' } });

    over.yet = true;
    for (const reader of running) while (!(await reader.read()).done);
    expect(mesh.upstream.received('busy')).toHaveLength(2);
  });
});

test('a call that the service ends for want of memory is a 503 that says so, and when to try again', async () => {
  const translator = new Server();
  translator.addService(
    { process: processMethod },
    {
      process: (call: ServerDuplexStream<unknown, unknown>) =>
        call.once('data', () => call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'memory is low' })),
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    translator.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const mesh = await startTestMesh({
    edit(config) {
      const cluster = config.static_resources.clusters.find(({ name }) => name === 'responses_extproc');
      if (cluster === undefined) throw new Error('the configuration has no cluster for the service');
      cluster.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value = port;
      delete cluster['health_checks'];
    },
  });
  try {
    const refused = await mesh.post({ model: 'm', input: 'Hi' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await refused.json()).toMatchObject({ error: { code: 'server_overloaded' } });
  } finally {
    await mesh.close();
    translator.forceShutdown();
  }
});
