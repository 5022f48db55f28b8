import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { askUpstream, chooseModelToShow } from '../../../mesh/upstream-check.ts';
import { createAuthority } from '../../support/certificates.ts';
import { runDoctorJson } from '../../support/run-doctor.ts';

const open: { close(): void; closeAllConnections?(): void }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return (server.address() as AddressInfo).port;
}

type Answers = Readonly<Record<string, readonly [status: number, body: string, location?: string]>>;

/** A server that answers these paths, and 404 to all others. */
async function serve(answers: Answers): Promise<string> {
  const port = await portOf(
    createServer((request: IncomingMessage, response: ServerResponse) => {
      const [status, body, location] = answers[request.url ?? ''] ?? [404, 'Not Found'];
      request
        .resume()
        .on('end', () => response.writeHead(status, location === undefined ? {} : { location }).end(body));
    }),
  );
  return `http://127.0.0.1:${port}`;
}

const list = JSON.stringify({ object: 'list', data: [{ id: 'nomic-embed-text:latest' }, { id: 'qwen3:8b' }] });
const refusesEmpty = [400, '{"error":{"message":"messages is missing"}}'] as const;

async function problemOf(url: string, key?: string, timeoutMs = 240_000): Promise<string | null> {
  return (await askUpstream(new URL(url), { key, timeoutMs })).problem;
}

describe('what npm start says of an upstream', () => {
  it('names its models, and shows one that chats', async () => {
    const url = await serve({ '/v1/models': [200, list], '/v1/chat/completions': refusesEmpty });
    const { models, problem } = await askUpstream(new URL(`${url}/v1/`), { key: undefined, timeoutMs: 60_000 });
    expect({ models, problem }).toEqual({ models: ['nomic-embed-text:latest', 'qwen3:8b'], problem: null });
    expect(chooseModelToShow(models)).toBe('qwen3:8b');
    expect(chooseModelToShow([])).toBeUndefined();
  });

  it.each([
    ['vllm', { '/v1/models': [200, '{"data":[{"id":"m","owned_by":"vllm"}]}'] }],
    ['sglang', { '/v1/models': [200, '{"data":[{"id":"m","owned_by":"sglang"}]}'] }],
    ['lmstudio', { '/v1/models': [200, '{"data":[{"id":"m","owned_by":"organization_owner"}]}'] }],
    ['llama.cpp', { '/v1/models': [200, list], '/props': [200, '{"default_generation_settings":{"n_ctx":4096}}'] }],
    ['ollama', { '/v1/models': [200, list], '/api/version': [200, '{"version":"0.12.0"}'] }],
    [null, { '/v1/models': [200, list] }],
  ] satisfies [string | null, Answers][])('recognises %s', async (profile, answers) => {
    const url = new URL(`${await serve({ ...answers, '/v1/chat/completions': refusesEmpty })}/v1`);
    const asking = { key: undefined, timeoutMs: 60_000 };
    expect(await askUpstream(url, asking)).toMatchObject({ problem: null, profile });
  });

  it('that it is loading: a connection without an answer, or its own word', async () => {
    const silent = await portOf(createTcp(() => {}));
    const asking = { key: undefined, timeoutMs: 300 };
    expect(await askUpstream(new URL(`http://127.0.0.1:${silent}/v1`), asking)).toMatchObject({ isLoading: true });
    const busy = await serve({
      '/v1/models': [503, '{"error":{"message":"Loading model"}}'],
      '/down/models': [503, ''],
    });
    for (const [path, isLoading] of [
      ['v1', true],
      ['down', false],
    ] as const)
      expect(await askUpstream(new URL(`${busy}/${path}`), { ...asking, timeoutMs: 60_000 })).toMatchObject({
        isLoading,
      });
  });

  it('has no complaint about one that lists nothing and answers', async () => {
    const url = await serve({ '/v1/chat/completions': refusesEmpty });
    expect(await askUpstream(new URL(`${url}/v1`), { key: undefined, timeoutMs: 60_000 })).toEqual({
      models: [],
      problem: null,
      isLoading: false,
      profile: null,
    });
  });

  it('that it is not there', async () => {
    const server = createTcp();
    const port = await portOf(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await problemOf(`http://127.0.0.1:${port}/v1`)).toBe(
      `nothing listens at 127.0.0.1:${port} (ECONNREFUSED). Start the server, or correct the address.`,
    );
    expect(await problemOf('http://no-such-host.invalid/v1')).toContain('no-such-host.invalid is not known');
  });

  it('that it wants a key, or another one, or only for Chat', async () => {
    const closed = await serve({ '/v1/models': [401, '{}'] });
    expect(await problemOf(`${closed}/v1`)).toBe(
      'it requires an API key (401). Give it with --upstream-key or in UPSTREAM_KEY; otherwise each client must send its own.',
    );
    expect(await problemOf(`${closed}/v1`, 'sk-wrong')).toContain('does not accept the API key (401)');
    const half = await serve({ '/v1/models': [200, list], '/v1/chat/completions': [401, '{}'] });
    expect(await problemOf(`${half}/v1`)).toContain('--upstream-key');
  });

  it('that the path is wrong, and which one is right', async () => {
    const url = await serve({ '/v1/models': [200, list], '/v1/chat/completions': refusesEmpty });
    expect(await problemOf(url)).toBe(`it has no /chat/completions (404). It has /v1: give ${url}/v1`);
    expect(await problemOf(`${url}/api`)).toBe(`it has no /api/chat/completions (404). It has /v1: give ${url}/v1`);
    const other = await serve({});
    expect(await problemOf(`${other}/v1`)).toContain('must be the base URL of its Chat API');
  });

  it('that it has no models, is in trouble, or redirects', async () => {
    const url = await serve({
      '/v1/models': [200, '{"data":[]}'],
      '/v1/chat/completions': refusesEmpty,
      '/down/models': [503, 'loading'],
      '/moved/models': [301, ''],
    });
    expect(await problemOf(`${url}/v1`)).toBe('it lists no models. Load one.');
    expect(await problemOf(`${url}/down`)).toContain('answers with the status 503');
    expect(await problemOf(`${url}/moved`)).toContain('redirects (301)');
  });

  it.each([
    ['{"ok":true}', 'a 200 that is not a Chat Completion: {"ok":true}'],
    ['', 'a 200 without a body'],
  ])('that it is no Chat server, which answers everything with %j: the doctor says the same', async (body, what) => {
    const url = new URL(`${await serve({ '/v1/models': [200, body], '/v1/chat/completions': [200, body] })}/v1`);
    expect(await problemOf(url.href)).toBe(`it is not a Chat server: /v1/chat/completions answers with ${what}`);
    const { code, report } = await runDoctorJson([url.href, '--model', 'm']);
    expect([code, report.verdict.outcome]).toEqual([1, 'unusable']);
    expect(report.findings.find(({ probe }) => probe === 'text')?.detail).toBe(what);
  });

  const base = (path: string, status: number) =>
    `it has no ${path}/chat/completions (${status}). The address must be the base URL of its Chat API, which mostly ends in /v1.`;
  const key = (status: number) =>
    `it requires an API key (${status}). Give it with --upstream-key or in UPSTREAM_KEY; otherwise each client must send its own.`;
  it.each<[Answers, path: string, problem: (url: string) => string | null, isLoading?: boolean]>([
    // An empty request may break a server that works.
    [{ '/v1/models': [200, list], '/v1/chat/completions': [500, 'no messages'] }, '/v1', () => null],
    [{ '/v1/chat/completions': [500, ''] }, '/v1', () => 'it answers with the status 500. Its own log says why.'],
    [
      { '/v1/chat/completions': [503, 'Loading'] },
      '/v1',
      () => 'it answers with the status 503. Its own log says why.',
      true,
    ],
    [{ '/v1/models': [500, 'Loading'] }, '/v1', () => 'it answers with the status 500. Its own log says why.'],
    [{ '/v1/models': [501, ''], '/v1/chat/completions': refusesEmpty }, '/v1', () => null],
    [{ '/v1/models': [200, list], '/v1/chat/completions': [501, ''] }, '/v1', () => base('/v1', 501)],
    [{ '/v1/chat/completions': [405, ''] }, '/v1', () => base('/v1', 405)],
    [{ '/v1/chat/completions': [404, 'no such MODEL'] }, '/v1', () => null],
    [{ '/v1/models': [403, ''] }, '/v1', () => key(403)],
    [{ '/v1/models': [300, ''] }, '/v1', () => 'it redirects (300) to nowhere. Give the address that it leads to.'],
    [{ '/v1/models': [399, ''] }, '/v1', () => 'it redirects (399) to nowhere. Give the address that it leads to.'],
    [
      { '/v1/models': [308, '', 'http://b/v1'] },
      '/v1',
      () => 'it redirects (308) to http://b/v1. Give the address that it leads to.',
    ],
    [
      { '/v1/models': [400, 'Client sent an HTTP request to an HTTPS server.'] },
      '/v1',
      (url) => `it speaks TLS on that port. Try ${url.replace('http:', 'https:')}/v1`,
    ],
    [{ '/v1/models': [404, 'https'], '/v1/chat/completions': refusesEmpty }, '/v1', () => null],
    [
      { '/api/v1/models': [403, ''] },
      '/api/',
      (url) => `it has no /api/chat/completions (404). It has /api/v1: give ${url}/api/v1`,
    ],
    [{ '/v1/models': [401, ''] }, '/', (url) => `it has no /chat/completions (404). It has /v1: give ${url}/v1`],
    [
      { '/openai/v1/models': [200, list] },
      '/v1',
      (url) => `it has no /v1/chat/completions (404). It has /openai/v1: give ${url}/openai/v1`,
    ],
    [
      { '/v1/models': [200, list], '/v1/responses': [400, '{"error":{"message":"model is missing"}}'] },
      '/v1',
      () =>
        'it has no /v1/chat/completions (404). It speaks the Responses API itself, at /v1/responses: you may not need this service.',
    ],
    [
      { '/v1/models': [200, list], '/v1/chat/completions': [200, '<!doctype html><title>Sign in</title>'] },
      '/v1',
      () =>
        '/v1/chat/completions answers with a web page (HTML, 200). The address must be the base URL of its Chat API, which mostly ends in /v1.',
    ],
  ])('%j at %s', async (answers, path, problem, isLoading = false) => {
    const url = await serve(answers);
    const state = await askUpstream(new URL(url + path), { key: undefined, timeoutMs: 60_000 });
    const models = answers['/v1/models']?.[1] === list ? ['nomic-embed-text:latest', 'qwen3:8b'] : [];
    expect(state).toEqual({ models, problem: problem(url), isLoading, profile: null });
  });

  it('with the key, and a Chat request that asks for nothing', async () => {
    const asked: unknown[] = [];
    const port = await portOf(
      createServer(async (request, response) => {
        const { method, url, headers } = request;
        asked.push([method, url, headers.authorization, await text(request)]);
        response.writeHead(400).end('{}');
      }),
    );
    await askUpstream(new URL(`http://127.0.0.1:${port}/v1//`), { key: 'sk-1', timeoutMs: 60_000 });
    expect(asked.slice(0, 2)).toEqual([
      ['GET', '/v1/models', 'Bearer sk-1', ''],
      ['POST', '/v1/chat/completions', 'Bearer sk-1', '{}'],
    ]);
  });

  it('that it was not waited for', async () => {
    const port = await portOf(createTcp(() => {}));
    const stop = new AbortController();
    const asking = askUpstream(new URL(`http://127.0.0.1:${port}/v1`), {
      key: undefined,
      timeoutMs: 60_000,
      signal: stop.signal,
    });
    stop.abort();
    expect((await asking).problem).toBe('the request failed: interrupted.');
  });

  it.each(['embed', 'rerank', 'whisper', 'tts', 'transcribe', 'moderation', 'dall-e', 'image'])(
    'no %s model as one that chats',
    (kind) => {
      expect(chooseModelToShow([`a-${kind}-1`, 'chat'])).toBe('chat');
      expect(chooseModelToShow([`a-${kind}-1`])).toBe(`a-${kind}-1`);
    },
  );

  it('that it is silent', async () => {
    const port = await portOf(createTcp(() => {}));
    expect(await problemOf(`http://127.0.0.1:${port}/v1`, undefined, 700)).toContain('does not answer within 0.7 s');
  });

  it('that the certificate is not trusted, or the scheme is the other one', async () => {
    const authority = createAuthority('authority-of-the-check');
    const { certFile, keyFile } = authority.issue('upstream');
    const server = createHttps({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    const secure = await portOf(server);
    expect(await problemOf(`https://127.0.0.1:${secure}/v1`)).toMatch(
      /certificate is not trusted here \(\w+\)\. Set NODE_EXTRA_CA_CERTS to the PEM file/,
    );
    expect(await problemOf(`http://127.0.0.1:${secure}/v1`)).toContain(`https://127.0.0.1:${secure}/v1`);
    const plain = new URL(await serve({}));
    expect(await problemOf(`https://${plain.host}/v1`)).toContain(`does not speak TLS on that port`);
    expect(await problemOf(`https://${plain.host}/v1`)).toContain(`Try http://${plain.host}/v1`);
    authority.remove();
  });
});
