import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { anyFreePort } from '../../../tools/mesh/ports.ts';
import { untilAnswered } from '../../../tools/mesh/readiness.ts';

const open: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close().closeAllConnections();
});

/** What becomes of the wait for an Envoy that answers so; its patience ends with the third request, and the wait with the fourth. */
async function waitFor(answer: RequestListener, { service = 0, upstream = undefined as URL | undefined } = {}) {
  const [patience, limit] = [new AbortController(), new AbortController()];
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (requests === 3) patience.abort();
    if (requests === 4) limit.abort();
    answer(request, response);
  }).listen(0, '127.0.0.1');
  open.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  if (service !== 0) limit.abort();
  const waiting: string[] = [];
  const end = await untilAnswered({
    ...{ port, service: service || port, upstream, signal: new AbortController().signal },
    ...{ patience: patience.signal, limit: limit.signal, onWaiting: (last: string) => waiting.push(last) },
  }).catch((error: Error) => error.message);
  return { end, waiting };
}

test('what was answered last is told while it waits, and when it gives up', async () => {
  const down = await waitFor((_request, response) => response.writeHead(503).end('no healthy upstream'));
  const last = 'npm start’s own request got 503 no healthy upstream';
  expect(down).toEqual({ end: `npm start gives up: ${last}`, waiting: [last] });

  const broken = await waitFor(({ socket }) => socket.destroy());
  expect(broken.end).toBe('npm start gives up: npm start’s own request got no answer (socket hang up)');

  const service = await anyFreePort();
  const absent = await waitFor(() => {}, { service });
  expect(absent.waiting).toEqual([]);
  expect(absent.end).toBe(`npm start gives up: nothing listens on port ${service}, where the service should`);
});

test('a service that does not listen yet is still starting', async () => {
  const [patience, stop] = [new AbortController(), new AbortController()];
  const waiting: string[] = [];
  const end = untilAnswered({
    ...{ port: 1, service: await anyFreePort(), upstream: undefined, signal: stop.signal, patience: patience.signal },
    onWaiting: (last) => waiting.push(last),
  });
  patience.abort();
  expect(waiting).toEqual(['the service is still starting']);
  stop.abort();
  await expect(end).rejects.toThrow();
});

test('a refusal ends the wait with what was said, unless a refusal is what was asked for', async () => {
  const refuse: RequestListener = (_request, response) => response.writeHead(404).end('no such path');
  expect((await waitFor(refuse)).end).toBe('npm start’s own request got 404 no such path');
  expect((await waitFor(refuse, { upstream: new URL('http://x/v1') })).end).toBeNull();
  expect((await waitFor((_request, response) => response.end('{}'))).end).toBeNull();
});
