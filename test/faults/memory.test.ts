import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { residentMiB, watchMemory } from '../support/memory.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { type BodyStep, delta, done, eventStream, finish } from '../support/upstream.ts';

let mesh: TestMesh;
beforeEach(async () => {
  mesh = await startTestMesh();
});
afterEach(() => mesh.close());

const MiB = 1024 * 1024;
/** About 64 KiB of whole events, as a fast engine sends them in one write. */
const burst = Buffer.from(delta({ content: 'x' }).repeat(460));

/** Bursts until so many bytes have been sent; `sent` tells how far it is, and `look` is called every 128 MiB. */
function* bursts(bytes: number, progress: { sent: number }, look: () => void = () => {}): Generator<BodyStep> {
  let next = 128 * MiB;
  while (progress.sent < bytes) {
    yield burst;
    progress.sent += burst.length;
    if (progress.sent < next) continue;
    yield async () => look();
    next += 128 * MiB;
  }
  yield finish('stop');
  yield done;
}

test('1 GiB of small events goes through without memory growing with it', async () => {
  const samples = { envoy: [] as number[], service: [] as number[] };
  const look = () => {
    samples.envoy.push(residentMiB(mesh.envoy.pid));
    samples.service.push(residentMiB(mesh.service.pid));
  };
  mesh.upstream.script('gigabyte', { headers: eventStream, body: bursts(1024 * MiB, { sent: 0 }, look) });
  const startedAt = performance.now();

  const response = await mesh.post({ model: 'gigabyte', input: 'Hi', stream: true });
  let received = 0;
  let tail = '';
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  for (;;) {
    const { value, done: over } = await reader.read();
    if (over) break;
    received += value.length;
    tail = (tail + Buffer.from(value.subarray(-200)).toString()).slice(-200);
  }

  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(`${Math.round(received / MiB)} MiB to the client in ${seconds} s; MiB in memory every 128 MiB:`, samples);
  expect(tail).toContain('data: [DONE]');
  expect(received).toBeGreaterThan(1024 * MiB);
  // Seven million deltas: the text itself (7 MB) is kept for the last event, the stream is not.
  for (const sizes of Object.values(samples)) {
    expect(sizes).toHaveLength(8);
    expect((sizes[7] ?? Number.NaN) - (sizes[3] ?? Number.NaN)).toBeLessThan(60); // the first half warms up
  }
});

test('a client that stops reading stops the upstream, not the machine', async () => {
  const progress = { sent: 0 };
  mesh.upstream.script('slow', { headers: eventStream, body: bursts(1024 * MiB, progress) });
  const before = { envoy: residentMiB(mesh.envoy.pid), service: residentMiB(mesh.service.pid) };
  const memory = watchMemory({ envoy: mesh.envoy.pid, service: mesh.service.pid });

  const leave = new AbortController();
  const response = await mesh.post({ model: 'slow', input: 'Hi', stream: true }, { signal: leave.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read(); // and no more
  let sent = -1;
  while (sent !== progress.sent) {
    sent = progress.sent;
    await sleep(1000);
  }
  const highest = memory();
  console.log(`stopped after ${Math.round(sent / MiB)} MiB; MiB before`, before, 'highest', highest);
  expect(sent).toBeLessThan(100 * MiB);
  expect(highest.service - before.service).toBeLessThan(200);
  expect(highest.envoy - before.envoy).toBeLessThan(100);
  leave.abort();
  await expect.poll(() => mesh.service.metric('responses_extproc_active_exchanges')).toBe(0);
});
