import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { residentMiB } from '../support/memory.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { type BodyStep, delta, done, eventStream, finish } from '../support/upstream.ts';

let mesh: TestMesh;
const sockets: Socket[] = [];
const progress = { sent: 0 };
beforeEach(async () => {
  mesh = await startTestMesh();
  progress.sent = 0;
  mesh.upstream.script('endless', () => ({ headers: eventStream, body: endless() }));
  mesh.upstream.script('short', () => ({
    headers: eventStream,
    body: [delta({ content: 'Hello' }), finish('stop'), done],
  }));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await mesh.close();
});

/** Small events, about 64 KiB at a time, for as long as anybody takes them. */
function* endless(): Generator<BodyStep> {
  const burst = Buffer.from(delta({ content: 'x' }).repeat(460));
  for (;;) {
    progress.sent += burst.length;
    yield burst;
  }
}

/** Clients that ask for a stream and read none of it; resolves when nothing moves any more. */
async function openSlowClients(count: number): Promise<void> {
  const { hostname, port } = new URL(mesh.url);
  const body = JSON.stringify({ model: 'endless', input: 'Hi', stream: true });
  const head = `POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  for (let opened = 0; opened < count; opened += 1) {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.pause();
    socket.write(head + body);
    sockets.push(socket);
  }
  await sleep(2000);
  for (let before = -1; before !== progress.sent; await sleep(2000)) before = progress.sent;
}

const resident = () => ({ envoy: residentMiB(mesh.envoy.pid), service: residentMiB(mesh.service.pid) });

test('a client that never reads costs Envoy 2 MiB and the service 1 MiB at most, and stops nobody else', async () => {
  await openSlowClients(40);
  const few = resident();
  const more = 160;
  await openSlowClients(more);
  const many = resident();
  const each = { envoy: (many.envoy - few.envoy) / more, service: (many.service - few.service) / more };
  console.log('MiB for a client that never reads:', each, 'resident with 40', few, 'with 200', many);
  expect(each.envoy).toBeLessThan(2);
  expect(each.service).toBeLessThan(1);

  const response = await mesh.client.responses.stream({ model: 'short', input: 'Hi' }).finalResponse();
  expect(response.output_text).toBe('Hello');
  for (const socket of sockets.splice(0)) socket.destroy();
  await expect.poll(() => mesh.service.metric('responses_extproc_active_exchanges'), { timeout: 20_000 }).toBe(0);
});
