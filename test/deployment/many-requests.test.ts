import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { sendShortRequests } from '../support/short-requests.ts';
import { readUntil } from '../support/stream-lines.ts';
import { delta, done, eventStream, finish } from '../support/upstream.ts';

const active = 'responses_extproc_active_exchanges';
let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

test('2,000 short requests over a few connections, and not one fails', async () => {
  expect(await sendShortRequests(mesh, 2000)).toEqual({ 200: 2000 });
  await expect.poll(() => mesh.service.metric(active)).toBe(0);
});

test('300 streams at once: each has its first delta while all are open, and each completes', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const body = () => [delta({ content: 'first' }), () => gate, finish('stop'), done];
  mesh.upstream.script('many', () => ({ headers: eventStream, body: body() }));
  const streams = await Promise.all(
    Array.from({ length: 300 }, async () =>
      readUntil(await mesh.post({ model: 'many', input: 'Hi', stream: true }), '"delta":"first"'),
    ),
  );
  expect(await mesh.service.metric(active)).toBe(300);
  open();
  const ends = await Promise.all(
    streams.map(async (reader) => {
      let text = '';
      for (;;) {
        const { value, done: over } = await reader.read();
        if (over) return text.includes('event: response.completed\n');
        text += Buffer.from(value).toString();
      }
    }),
  );
  expect(ends.every(Boolean)).toBe(true);
});
