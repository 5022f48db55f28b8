import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { residentMiB } from '../support/memory.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { delta, done, eventStream, finish, usage } from '../support/upstream.ts';
import { openWebSocket, type WebSocketClient } from '../support/websocket-client.ts';

const MiB = 1024 * 1024;
const open = (mesh: TestMesh) => openWebSocket(`${mesh.url}/v1/responses`);
const hello = { headers: eventStream, body: [delta({ content: 'Hello' }), finish('stop'), usage(3, 2), done] };

async function withMesh(
  environment: Readonly<Record<string, string>>,
  body: (mesh: TestMesh) => Promise<void>,
): Promise<void> {
  const mesh = await startTestMesh({ webSocket: true, environment });
  try {
    await body(mesh);
  } finally {
    await mesh.close();
  }
}

test('a service that is killed closes its connections, and the next one works when it is back', () =>
  withMesh({}, async (mesh) => {
    mesh.upstream.script('killed', {
      headers: eventStream,
      body: [delta({ content: 'a' }), () => new Promise(() => {})],
    });
    mesh.upstream.script('back', hello);
    const client = await open(mesh);
    client.send({ type: 'response.create', model: 'killed', input: 'Hi' });
    await client.message(({ type }) => type === 'response.output_text.delta');
    await mesh.service.kill();
    expect(await client.closed).toMatchObject({ code: 1006 });
    expect(await mesh.upstream.received('killed')[0]?.over).toBe(false);
    await mesh.service.start();
    let again: WebSocketClient | null = null;
    // Envoy has to notice that it is back.
    await expect
      .poll(async () => {
        again = await open(mesh).catch(() => null);
        return again !== null;
      })
      .toBe(true);
    await expect
      .poll(async () => (await again?.turn({ model: 'back', input: 'Hi' }))?.at(-1)?.type)
      .toBe('response.completed');
  }));

test('an upstream that stalls ends the turn in words, and the connection goes on', () =>
  withMesh({ UPSTREAM_IDLE_TIMEOUT_MS: '500' }, async (mesh) => {
    mesh.upstream.script('stalls', {
      headers: eventStream,
      body: [delta({ content: 'a' }), () => new Promise(() => {})],
    });
    mesh.upstream.script('goes', hello);
    const client = await open(mesh);
    const stalled = await client.turn({ model: 'stalls', input: 'Hi' });
    expect(JSON.stringify(stalled.at(-1))).toContain('upstream_timeout');
    const next = await client.turn({ model: 'goes', input: 'Hi' });
    expect(next.at(-1)?.type).toBe('response.completed');
    await client.close();
  }));

test('fifteen hundred idle connections cost little, and all get their answer', () =>
  withMesh({}, async (mesh) => {
    mesh.upstream.script('idle', hello);
    const clients: WebSocketClient[] = [];
    const openMore = async (count: number) => {
      for (let batch = 0; batch < count / 50; batch++)
        clients.push(...(await Promise.all(Array.from({ length: 50 }, () => open(mesh)))));
    };
    await openMore(500); // what the code itself takes is not a connection's
    const before = residentMiB(mesh.service.pid);
    await openMore(1000);
    expect(await mesh.service.metric('responses_extproc_websocket_connections')).toBe(1500);
    const each = (residentMiB(mesh.service.pid) - before) / 1000;
    console.log(`an idle connection: ${Math.round(each * 1024)} KiB`);
    // Its sockets, parser and objects; a compressor for each would be 256 KiB.
    expect(each).toBeLessThan(0.125);
    for (const client of clients.filter((_, index) => index % 10 === 0))
      expect((await client.turn({ model: 'idle', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
    for (const client of clients) client.socket.terminate();
    await expect.poll(() => mesh.service.metric('responses_extproc_websocket_connections')).toBe(0);
  }));

test('two hundred connections with turns side by side, each continued ten times, mix nothing up', () =>
  withMesh({}, async (mesh) => {
    const turns = 10;
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const model = `many-${index}`;
        mesh.upstream.script(model, (request) => ({
          headers: eventStream,
          body: [delta({ content: `${model}:${request.json().messages.length}` }), finish('stop'), usage(3, 2), done],
        }));
        const client = await open(mesh);
        let previous: string | undefined;
        for (let turn = 0; turn < turns; turn++) {
          const last = (await client.turn({ model, previous_response_id: previous, input: 'Hi' })).at(-1);
          expect(JSON.stringify(last?.response?.['output'])).toContain(`"${model}:${2 * turn + 1}"`);
          previous = last?.response?.id;
        }
        await client.close();
      }),
    );
    expect(await mesh.service.metric('responses_extproc_websocket_turns_total')).toBe(200 * turns);
    expect(await mesh.service.metric('responses_extproc_buffered_bytes')).toBe(0);
    expect(await mesh.service.metric('responses_extproc_websocket_kept_bytes')).toBe(0);
  }));

test('a message of nearly 64 MiB is a turn, one above it closes the connection with 1009', () =>
  withMesh({ NODE_OPTIONS: '--max-old-space-size=4096' }, async (mesh) => {
    mesh.upstream.script('large', hello);
    const part = { type: 'input_text', text: 'x'.repeat(9 * MiB) };
    const client = await open(mesh);
    const input = [{ type: 'message', role: 'user', content: Array.from({ length: 7 }, () => part) }];
    expect((await client.turn({ model: 'large', input })).at(-1)?.type).toBe('response.completed');
    expect(mesh.upstream.received('large')[0]?.body.length).toBeGreaterThan(63 * MiB);
    client.send('x'.repeat(64 * MiB + 1));
    expect(await client.closed).toMatchObject({ code: 1009 });
  }));

test('a client that never reads costs the service less than 16 MiB, of which it holds less than one', () =>
  withMesh({}, async (mesh) => {
    // Of what Envoy and the kernels buffer, the service keeps the text alone.
    const burst = delta({ content: 'x' }).repeat(460);
    mesh.upstream.script('endless', {
      headers: eventStream,
      body: (function* () {
        for (;;) yield burst;
      })(),
    });
    const before = residentMiB(mesh.service.pid);
    const clients = await Promise.all(Array.from({ length: 20 }, () => open(mesh)));
    for (const client of clients) {
      client.socket.pause();
      client.send({ type: 'response.create', model: 'endless', input: 'Hi' });
    }
    const counted = () => mesh.service.metric('responses_extproc_buffered_bytes');
    for (let was = -1, now = 0; now !== was; ) {
      was = now;
      await sleep(2000);
      now = await counted();
    }
    const each = (residentMiB(mesh.service.pid) - before) / clients.length;
    const held = (await counted()) / MiB / clients.length;
    console.log(`a client that never reads: ${each.toFixed(1)} MiB resident, of which it holds ${held.toFixed(2)}`);
    expect(held).toBeLessThan(1);
    expect(each).toBeLessThan(16);
    for (const client of clients) client.socket.terminate();
  }));
