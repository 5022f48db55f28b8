import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { findFreePort } from '../../../mesh/ports.ts';
import { probeId, waitUntilAnswered, writeCurlCommand } from '../../../mesh/readiness.ts';

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
  const end = await waitUntilAnswered({
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

  const service = await findFreePort();
  const absent = await waitFor(() => {}, { service });
  expect(absent.waiting).toEqual([]);
  expect(absent.end).toBe(`npm start gives up: nothing listens on port ${service}, where the service should`);
});

test('a service that does not listen yet is still starting', async () => {
  const [patience, stop] = [new AbortController(), new AbortController()];
  const waiting: string[] = [];
  const end = waitUntilAnswered({
    ...{ port: 1, service: await findFreePort(), upstream: undefined, signal: stop.signal, patience: patience.signal },
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

test('the request is a whole one, or one that the service refuses where an answer may cost something', async () => {
  const asked: unknown[] = [];
  const note: RequestListener = async (request, response) => {
    const { host: _host, connection, ...headers } = request.headers;
    asked.push([request.method, request.url, connection, headers, JSON.parse(await text(request))]);
    response.end('{}');
  };
  await waitFor(note);
  await waitFor(note, { upstream: new URL('http://x/v1') });
  const body = { model: 'demo', input: 'Are you there?', store: false };
  const headers = (length: number) => ({
    'content-type': 'application/json',
    'x-request-id': probeId,
    'user-agent': 'responses-extproc-probe',
    'content-length': String(length),
  });
  expect(asked).toEqual([
    ['POST', '/v1/responses', 'close', headers(55), body],
    ['POST', '/v1/responses', 'close', headers(90), { ...body, previous_response_id: 'resp_none' }],
  ]);
  expect(probeId).toMatch(/^probe-[0-9a-f-]{36}$/);
});

test.each([
  [499, 'npm start’s own request got 499 x'],
  [500, 'npm start gives up: npm start’s own request got 500 x'],
])('a status of %i: %s', async (status, end) => {
  expect((await waitFor((_request, response) => response.writeHead(status).end('x'))).end).toBe(end);
});

test('of a long answer the beginning is told, and that one broke off', async () => {
  const long = await waitFor((_request, response) => response.writeHead(400).end(`${'x'.repeat(500)}y`));
  expect(long.end).toBe(`npm start’s own request got 400 ${'x'.repeat(500)}`);
  const cut = await waitFor(async (request, response) => {
    await text(request);
    response.writeHead(200, { 'content-length': '9' }).write('{', () => response.destroy());
  });
  expect(cut.end).toBe('npm start gives up: the answer to npm start’s own request broke off (aborted)');
});

test('a command to paste is one that a shell takes', () => {
  expect(writeCurlCommand(10_000, 'demo')).toBe(
    `curl -N http://127.0.0.1:10000/v1/responses \\
  -H 'content-type: application/json' \\
  -d '{"model":"demo","input":"Say hello in three words.","stream":true}'`,
  );
});
