import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createExchangeStore,
  type ExchangeStore,
  type StoredExchange,
} from '../../../../src/tools/inspect/exchange-store.ts';
import { createInspector, type Inspector } from '../../../../src/tools/inspect/inspector.ts';
import { detailOf, overFacts, requestHead } from '../../../support/recorded-exchange.ts';

const MiB = 1024 * 1024;
const ok = new Map([[':status', '200']]);
const head = new Map([...requestHead, ['é', '"']]);

let store: ExchangeStore;
let inspector: Inspector;
let server: Server;
/** The service's side of what was asked. */
let asked: ServerResponse[];
const open: IncomingMessage[] = [];

beforeEach(async () => {
  store = createExchangeStore();
  inspector = await createInspector({ store, version: '1', sendTo: null, prices: '', explain: async () => '' });
  asked = [];
  server = createServer((incoming, response) => {
    asked.push(response);
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
  exchange.addPiece('client_request', 0, Buffer.from('\ufeff"é𝄞\\\n\u0000'.repeat(MiB / 8)));
  exchange.setHead('chat_request', head);
  exchange.addPiece('chat_request', 0, Buffer.alloc(MiB + 1, 0xff));
  exchange.setHead('chat_response', ok);
  for (let index = 0; index < 1000; index += 1)
    exchange.addPiece('chat_response', index, Buffer.from(`data: ${'𝄞"'.repeat(200)}\n\n`));
  exchange.setHead('client_response', ok);
  exchange.addPiece('client_response', 1, Buffer.from('x'.repeat(2 * MiB)));
  exchange.addPiece('client_response', 2, Buffer.from([0xff, 0xfe]));
  exchange.setFacts(overFacts);
  return exchange;
}

async function textOf(page: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of page as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function eventsOf(text: string): { readonly event: string; readonly data: string }[] {
  return text.split('\n\n').flatMap((block) => {
    const lines = block.split('\n');
    const event = lines.findLast((line) => line.startsWith('event: '))?.slice('event: '.length);
    const data = lines.findLast((line) => line.startsWith('data: '))?.slice('data: '.length);
    return event === undefined || data === undefined ? [] : [{ event, data }];
  });
}

describe('a page that does not read', () => {
  it.each(['/inspect/exchanges/1', '/inspect/exchanges/1/events'])(
    'has 1 MiB of %s waiting for it at most, and gets all of it when it reads',
    async (path) => {
      const exchange = recordLongExchange();
      const expected = detailOf(exchange);
      const pages = await Promise.all(Array.from({ length: 8 }, () => openPage(path)));
      expect(asked).toHaveLength(8);
      for (const response of asked) {
        await expect.poll(() => response.writableNeedDrain).toBe(true);
        expect(response.writableLength).toBeLessThanOrEqual(MiB);
      }
      for (const page of pages) {
        const text = await textOf(page);
        if (path.endsWith('events')) {
          const events = eventsOf(text);
          expect(events.map(({ event }) => event)).toEqual(['exchange', 'end']);
          expect(JSON.parse(events[0]?.data ?? '')).toEqual(expected);
        } else expect(JSON.parse(text)).toEqual(expected);
      }
    },
  );

  it('sees no half exchange where it was evicted meanwhile', async () => {
    const exchange = recordLongExchange();
    const [download, live] = [await openPage('/inspect/exchanges/1'), await openPage('/inspect/exchanges/1/events')];
    exchange.discard();
    await expect(textOf(download)).rejects.toThrow();
    expect(eventsOf(await textOf(live)).map(({ event, data }) => [event, data])).toEqual([['evicted', '{}']]);
  });

  it('has 1 MiB of the list waiting for it at most, however long its rows are', async () => {
    for (let index = 0; index < 200; index += 1)
      store.open(index).setHead('client_request', new Map([[':path', `/${'x'.repeat(60_000)}`]]));
    const page = await openPage('/inspect/events');
    expect(asked[0]?.writableLength).toBeLessThanOrEqual(MiB);
    inspector.close();
    page.destroy();
  });
});

it('a long answer that still runs is sent once, and then only what is new', async () => {
  const exchange = store.open(1);
  exchange.setHead('client_response', ok);
  exchange.addPiece('client_response', 0, Buffer.from('x'.repeat(MiB)));
  const page = await openPage('/inspect/exchanges/1/events');
  let text = '';
  page.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  for (let index = 1; index <= 100; index += 1) {
    exchange.addPiece('client_response', index, Buffer.from(`[${index}]`));
    if (index % 20 === 0) await expect.poll(() => text).toContain(`[${index}]`);
  }
  const events = eventsOf(text).map(({ event }) => event);
  expect(events.filter((event) => event === 'exchange')).toHaveLength(1);
  expect(events.filter((event) => event === 'pieces').length).toBeGreaterThan(1);
  expect(text.length).toBeLessThan(2 * MiB);
});
