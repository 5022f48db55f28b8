import { describe, expect, it } from 'vitest';
import { bytesOf, readExchangeFile } from '../../../../src/filter/wire/schema/exchange-file.ts';
import type { ExchangeFacts, Head } from '../../../../src/tools/inspect/recording.ts';
import {
  createExchangeStore,
  defaultStoreLimits,
  type ExchangeStore,
  type StoreLimits,
} from '../../../../src/tools/inspect/store.ts';
import { detailOf, rowOf } from '../../../../src/tools/inspect/told-exchange.ts';
import { recordedFacts } from '../../../support/recorded-facts.ts';

const request: Head = [':method', 'POST', ':path', '/v1/responses', 'a', 'b', 'user-agent', 'c'];
const response: Head = [':status', '200', 'd', 'e'];
const over: ExchangeFacts = { ...recordedFacts, outcome: 'completed' };
const KiB = 1024;

function storeWith(limits: Partial<StoreLimits>): ExchangeStore {
  return createExchangeStore({ ...defaultStoreLimits, ...limits });
}

function idsOf(store: ExchangeStore): number[] {
  return [...store.list()].map(({ id }) => id);
}

describe('the store of exchanges', () => {
  it('keeps 200 exchanges in 64 MiB', () => {
    expect(defaultStoreLimits).toMatchObject({ maxExchanges: 200, maxBytes: 64 * KiB * KiB });
  });

  it('evicts the oldest that has ended, before any that runs', () => {
    const store = storeWith({ maxExchanges: 3 });
    const [first, second] = [store.open(1), store.open(2)];
    second.facts(over);
    store.open(3);
    store.open(4);
    expect(idsOf(store)).toEqual([1, 3, 4]);
    expect([first.isDiscarded, second.isDiscarded]).toEqual([false, true]);
    store.open(5);
    expect(idsOf(store)).toEqual([3, 4, 5]);
    expect(store.get(first.id)).toBeUndefined();
  });

  it('does so again after none was left that had ended, however often it is said that one has', () => {
    const store = storeWith({ maxExchanges: 3 });
    const [, second] = [store.open(1), store.open(2), store.open(3)];
    second.facts(over);
    second.facts(over);
    store.open(4);
    store.open(5);
    expect(idsOf(store)).toEqual([3, 4, 5]);
    store.get(5)?.facts(over);
    store.get(4)?.facts(over);
    store.open(6);
    expect(idsOf(store)).toEqual([3, 5, 6]);
    store.open(7);
    store.open(8);
    expect(idsOf(store)).toEqual([6, 7, 8]);
  });

  it('counts the bytes of all exchanges, and never holds more than it may', () => {
    const maxBytes = 256 * KiB;
    const store = storeWith({ maxBytes, maxExchangeBytes: 64 * KiB });
    for (let index = 0; index < 50; index += 1) {
      const exchange = store.open(index);
      for (let piece = 0; piece < 20; piece += 1) {
        exchange.piece('chat_response', piece, Buffer.alloc(KiB, 'x'));
        expect(store.heldBytes).toBeLessThanOrEqual(maxBytes);
      }
      exchange.facts(over);
    }
    expect(idsOf(store).length).toBeGreaterThan(2);
    expect(idsOf(store).at(-1)).toBe(50);
    for (const exchange of store.list()) exchange.discard();
    expect(store.heldBytes).toBe(0);
  });

  it('counts what many tiny pieces cost besides their bytes', () => {
    const store = storeWith({});
    const exchange = store.open(1);
    const before = store.heldBytes;
    for (let index = 0; index < 1000; index += 1) exchange.piece('chat_response', index, Buffer.from('x'));
    expect(store.heldBytes - before).toBeGreaterThan(16 * 1000);
  });

  it('keeps the beginning of an exchange that is too long, and says what it left out', () => {
    const store = storeWith({ maxExchangeBytes: 20 * KiB });
    const exchange = store.open(1);
    exchange.head('client_request', request);
    for (let index = 0; index < 30; index += 1) exchange.piece('chat_response', index, Buffer.alloc(KiB, 'x'));
    const { omitted, row } = detailOf(exchange);
    expect(omitted.chat_response).toBeGreaterThan(10 * KiB);
    expect(row.omitted_bytes).toBe(omitted.chat_response);
    const kept = exchange.log.piecesFrom('chat_response', 0).reduce((sum, piece) => sum + bytesOf(piece).length, 0);
    expect(kept + omitted.chat_response).toBe(30 * KiB);
  });

  it('keeps a share for the answer, however long the request is', () => {
    const store = storeWith({ maxExchangeBytes: 64 * KiB });
    const exchange = store.open(1);
    exchange.head('chat_response', response);
    exchange.piece('client_request', 0, Buffer.alloc(80 * KiB, 'x'));
    exchange.piece('chat_request', 0, Buffer.alloc(80 * KiB, 'x'));
    exchange.piece('chat_response', 1, Buffer.from('data: up\n\n'));
    exchange.piece('client_response', 1, Buffer.from('data: down\n\n'));
    exchange.facts(over);
    expect(rowOf(exchange).pieces).toEqual([1, 1]);
    expect(detailOf(exchange).omitted).toMatchObject({ chat_response: 0, client_response: 0 });
    expect(detailOf(exchange).omitted.chat_request).toBeGreaterThan(64 * KiB);
  });

  it('keeps the last events of an answer that is too long, whole, behind a comment that says what is missing', () => {
    const store = storeWith({ maxExchangeBytes: 64 * KiB });
    const exchange = store.open(1);
    const event = (name: string) => Buffer.from(`data: {"type":"${name}","text":"${'x'.repeat(500)}"}\n\n`);
    let sent = 0;
    for (let index = 0; index < 1000; index += 1) {
      // Cut in the middle of an event.
      for (const bytes of [event(`delta ${index}`).subarray(0, 100), event(`delta ${index}`).subarray(100)]) {
        exchange.piece('client_response', index, bytes);
        sent += bytes.length;
      }
      // Memory is taken in chunks of 8 KiB.
      expect(store.heldBytes).toBeLessThan(72 * KiB);
    }
    const last = Buffer.concat([event('response.completed'), Buffer.from('data: [DONE]\n\n')]);
    exchange.piece('client_response', 1000, last);
    expect(rowOf(exchange).omitted_bytes).toBeGreaterThan(0);
    exchange.facts(over);
    const text = exchange.log
      .piecesFrom('client_response', 0)
      .map((piece) => bytesOf(piece).toString())
      .join('');
    const { omitted } = detailOf(exchange);
    const comment = `\n\n: ${omitted.client_response} bytes of the answer are not kept\n\n`;
    expect(text.startsWith(event('delta 0').toString())).toBe(true);
    expect(text.endsWith(event('delta 999').toString() + last.toString())).toBe(true);
    const [beginning = '', end = ''] = text.split(comment);
    expect(beginning.length + end.length + omitted.client_response).toBe(sent + last.length);
    expect(end.startsWith('data: {"type":"delta ')).toBe(true);
    expect(store.heldBytes).toBeLessThan(72 * KiB);
    exchange.discard();
    expect(store.heldBytes).toBe(0);
  });

  it('keeps no end of an answer that is not a stream: half of it would be none', () => {
    const exchange = storeWith({ maxExchangeBytes: 64 * KiB }).open(1);
    for (let index = 0; index < 100; index += 1) exchange.piece('client_response', index, Buffer.alloc(KiB, 'x'));
    exchange.facts(over);
    const kept = exchange.log.piecesFrom('client_response', 0).reduce((sum, piece) => sum + bytesOf(piece).length, 0);
    expect(kept + detailOf(exchange).omitted.client_response).toBe(100 * KiB);
  });

  it('counts the names of what was dropped, and no longer when it is evicted', () => {
    const store = storeWith({});
    const exchange = store.open(1);
    const before = store.heldBytes;
    const dropped = Array.from({ length: 100 }, (_, index) => `tools[${index}].`.padEnd(1000, 'x'));
    for (let time = 0; time < 3; time += 1) exchange.facts({ ...recordedFacts, dropped });
    expect(store.heldBytes - before).toBeGreaterThan(100 * 1000);
    expect(store.heldBytes - before).toBeLessThan(2 * 100 * 1000);
    exchange.facts({ ...over, dropped: [] });
    expect(store.heldBytes).toBe(before);
    exchange.facts({ ...over, dropped });
    exchange.discard();
    expect(store.heldBytes).toBe(0);
  });

  it('evicts for the names of what was dropped', () => {
    const store = storeWith({ maxBytes: 64 * KiB });
    for (let index = 0; index < 10; index += 1) store.open(index).facts({ ...over, dropped: ['x'.repeat(20 * KiB)] });
    expect(idsOf(store)).toEqual([9, 10]);
  });

  it('has a changed head as Envoy sends it on: it removes, then overwrites or adds; each from the one at that time', () => {
    const exchange = storeWith({}).open(1);
    exchange.head('client_request', [':method', 'POST', ':path', '/v1/responses', 'a', '1', 'b', '2', 'c', '3']);
    const change = { set: [':path', '/v1/chat/completions', 'b', 'new', 'd', '4'], remove: ['a', 'b'] };
    exchange.changedHead('chat_request', 'client_request', change);
    exchange.changedHead('client_request', 'client_request', { set: [], remove: ['c'] });
    exchange.changedHead('client_response', 'chat_response', { set: [':status', '200'], remove: ['x'] });
    const { client_request, chat_request, client_response } = detailOf(exchange).file;
    expect(client_request.headers).toEqual([
      { name: 'a', value: '1' },
      { name: 'b', value: '2' },
    ]);
    expect(chat_request).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
    expect(chat_request?.headers).toEqual([
      { name: 'c', value: '3' },
      { name: 'b', value: 'new' },
      { name: 'd', value: '4' },
    ]);
    expect(client_response).toMatchObject({ status: 200, headers: [] });
  });

  it('knows the client before the facts do', () => {
    const exchange = storeWith({}).open(1);
    exchange.head('client_request', request);
    expect(rowOf(exchange)).toMatchObject({ client: 'c', method: 'POST', path: '/v1/responses' });
  });

  it('keeps pieces of all sizes apart, of four bodies in turn, also when they are read in between', () => {
    const exchange = storeWith({}).open(1);
    const bodies = ['client_request', 'chat_request', 'chat_response', 'client_response'] as const;
    const lengths = [1, 12, 8171, 8180, 8191, 8192, 8193, 20_000, 0, 5];
    const read = new Map(bodies.map((body) => [body, [] as string[]]));
    const more = () => {
      for (const [body, texts] of read)
        for (const piece of exchange.log.piecesFrom(body, texts.length)) texts.push(bytesOf(piece).toString());
    };
    for (const [turn, length] of lengths.entries()) {
      for (const [number, body] of bodies.entries()) exchange.piece(body, turn, Buffer.alloc(length, `${number}`));
      exchange.head('chat_response', [':status', `${turn}`, 'x', 'é'.repeat(length)]);
      if (turn % 3 === 0) more();
    }
    more();
    for (const [number, body] of bodies.entries()) {
      const expected = lengths.filter((length) => length > 0).map((length) => `${number}`.repeat(length));
      expect(read.get(body)).toEqual(expected);
      expect(exchange.log.piecesFrom(body, 0).map((piece) => bytesOf(piece).toString())).toEqual(expected);
    }
    expect(detailOf(exchange).file.chat_response?.headers).toEqual([{ name: 'x', value: 'é'.repeat(5) }]);
  });

  it('copies what it keeps, since the bytes are a view of a socket’s buffer', () => {
    const exchange = storeWith({}).open(1);
    const bytes = Buffer.from('data: {}\n\n');
    exchange.piece('chat_response', 1, bytes);
    bytes.fill('!');
    expect(exchange.log.piecesFrom('chat_response', 0)).toEqual([{ at_ms: 1, text: 'data: {}\n\n' }]);
  });

  it('gives an exchange as the file that explain reads, bytes that are no text in Base64', () => {
    const exchange = storeWith({}).open(Date.UTC(2026, 10, 22));
    exchange.head('client_request', request);
    exchange.piece('client_request', 0.5, Buffer.from('{"model":"m"}'));
    exchange.head('chat_response', response);
    exchange.piece('chat_response', 1.23456, Buffer.from([0xff, 0xfe]));
    exchange.facts({ ...recordedFacts, outcome: 'failed', errorCode: 'upstream_timeout', cause: 'Error: x' });
    const file = readExchangeFile(JSON.parse(JSON.stringify(detailOf(exchange).file)));
    expect(file).toMatchObject({
      started_at: '2026-11-22T00:00:00.000Z',
      client_request: { method: 'POST', path: '/v1/responses', body: '{"model":"m"}' },
      chat_request: null,
      chat_response: { status: 200, pieces: [{ at_ms: 1.235, base64: '//4=' }] },
      client_response: null,
      outcome: 'failed',
      error: { code: 'upstream_timeout', cause: 'Error: x' },
    });
  });

  it('computes the speed of a stream from its first delta on', () => {
    const exchange = storeWith({}).open(1);
    for (const at of [100, 200, 1100]) exchange.piece('chat_response', at, Buffer.from('x'));
    const tokens = { input_tokens: 9, cached_tokens: 0, output_tokens: 51, reasoning_tokens: 0, total_tokens: 60 };
    exchange.facts({ ...over, stream: true, tokens, firstTokenMs: 100 });
    expect(rowOf(exchange).tokens_per_second).toBe(50);
    exchange.facts({ ...over, stream: false, tokens, firstTokenMs: null });
    expect(rowOf(exchange).tokens_per_second).toBeNull();
  });
});
