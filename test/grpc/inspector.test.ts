import { request as httpRequest } from 'node:http';
import { connect as connectTcp } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import type { ExchangeRow } from '../../src/tools/inspect/exchange-json.ts';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { loadDetail } from '../support/recorded-exchange.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { serviceFromSources } from '../support/service-main.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { done, eventStream, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';

const streamed = (model: string) => JSON.stringify({ model, input: 'Hi', stream: true });

let service: ServiceProcess | undefined;
const clients: ExtProcClient[] = [];
const ends: (() => void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  for (const client of clients.splice(0)) client.close();
  await service?.remove();
  service = undefined;
});

async function start(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  service = await startServiceProcess(environment);
  return service;
}

async function stream(address: string, model: string) {
  const client = connectExtProc(address);
  clients.push(client);
  const { call } = await sendRequest(client, streamed(model));
  await beginStream(call);
  return call;
}

/** The events of a live page, as they come. */
async function live(running: ServiceProcess, path: string) {
  const stop = new AbortController();
  ends.push(() => stop.abort());
  const admin = (await running.get('/healthz')).url.replace('/healthz', '');
  const response = await fetch(admin + path, { signal: stop.signal });
  const events: { readonly event: string; readonly data: unknown }[] = [];
  void (async () => {
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (event !== '') events.push({ event, data: JSON.parse(data) });
      }
    }
  })().catch(() => {}); // the test ended
  return { response, events };
}

interface List {
  readonly rows: readonly ExchangeRow[];
}

async function rowsOf(running: ServiceProcess): Promise<ExchangeRow[]> {
  const { events } = await live(running, '/inspect/events');
  await expect.poll(() => events.length).toBeGreaterThan(0);
  const [first] = events as { readonly data: List }[];
  return [...(first?.data.rows ?? [])];
}

describe('INSPECT=on', () => {
  /** For what leaves its service as it was. From its sources, which build the page when it starts. */
  let shared: ServiceProcess;
  let proxy: ScriptedUpstream;
  let webSocket: string;
  beforeAll(async () => {
    proxy = await startScriptedUpstream({ http2: true });
    webSocket = `127.0.0.1:${await findFreePort()}`;
    const forwardTo = `http://127.0.0.1:${proxy.port}/v1`;
    const settings = { INSPECT: 'on', WEBSOCKET_LISTEN: webSocket, WEBSOCKET_FORWARD_TO: forwardTo };
    shared = await startServiceProcess(settings, { program: serviceFromSources });
  });
  afterAll(async () => {
    await shared.remove();
    await proxy.close();
  });

  it('is a page of the admin port when it is on, and the log says so', async () => {
    const running = shared;
    const line = await running.logged(({ msg }) => String(msg).includes('INSPECT=on'));
    expect(line).toMatchObject({ level: 'info', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/inspect$/) });
    expect(line['msg']).toContain('sees the contents');
    const page = await running.get('/inspect');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const [, path = ''] of (await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)) {
      const file = await running.get(path);
      expect([path, file.status]).toEqual([path, 200]);
      expect(file.headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect(await (await running.get('/')).text()).toContain('/inspect');
    for (const path of ['/inspectx', '/inspect/nothing', '/inspect/exchanges/99', '/inspect/../config%00'])
      expect((await running.get(path)).status, path).toBe(404);
  });

  it('shows a stream while it runs, and its end', async () => {
    const running = shared;
    const call = await stream(running.listen[0] ?? '', 'm-live');
    const row = (await rowsOf(running)).find(({ model }) => model === 'm-live');
    expect(row).toMatchObject({ model: 'm-live', outcome: 'running', stream: true });
    const { events } = await live(running, '/inspect/events');
    await expect.poll(() => events[0]?.event).toBe('list');
    await endStream(call);
    call.halfClose();
    const last = () => (events.at(-1)?.data as List | undefined)?.rows.find(({ id }) => id === row?.id);
    await expect.poll(() => last()?.outcome).toBe('completed');
    const detail = await loadDetail((path) => running.get(path), row?.id ?? 0);
    expect(detail.file).toMatchObject({ outcome: 'completed', chat_response: { status: 200 } });
    const pieces = detail.file.client_response?.pieces ?? [];
    expect(pieces.map((piece) => ('text' in piece ? piece.text : '')).join('')).toContain('response.completed');
    // It is found by what is in its bodies, and by nothing else.
    const found = async (text: string) => {
      const { events: ofSearch } = await live(running, `/inspect/events?find=${encodeURIComponent(text)}`);
      const answer = () => ofSearch.find(({ event }) => event === 'found')?.data as { ids: number[] } | undefined;
      await expect.poll(answer).toBeDefined();
      return answer()?.ids ?? [];
    };
    expect(await found('"MODEL":"m-live"')).toEqual([row?.id]);
    expect(await found('in no body of them')).toEqual([]);
  });

  it('has the message on a WebSocket beside the request made of it, as it came, without credentials', async () => {
    const key = 'sk-of-the-message-1234567890';
    const came = (apiKey: string) =>
      `{ "type":"response.create",\n\t"model": "m-turn", "stream_id": "lane", "input": "Gr\\u00fc\u00dfe", "api_key":"${apiKey}"  }`;
    const client = connectExtProc(shared.listen[0] ?? '');
    clients.push(client);
    /** The filter's part, as the proxy has it done before it answers. */
    const filter = async (id: string) => {
      const [request] = proxy.received('m-turn');
      const { call } = await sendRequest(client, request?.body ?? '', { headers: { 'x-request-id': id } });
      await beginStream(call);
      await endStream(call);
      call.halfClose();
    };
    const completed = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } };
    const last = `event: response.completed\ndata: ${JSON.stringify(completed)}\n\n`;
    proxy.script('m-turn', {
      headers: eventStream,
      body: [() => filter(String(proxy.received('m-turn')[0]?.headers['x-request-id'])), last, done],
    });
    const socket = await openWebSocket(`ws://${webSocket}/v1/responses`, { 'x-request-id': 'inspected' });
    ends.push(() => socket.socket.terminate());
    socket.send(came(key));
    await socket.message(({ type }) => type === 'response.completed');
    // Its turn has ended: this is somebody's own request with the same id.
    await filter('inspected-turn-1');

    const rows = (await rowsOf(shared)).filter(({ request_id }) => request_id === 'inspected-turn-1');
    const [ofTurn, other] = rows.sort((one, two) => one.id - two.id);
    const detail = await loadDetail((path) => shared.get(path), ofTurn?.id ?? 0);
    const textOf = (pieces: typeof detail.pieces.websocket_message) =>
      pieces.map((piece) => ('text' in piece ? piece.text : 'not text')).join('');
    expect(textOf(detail.pieces.websocket_message)).toBe(came('[redacted]'));
    const body = 'body' in detail.file.client_request ? detail.file.client_request.body : '';
    expect(JSON.parse(body)).toMatchObject({ model: 'm-turn', input: 'Gr\u00fc\u00dfe', stream: true });
    expect(JSON.stringify(detail)).not.toContain(key);
    expect((await loadDetail((path) => shared.get(path), other?.id ?? 0)).pieces.websocket_message).toEqual([]);
  });

  it('a page that does not read costs a bounded buffer, and others go on', async () => {
    const running = shared;
    const admin = new URL((await running.get('/healthz')).url);
    const call = await stream(running.listen[0] ?? '', 'm-slow');
    const rowOfCall = async () => (await rowsOf(running)).find(({ model }) => model === 'm-slow');
    const row = await rowOfCall();
    const stuck = connectTcp(Number(admin.port), admin.hostname);
    ends.push(() => stuck.destroy());
    stuck.pause();
    stuck.write(`GET /inspect/exchanges/${row?.id} HTTP/1.1\r\nhost: ${admin.host}\r\n\r\n`);
    const text = 'x'.repeat(100_000);
    const chunk = Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`);
    for (let index = 0; index < 60; index += 1) {
      call.send({ type: 'response_body', body: chunk, endOfStream: false });
      await call.next();
    }
    expect(await rowOfCall()).toMatchObject({ model: 'm-slow', outcome: 'running' });
    expect((await running.get('/healthz')).status).toBe(200);
  });

  it('more streams than it has room for are refused', async () => {
    const running = shared;
    const statuses = [];
    for (let index = 0; index < 33; index += 1) statuses.push((await live(running, '/inspect/events')).response.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(32);
    expect(statuses.at(-1)).toBe(503);
  });
});

describe('INSPECT', () => {
  it('is off by default: there is no such page, and nobody is warned', async () => {
    const running = await start({});
    expect((await running.get('/inspect')).status).toBe(404);
    expect((await running.get('/inspect/events')).status).toBe(404);
    expect(await (await running.get('/')).text()).not.toContain('inspect');
    expect(running.log.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('needs the admin port', async () => {
    await expect(start({ INSPECT: 'on', ADMIN_LISTEN: 'off' })).rejects.toThrow(/INSPECT: is a page of the admin port/);
  });

  it('needs the service to be one process', async () => {
    await expect(start({ INSPECT: 'on', WORKERS: '2' })).rejects.toThrow(
      /INSPECT: shows the exchanges of one process; use it with WORKERS=1 \(got \\"on\\" and WORKERS=2\)/,
    );
  });

  it('is refused to other names, as is the rest of the port, and its form to other sites', async () => {
    const running = await start({ INSPECT: 'on', INSPECT_SEND_TO: 'http://127.0.0.1:9/v1' });
    const admin = new URL((await running.get('/healthz')).url);
    const send = (method: string, path: string, headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const sent = httpRequest({ host: admin.hostname, port: admin.port, method, path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        sent.on('error', reject);
        sent.end(method === 'POST' ? '{}' : undefined);
      });
    const pages = ['/inspect', '/inspect/page.js', '/inspect/events', '/inspect/exchanges/1', '/inspect/send'];
    for (const path of [...pages, '/config', '/metrics', '/readyz'])
      expect(await send('GET', path, { host: 'evil.example' }), path).toBe(403);
    const own = { host: admin.host, origin: admin.origin, 'content-type': 'application/json' };
    expect(await send('POST', '/inspect/send', { ...own, origin: 'http://evil.example' })).toBe(403);
    expect(await send('POST', '/inspect/send', { ...own, 'content-type': 'text/plain' })).toBe(403);
    expect(await send('POST', '/inspect/send', own)).toBe(502); // nothing listens there
    expect(await send('POST', '/inspect', own)).toBe(405);
    expect(await send('GET', '/inspect/send', { host: admin.host })).toBe(405);
  });
});
