import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExplainedRequest } from '../../../../src/tools/inspect/exchange-json.ts';
import { createExchangeStore, type ExchangeStore } from '../../../../src/tools/inspect/exchange-store.ts';
import type { Explainer } from '../../../../src/tools/inspect/explain-once.ts';
import { createInspector, type Inspector } from '../../../../src/tools/inspect/inspector.ts';
import { createListEvents } from '../../../../src/tools/inspect/list-events.ts';
import { maxBodyBytes, probeAgent } from '../../../../src/tools/inspect/recording.ts';
import { addBytes, overFacts, recordedFacts, requestHead } from '../../../support/recorded-exchange.ts';

let store: ExchangeStore;
let inspector: Inspector;
let server: Server;
/** What is explained, and the answer that it gets. */
let explained: ExplainedRequest[];
let explain: () => Promise<string>;
/** What the inspector tells of its pages. */
let told: string[];
let explainer: Explainer;

beforeEach(async () => {
  store = createExchangeStore();
  explained = [];
  explain = async () => '{}';
  told = [];
  explainer = {
    prepare: () => void told.push('open'),
    rest: () => void told.push('closed'),
    async explain(request) {
      explained.push(request);
      return gzipSync(await explain(), { level: 0 });
    },
    close: () => {},
  };
  inspector = createInspector({ store, version: '1', sendTo: null, explainer });
  server = createServer((incoming, response) => void inspector.handle(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  inspector.close();
  server.close();
  server.closeAllConnections();
});

function portOf(of: Server): number {
  return (of.address() as AddressInfo).port;
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`http://127.0.0.1:${portOf(server)}${path}`, { headers });
  return { status: response.status, text: await response.text() };
}

function record(...texts: readonly string[]): number {
  const exchange = store.open(1);
  exchange.setHead('client_request', requestHead);
  for (const text of texts) addBytes(exchange, 'client_request', 0, Buffer.from(text));
  exchange.setFacts(overFacts);
  return exchange.id;
}

/** The exchanges in which a page that opens now finds the text. */
async function search(text: string): Promise<unknown> {
  const stop = new AbortController();
  for await (const event of createListEvents(store)(text, stop.signal)) {
    const data = /^event: found\ndata: (.*)\n\n$/.exec(event)?.[1];
    if (data !== undefined) return JSON.parse(data).ids;
  }
  return null;
}

it('finds a text in a body in any case, as it is and as JSON writes it, across pieces', async () => {
  const ids = [record('{"a":"Two\\nlines é"}'), record('nothing'), record('two\nLI', 'NES É')];
  expect(await search('two\nlines É')).toEqual([ids[0], ids[2]]);
  expect(await search('in none of them')).toEqual([]);
});

it.each(['chat_response', 'client_response'] as const)('finds a text that the deltas of the %s cut', async (body) => {
  const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\r\n\r\n`;
  const ids = ['ra runs', 're'].map((end) => {
    const exchange = store.open(1);
    for (const content of ['A\nze', 'b']) addBytes(exchange, body, 1, chunk(content));
    // More than is read at a time in between, and a message that is itself cut.
    for (let index = 0; index < 600; index += 1) addBytes(exchange, body, 1, ': ping\n\n');
    for (const half of chunk(end).split(/(?=delta)/)) addBytes(exchange, body, 2, half);
    exchange.setFacts({ ...recordedFacts, outcome: 'aborted' });
    return exchange.id;
  });
  expect(await search('a\nZEBRA r')).toEqual([ids[0]]);
});

it('searches an exchange when it has ended, for a page that has asked before', async () => {
  const running = store.open(1);
  const stop = new AbortController();
  const found: unknown[] = [];
  for await (const event of createListEvents(store)('needle', stop.signal)) {
    const data = /^event: found\ndata: (.*)\n\n$/.exec(event)?.[1];
    if (data === undefined) continue;
    found.push(JSON.parse(data).ids);
    if (found.length === 2) break;
    addBytes(running, 'client_request', 0, 'a needle');
    running.setFacts(overFacts);
  }
  expect(found).toEqual([[], [running.id]]);
});

it('explains the client’s request alone, and says why where it cannot', async () => {
  const id = record('{"model":"m"}');
  const exchange = store.get(id);
  if (exchange !== undefined) addBytes(exchange, 'client_response', 1, 'an answer');
  explain = () => Promise.reject(new Error('It is too long.'));
  expect(await get(`/inspect/exchanges/${id}/explanation`)).toEqual({ status: 422, text: 'It is too long.\n' });
  explain = async () => '{"a":"é"}';
  expect(await get(`/inspect/exchanges/${id}/explanation`)).toEqual({ status: 200, text: '{"a":"é"}' });
  expect(explained.map(({ body }) => String(body))).toEqual(['{"model":"m"}', '{"model":"m"}']);
  expect(explained[0]?.file).toMatchObject({
    client_request: { path: '/v1/responses', body: '' },
    chat_response: null,
    client_response: null,
  });
  expect((await get('/inspect/exchanges/99/explanation')).status).toBe(404);
});

it('explains an exchange once, and counts what it keeps of it', async () => {
  const [one, other] = [record('{}'), record('{"model":"m"}')];
  const before = store.heldBytes;
  for (const id of [one, one, one]) expect((await get(`/inspect/exchanges/${id}/explanation`)).text).toBe('{}');
  expect(explained).toHaveLength(1);
  expect(store.heldBytes - before).toBeGreaterThanOrEqual('{}'.length);
  await get(`/inspect/exchanges/${other}/explanation`);
  expect(explained).toHaveLength(2);
  for (const exchange of store.list()) exchange.discard();
  expect(store.heldBytes).toBe(0);
});

it('keeps no explanation of a request that is still coming, nor one that is long', async () => {
  const coming = store.open(1);
  coming.setHead('client_request', requestHead);
  for (const _ of [1, 2]) expect((await get(`/inspect/exchanges/${coming.id}/explanation`)).status).toBe(200);
  expect(explained).toHaveLength(2);
  const whole = record('{}');
  explain = async () => 'x'.repeat(4 * 1024 * 1024);
  const held = store.heldBytes;
  for (const _ of [1, 2]) expect((await get(`/inspect/exchanges/${whole}/explanation`)).status).toBe(200);
  expect(explained).toHaveLength(4);
  expect([coming.explanation, store.get(whole)?.explanation, store.heldBytes]).toEqual([null, null, held]);
});

it('explains one after the other, each once, as many as may wait', async () => {
  const ids = [record('{}'), record('{"model":"m"}')];
  let go = () => {};
  const gone = new Promise<string>((resolve) => {
    go = () => resolve('{}');
  });
  explain = () => gone;
  const asked = Array.from({ length: 9 }, (_, index) => get(`/inspect/exchanges/${ids[index % 2]}/explanation`));
  const refused = await Promise.race(asked);
  expect(refused).toEqual({ status: 503, text: 'Too much is explained at once.\n' });
  expect(explained).toHaveLength(1);
  go();
  expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([...Array(8).fill(200), 503]);
  expect(explained).toHaveLength(2);
  expect((await get(`/inspect/exchanges/${record('')}/explanation`)).status).toBe(200);
});

it('explains nothing of what was evicted while it waited', async () => {
  const [first, second] = [record('{}'), record('{}')];
  let go = () => {};
  explain = () =>
    new Promise<string>((resolve) => {
      go = () => resolve('{}');
    });
  const running = get(`/inspect/exchanges/${first}/explanation`);
  await expect.poll(() => explained.length).toBe(1);
  const evicted = get(`/inspect/exchanges/${second}/explanation`);
  // An answer to a later request says that this one has come.
  await expect.poll(() => get('/inspect/about')).toMatchObject({ status: 200 });
  store.get(second)?.discard();
  go();
  expect((await running).status).toBe(200);
  expect((await evicted).status).not.toBe(200);
  expect(explained).toHaveLength(1);
});

it('tells the explainer when there are pages', async () => {
  const { port } = server.address() as AddressInfo;
  const pages = [new AbortController(), new AbortController()];
  for (const { signal } of pages) await fetch(`http://127.0.0.1:${port}/inspect/events`, { signal });
  expect(told).toEqual(['open', 'open']);
  for (const page of pages) page.abort();
  await expect.poll(() => told).toEqual(['open', 'open', 'closed']);
});

it('neither is done for a page of another site', async () => {
  const id = record('{}');
  for (const path of [`/inspect/exchanges/${id}/explanation`, '/inspect/events?find=a'])
    expect((await get(path, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect(explained).toEqual([]);
});

describe('what is sent on', () => {
  let proxy: Server;
  let asked: { readonly url: string; readonly headers: Readonly<Record<string, unknown>>; readonly body: string }[];
  let reply: { readonly status: number; readonly body: string };

  beforeEach(async () => {
    asked = [];
    reply = { status: 200, body: JSON.stringify({ data: [{ id: 'a' }, { id: 'b' }, {}, null] }) };
    proxy = createServer(async (incoming, response) => {
      const pieces: Buffer[] = [];
      for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
      asked.push({ url: incoming.url ?? '', headers: incoming.headers, body: Buffer.concat(pieces).toString() });
      response.writeHead(reply.status).end(reply.body);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const sendTo = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1/`;
    inspector.close();
    inspector = createInspector({ store, version: '1', sendTo, explainer });
  });
  afterEach(() => {
    proxy.close();
    proxy.closeAllConnections();
  });

  async function post(path: string, body: string, headers: Readonly<Record<string, string>> = {}) {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const own = { 'content-type': 'application/json', origin: url };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { ...own, ...headers }, body });
    return { status: response.status, text: await response.text() };
  }

  it('goes to any path of the API, with the key of the form, and to no other', async () => {
    const path = encodeURIComponent('/team-a/v1/responses/compact?api-version=1');
    expect((await post(`/inspect/send?path=${path}`, '{}', { authorization: 'Bearer k' })).status).toBe(200);
    expect((await post('/inspect/send', 'no JSON')).status).toBe(200);
    expect(asked.map(({ url, headers, body }) => [url, headers['authorization'], body])).toEqual([
      ['/team-a/v1/responses/compact?api-version=1', 'Bearer k', '{}'],
      ['/v1/responses', undefined, 'no JSON'],
    ]);
    for (const other of ['/v1/chat/completions', '/admin', 'http://elsewhere/v1/responses', '@elsewhere/v1/responses'])
      expect((await post(`/inspect/send?path=${encodeURIComponent(other)}`, '{}')).status, other).toBe(400);
    expect(asked).toHaveLength(2);
  });

  it('may have as many bytes as are kept of an exchange', async () => {
    expect((await post('/inspect/send', 'x'.repeat(maxBodyBytes))).status).toBe(200);
    expect((await post('/inspect/send', 'x'.repeat(maxBodyBytes + 1))).status).toBe(413);
  });

  it('asks for the models in its own name, and says what is in the way', async () => {
    expect(await get('/inspect/models', { authorization: 'Bearer k' })).toEqual({
      status: 200,
      text: JSON.stringify({ models: ['a', 'b'], problem: null }),
    });
    expect(asked[0]).toMatchObject({
      url: '/v1/models',
      headers: { 'user-agent': probeAgent, authorization: 'Bearer k' },
    });
    for (const [status, body, problem] of [
      [401, '', 'answered the request for its models with 401'],
      [200, 'no JSON', 'answer is not a list of models'],
      [200, '{"data":1}', 'answer is not a list of models'],
      [200, `{"data":[${'0,'.repeat(200_000)}0]}`, 'answer is not a list of models'],
      [200, `{"data":${'['.repeat(4000)}${']'.repeat(4000)}}`, 'answer is not a list of models'],
      [200, 'x'.repeat(4 * 1024 * 1024 + 1), 'longer than 4194304 bytes'],
    ] as const) {
      reply = { status, body };
      const { status: given, text } = await get('/inspect/models');
      expect([given, text.includes(problem)], text).toEqual([200, true]);
    }
    expect((await get('/inspect/models', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  });
});

it('refuses to send what another site asks for, and does not send it', async () => {
  const received: (string | undefined)[] = [];
  const proxy = createServer((incoming, response) => {
    received.push(incoming.headers['user-agent']);
    response.end('{}');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  inspector.close();
  inspector = createInspector({ store, version: '1', sendTo: `http://127.0.0.1:${portOf(proxy)}/v1`, explainer });
  const own = `http://127.0.0.1:${portOf(server)}`;
  const statusOf = async (origin: string) => {
    const headers = { origin, 'content-type': 'application/json' };
    return (await fetch(`${own}/inspect/send`, { method: 'POST', headers, body: '{}' })).status;
  };
  expect([await statusOf('http://evil.example'), await statusOf(own)]).toEqual([403, 200]);
  expect(received).toEqual(['responses-extproc/1 inspector']);
  proxy.close();
  proxy.closeAllConnections();
});
