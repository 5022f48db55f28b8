import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { Answer, ProbeRequest } from '../../../../src/tools/doctor/findings.ts';
import { createSend } from '../../../../src/tools/doctor/send-probe.ts';

const key = 'sk-12345';
const minute = 60_000;

/** The answers of a server to these requests, one after the other. */
async function send(
  requests: readonly ProbeRequest[],
  listener: RequestListener,
  target: Partial<Parameters<typeof createSend>[0]> = {},
): Promise<readonly Answer[]> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const chatUrl = new URL(`http://127.0.0.1:${port}/api/chat/completions?q=1`);
  const ask = createSend({ chatUrl, key, timeoutMs: minute, ...target });
  const answers: Answer[] = [];
  try {
    for (const [index, request] of requests.entries()) answers.push(await ask(request, { probe: 'p', index }));
    return answers;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('is asked with these headers, at these paths', async () => {
  const seen: { method: string | undefined; url: string | undefined; headers: IncomingMessage['headers'] }[] = [];
  const requests: readonly ProbeRequest[] = [
    { path: 'chat', body: { a: 'é' } },
    { path: 'models' },
    { path: '/api/show', body: {} },
    { path: 'chat', key: 'wrong' },
  ];
  const look: RequestListener = ({ method, url, headers: { host: _host, ...headers } }, response) => {
    seen.push({ method, url, headers });
    response.end();
  };
  await send(requests, look, { promptMs: minute });
  const usual = {
    accept: 'application/json, text/event-stream',
    connection: 'keep-alive',
    'user-agent': 'responses-extproc-doctor',
    authorization: `Bearer ${key}`,
  };
  const body = { 'content-type': 'application/json' };
  expect(seen).toEqual([
    { method: 'POST', url: '/api/chat/completions?q=1', headers: { ...usual, ...body, 'content-length': '10' } },
    { method: 'GET', url: '/api/models?q=1', headers: usual },
    { method: 'POST', url: '/api/show', headers: { ...usual, ...body, 'content-length': '2' } },
    {
      method: 'GET',
      url: '/api/chat/completions?q=1',
      headers: { ...usual, authorization: 'Bearer wrong-key-of-the-doctor' },
    },
  ]);
});

it('a key is sent where there is one', async () => {
  const seen: (string | undefined)[] = [];
  const look: RequestListener = ({ headers }, response) => {
    seen.push(headers.authorization);
    response.end();
  };
  await send([{ path: 'chat' }], look, { key: null });
  expect(seen).toEqual([undefined]);
});

it('is answered with a status, headers and a body', async () => {
  const headers = { 'content-type': 'text/plain', 'keep-alive': 'timeout=9', 'retry-after': '7', location: '/x' };
  const [answer] = await send([{ path: 'chat' }], (_request, response) => response.writeHead(418, headers).end('tea'));
  expect(answer).toEqual({
    ...{ outcome: 'answered', status: 418, contentType: 'text/plain', keepAlive: 'timeout=9', retryAfter: '7' },
    ...{ location: '/x', body: 'tea', reason: '', milliseconds: expect.any(Number) },
  });
});

it('is answered without what the server does not say', async () => {
  const [answer] = await send([{ path: 'chat' }], (_request, response) => response.end());
  expect(answer).toMatchObject({ contentType: null, retryAfter: null, location: null, body: '' });
});

it.each([
  ['sk-12345', 'no [key], [key].'],
  ['sk-1234', 'no sk-1234, sk-1234.'],
])('the key %s in an answer is shown as: %s', async (own, body) => {
  const say: RequestListener = (_request, response) => response.end(`no ${own}, ${own}.`);
  expect((await send([{ path: 'chat' }], say, { key: own }))[0]?.body).toBe(body);
});

describe('a stream is left at its first event', () => {
  const until = { path: 'chat', until: 'first_event' } as const;
  const begin =
    (status: number, text: string, rest: string): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { 'content-type': 'text/event-stream' }).write(text);
      // The rest comes once the answer can have been left, and never if it was.
      response.on('close', () => clearTimeout(later));
      const later = setTimeout(() => response.end(rest), 100);
    };

  it('and no later', async () => {
    const [answer] = await send([until], (_request, response) => response.writeHead(200).write('data: {}\n\n'));
    expect(answer).toMatchObject({ outcome: 'aborted', status: 200, body: 'data: {}\n\n', reason: '' });
  });

  it.each([
    ['a comment is none', until, 200, ': hi\n\n', 'x'],
    ['in an error there is none', until, 500, 'data: {}\n\n', 'x'],
    ['where nobody asked for it there is none', { path: 'chat' } as const, 200, 'data: {}\n\n', 'x'],
  ])('%s', async (_name, request, status, text, rest) => {
    const [answer] = await send([request], begin(status, text, rest));
    expect(answer).toMatchObject({ outcome: 'answered', body: text + rest });
  });
});

describe('an answer is read', () => {
  const mib = 1024 * 1024;
  it.each([
    ['up to 8 MiB', 'x'.repeat(8 * mib), 'answered', ''],
    ['and no further', 'x'.repeat(8 * mib + 1), 'too_large', 'an answer over 8 MiB'],
    ['of 200,000 values', `[${'1,'.repeat(199_998)}1]`, 'answered', ''],
    ['and of no more', `[${'1,'.repeat(199_999)}1]`, 'too_large', 'an answer of over 200000 values'],
  ])('%s', async (_name, body, outcome, reason) => {
    const [answer] = await send([{ path: 'chat' }], (_request, response) => response.end(body));
    expect([answer?.outcome, answer?.reason]).toEqual([outcome, reason]);
  });

  it('of more values in events of the Chat API alone, where one event is read at a time', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    const many = `data: [${'1,'.repeat(200_000)}1]`;
    const say: RequestListener = (_request, response) => response.writeHead(200, headers).end(many);
    const answers = await send([{ path: 'chat' }, { path: '/metrics' }], say, { promptMs: minute });
    expect(answers.map(({ outcome, body }) => [outcome, body.length])).toEqual([
      ['answered', many.length],
      ['too_large', 0],
    ]);
  });

  it('until the connection is cut', async () => {
    const [answer] = await send([{ path: 'chat' }], (_request, response) => {
      response.writeHead(200, { 'content-length': '9' }).write('half', () => response.destroy());
    });
    expect(answer).toMatchObject({ outcome: 'unreachable', status: 200, body: 'half', reason: 'ECONNRESET' });
  });

  it.each([
    ['the model', 'chat', { timeoutMs: 9000, promptMs: 4000 }, 9],
    ['anything else', 'models', { timeoutMs: 9000, promptMs: 4000 }, 4],
    ['anything else where all may take less', 'models', { timeoutMs: 3000, promptMs: 4000 }, 3],
    ['anything else, unless it is said', '/slots', { timeoutMs: 9000 }, 5],
  ] as const)('for as long as the answer of %s may take', async (_name, path, times, seconds) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const [answer] = await send([{ path }], () => vi.advanceTimersByTime(minute), times);
      expect(answer).toMatchObject({ outcome: 'timed_out', reason: `no complete answer within ${seconds} s` });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('what is interrupted', () => {
  it('is not waited for, neither before the request nor after it', async () => {
    const interrupted = new AbortController();
    const asked: (string | undefined)[] = [];
    const requests: readonly ProbeRequest[] = [{ path: 'chat' }, { path: '/slots', wait: minute }];
    const answers = await send(
      requests,
      ({ url }) => {
        asked.push(url);
        interrupted.abort();
      },
      { signal: interrupted.signal },
    );
    expect(asked).toEqual(['/api/chat/completions?q=1']);
    expect(answers).toMatchObject([
      { outcome: 'unreachable', status: 0, reason: 'interrupted', body: '' },
      { outcome: 'unreachable', status: 0, reason: 'interrupted', body: '' },
    ]);
  });
});

it('a request that waits is sent no earlier', async () => {
  const began = performance.now();
  await send([{ path: '/slots', wait: 200 }], (_request, response) => response.end(), { promptMs: minute });
  expect(performance.now() - began).toBeGreaterThan(190);
});
