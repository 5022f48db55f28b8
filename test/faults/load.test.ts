import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { watchMemory } from '../support/memory.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { sendShortRequests } from '../support/short-requests.ts';
import { type BodyStep, delta, done, eventStream, finish } from '../support/upstream.ts';

const active = 'responses_extproc_active_exchanges';
const buffered = 'responses_extproc_buffered_bytes';

/** One stream over HTTP/2: its status, how its body ended, and a way to leave. */
function openStream(session: ClientHttp2Session, model: string) {
  const stream = session.request({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
  let tail = '';
  let status = 0;
  let started = () => {};
  const firstDelta = new Promise<void>((resolve) => {
    started = resolve;
  });
  stream.on('response', (headers) => {
    status = Number(headers[':status']);
    if (status !== 200) started();
  });
  stream.on('data', (bytes: Buffer) => {
    tail = (tail + bytes.toString()).slice(-4000);
    // In all that came, as a chunk may end anywhere.
    if (tail.includes('output_text.delta')) started();
  });
  const end = new Promise<string>((resolve) => {
    stream.once('error', () => resolve('broken'));
    stream.once('close', () => {
      started();
      resolve(tail.includes('event: response.completed') ? `${status} completed` : `${status} ended`);
    });
  });
  stream.end(JSON.stringify({ model, input: 'Hi', stream: true }));
  return { firstDelta, end, leave: () => stream.close(8) };
}

/** Sessions of 100 streams: Envoy takes no more on one connection. */
async function openStreams(mesh: TestMesh, model: string, count: number) {
  const sessions = Array.from({ length: Math.ceil(count / 100) }, () => connect(mesh.url));
  const streams = [];
  for (let index = 0; index < count; index += 1) {
    streams.push(openStream(sessions[index % sessions.length] as ClientHttp2Session, model));
    if (index % 100 === 99) await sleep(5); // as clients come: many, not all in one instant
  }
  const close = () => {
    for (const session of sessions) session.destroy();
  };
  return { streams, close };
}

function countOf(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** A delta at once, and the rest when the gate opens. */
function gated() {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const script = () => ({
    headers: eventStream,
    body: [delta({ content: 'first' }), () => gate, delta({ content: ' last' }), finish('stop'), done] as BodyStep[],
  });
  return { open, script };
}

describe('many streams on the shipped configuration', () => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh({ concurrency: 2 });
  });
  afterAll(() => mesh.close());

  test('2,000 at once: every one gets its first delta while all are open, and every one completes', async () => {
    const { open, script } = gated();
    mesh.upstream.script('many', script);
    const memory = watchMemory({ envoy: mesh.envoy.pid, service: mesh.service.pid });

    const { streams, close } = await openStreams(mesh, 'many', 2000);
    await Promise.all(streams.map((stream) => stream.firstDelta));
    expect(await mesh.service.metric(active)).toBe(2000);
    open();
    const ends = await Promise.all(streams.map((stream) => stream.end));
    close();

    console.log('2,000 streams, highest MiB:', memory());
    expect(countOf(ends)).toEqual({ '200 completed': 2000 });
    await expect.poll(() => mesh.service.metric(active)).toBe(0);
  });

  test('1,000 clients that leave in mid-stream leave nothing behind', async () => {
    const { open, script } = gated();
    mesh.upstream.script('leavers', script);
    const { streams, close } = await openStreams(mesh, 'leavers', 1000);
    await Promise.all(streams.map((stream) => stream.firstDelta));
    for (const stream of streams) stream.leave();
    await Promise.all(mesh.upstream.received('leavers').map((request) => request.over));
    await expect.poll(() => mesh.service.metric(active)).toBe(0);
    expect(await mesh.service.metric(buffered)).toBe(0);
    open();
    close();
  });
});

test('20,000 short requests over a few connections, and not one fails', async () => {
  const mesh = await startTestMesh();
  try {
    expect(await sendShortRequests(mesh, 20_000)).toEqual({ 200: 20_000 });
    await expect.poll(() => mesh.service.metric(active)).toBe(0);
  } finally {
    await mesh.close();
  }
});

test('beyond MAX_EXCHANGES clients get a 503 at once, and the others complete', async () => {
  const mesh = await startTestMesh({ environment: { MAX_EXCHANGES: '500' } });
  try {
    const { open, script } = gated();
    mesh.upstream.script('over', script);
    const { streams, close } = await openStreams(mesh, 'over', 1500);
    await Promise.all(streams.map((stream) => stream.firstDelta));
    open();
    const ends = await Promise.all(streams.map((stream) => stream.end));
    close();
    expect(countOf(ends)).toEqual({ '200 completed': 500, '503 ended': 1000 });
  } finally {
    await mesh.close();
  }
});
