import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildExchangePart } from '../../../../src/tools/inspect/exchange-json.ts';
import {
  createExchangeStore,
  type ExchangeStore,
  type StoredExchange,
} from '../../../../src/tools/inspect/exchange-store.ts';
import { createInspector, type Inspector } from '../../../../src/tools/inspect/inspector.ts';
import {
  addBytes,
  detailOf,
  loadDetail,
  noExplainer,
  overFacts,
  requestHead,
} from '../../../support/recorded-exchange.ts';

const MiB = 1024 * 1024;
const ok = new Map([[':status', '200']]);
const head = new Map([...requestHead, ['é', '"']]);

let store: ExchangeStore;
let inspector: Inspector;
let server: Server;
/** The service's side of what was asked. */
let responses: ServerResponse[];
const open: IncomingMessage[] = [];

beforeEach(async () => {
  store = createExchangeStore();
  inspector = createInspector({ store, version: '1', sendTo: null, explainer: noExplainer });
  responses = [];
  server = createServer((incoming, response) => {
    responses.push(response);
    inspector.handle(incoming, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  for (const page of open.splice(0)) page.destroy();
  inspector.close();
  server.close();
  server.closeAllConnections();
});

/** A page that has read nothing yet but the headers. */
function openPage(path: string): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path }, (page) => {
      open.push(page);
      resolve(page);
    })
      .on('error', reject)
      .end();
  });
}

/** Each place of an exchange with what JSON, UTF-8 and base64 have to be careful with, 8 MiB in all. */
function recordLongExchange(): StoredExchange {
  const exchange = store.open(1);
  exchange.setHead('client_request', head);
  addBytes(exchange, 'client_request', 0, Buffer.from('\ufeff"é𝄞\\\n\u0000'.repeat(MiB / 8)));
  exchange.setHead('chat_request', head);
  addBytes(exchange, 'chat_request', 0, Buffer.alloc(MiB + 1, 0xff));
  exchange.setHead('chat_response', ok);
  for (let index = 0; index < 1000; index += 1)
    addBytes(exchange, 'chat_response', index, Buffer.from(`data: ${'𝄞"'.repeat(200)}\n\n`));
  exchange.setHead('client_response', ok);
  addBytes(exchange, 'client_response', 1, Buffer.from('x'.repeat(2 * MiB)));
  addBytes(exchange, 'client_response', 2, Buffer.from([0xff, 0xfe]));
  exchange.setFacts(overFacts);
  return exchange;
}

describe('a page that does not read', () => {
  it('has little more than 1 MiB of an exchange waiting for it, and gets the rest when it asks again', async () => {
    const exchange = recordLongExchange();
    const asked = await Promise.all(Array.from({ length: 8 }, () => openPage('/inspect/exchanges/1')));
    expect(asked).toHaveLength(8);
    for (const response of responses) expect(response.writableLength).toBeLessThanOrEqual(1.5 * MiB);
    const { port } = server.address() as AddressInfo;
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    const loaded = await loadDetail(get, 1);
    // The test's own comparison of megabytes takes seconds.
    expect(JSON.stringify(loaded.file) === JSON.stringify(detailOf(exchange).file)).toBe(true);
    const chat = loaded.file.chat_request;
    expect(chat !== null && 'base64' in chat && Buffer.from(chat.base64, 'base64')).toEqual(
      Buffer.alloc(MiB + 1, 0xff),
    );
    const said = loaded.file.client_request;
    expect('body' in said && said.body).toBe('\ufeff"é𝄞\\\n\u0000'.repeat(MiB / 8));
  });

  it('has 1 MiB of the list waiting for it at most, however long its rows are', async () => {
    for (let index = 0; index < 200; index += 1)
      store.open(index).setHead('client_request', new Map([[':path', `/${'x'.repeat(60_000)}`]]));
    const page = await openPage('/inspect/events');
    await expect.poll(() => responses[0]?.writableNeedDrain).toBe(true);
    expect(responses[0]?.writableLength).toBeLessThanOrEqual(MiB);
    inspector.close();
    page.destroy();
  });
});

it('a part goes on behind what a page has, both sides at the same time', () => {
  const exchange = recordLongExchange();
  const counts = {
    client_request: exchange.pieces.client_request.length,
    chat_request: exchange.pieces.chat_request.length,
    chat_response: 0,
    client_response: 0,
    websocket_message: 0,
  };
  const { pieces, has_more } = buildExchangePart(exchange, counts);
  const times = Object.values(pieces).map((list) => list.map(({ at_ms }) => at_ms));
  expect(times[1]).toEqual([]);
  expect(Math.max(...(times[2] ?? []))).toBeLessThanOrEqual(2);
  expect(times[3]?.length).toBeGreaterThan(0);
  expect(has_more).toBe(true);
});
