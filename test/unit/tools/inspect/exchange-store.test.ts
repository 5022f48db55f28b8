import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { decodeRecorded, parseExchangeFile } from '../../../../src/tools/files/exchange-file.ts';
import { buildExchangeRow } from '../../../../src/tools/inspect/exchange-json.ts';
import {
  createExchangeStore,
  defaultStoreLimits,
  type ExchangeStore,
  type StoreLimits,
} from '../../../../src/tools/inspect/exchange-store.ts';
import { addBytes, detailOf, overFacts, recordedFacts, requestHead } from '../../../support/recorded-exchange.ts';

const KiB = 1024;
const root = new URL('../../../../', import.meta.url);

function storeWith(limits: Partial<StoreLimits>): ExchangeStore {
  return createExchangeStore({ ...defaultStoreLimits, ...limits });
}

function idsOf(store: ExchangeStore): number[] {
  return [...store.list()].map(({ id }) => id);
}

/** The pieces of an answer as text. */
function textsOf(exchange: ReturnType<ExchangeStore['open']>): string[] {
  const { client_response } = detailOf(exchange).file;
  return (client_response?.pieces ?? []).map((piece) => decodeRecorded(piece).toString());
}

describe('the store of exchanges', () => {
  it('keeps 200 exchanges in 64 MiB', () => {
    expect(defaultStoreLimits).toEqual({ maxExchanges: 200, maxBytes: 64 * KiB * KiB });
  });

  it('evicts the oldest that has ended, before any that runs', () => {
    const store = storeWith({ maxExchanges: 3 });
    const [first, second] = [store.open(1), store.open(2)];
    second.setFacts(overFacts);
    store.open(3);
    store.open(4);
    expect(idsOf(store)).toEqual([1, 3, 4]);
    expect([first.isDiscarded, second.isDiscarded]).toEqual([false, true]);
    store.open(5);
    expect(idsOf(store)).toEqual([3, 4, 5]);
    expect(store.get(first.id)).toBeUndefined();
  });

  it('counts the bytes of all exchanges, and never holds more than it may', () => {
    const maxBytes = 256 * KiB;
    const store = storeWith({ maxBytes });
    for (let index = 0; index < 50; index += 1) {
      const exchange = store.open(index);
      exchange.setHead('client_request', requestHead);
      for (let piece = 0; piece < 20; piece += 1) {
        addBytes(exchange, 'chat_response', piece, Buffer.alloc(KiB, 'x'));
        expect(store.heldBytes).toBeLessThanOrEqual(maxBytes);
      }
      exchange.setFacts(overFacts);
    }
    expect(idsOf(store).length).toBeGreaterThan(2);
    expect(idsOf(store).at(-1)).toBe(50);
    for (const exchange of store.list()) exchange.discard();
    expect(store.heldBytes).toBe(0);
  });

  it.each([1, 250, 60_000, 2_000_000])(
    'is no larger than what it counts, after several times its limit in pieces of %i bytes, views of a larger buffer',
    (size) => {
      const script = `
        import { createExchangeStore } from ${JSON.stringify(new URL('src/tools/inspect/exchange-store.ts', root).href)};
        const used = () => { gc(); gc(); const { heapUsed, external } = process.memoryUsage(); return heapUsed + external; };
        const bytes = Buffer.alloc(${size} + 8192, 'x').subarray(0, ${size});
        function filled(maxBytes) {
          const store = createExchangeStore({ maxBytes, maxExchanges: 200 });
          for (let id = 0; id < 20; id += 1) {
            const exchange = store.open(id);
            for (let at = 0; at < 2 ** 22; at += ${size} + 96) exchange.addPiece('chat_response', at + 0.5, bytes.toString('latin1'));
          }
          return store;
        }
        filled(2 ** 16); // what is compiled and cached by then is not counted
        const before = used();
        const store = filled(2 ** 24);
        console.log(JSON.stringify({ counted: store.heldBytes, used: used() - before, exchanges: [...store.list()].length }));`;
      const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script]);
      const { counted, used, exchanges } = JSON.parse(output.toString());
      expect(counted).toBeGreaterThan(2 ** 23);
      expect(counted).toBeLessThanOrEqual(2 ** 24);
      expect(used).toBeLessThan(counted * 1.01);
      expect(exchanges).toBeLessThan(5);
    },
  );

  it('keeps the beginning of each body of an exchange that is too long, and says what it left out', () => {
    const store = storeWith({ maxBytes: 40 * KiB });
    const exchange = store.open(1);
    exchange.setHead('client_response', new Map([[':status', '200']]));
    for (let index = 0; index < 30; index += 1) addBytes(exchange, 'client_response', index, Buffer.alloc(KiB, 'x'));
    addBytes(exchange, 'client_response', 31, Buffer.from('a short end after a gap'));
    const { omitted } = detailOf(exchange);
    expect(omitted.client_response).toBeGreaterThan(10 * KiB);
    const text = textsOf(exchange).join('');
    expect(text).toMatch(/^x+$/);
    expect(text.length + omitted.client_response).toBe(30 * KiB + 'a short end after a gap'.length);
    expect(store.heldBytes).toBeLessThanOrEqual(20 * KiB);
  });

  it('keeps nothing more of an exchange that was evicted while it ran', () => {
    const store = storeWith({});
    const exchange = store.open(1);
    exchange.discard();
    exchange.setHead('client_request', requestHead);
    exchange.addPiece('client_response', 1, 'text');
    exchange.setFacts({ ...overFacts, dropped: ['a'] });
    expect([exchange.heads, exchange.pieces.client_response, exchange.facts.dropped]).toEqual([{}, [], []]);
    expect(store.heldBytes).toBe(0);
  });

  it('counts the names of what was dropped, and no longer when it is evicted', () => {
    const store = storeWith({});
    const exchange = store.open(1);
    const before = store.heldBytes;
    const dropped = Array.from({ length: 100 }, (_, index) => `tools[${index}].`.padEnd(1000, 'x'));
    for (let time = 0; time < 3; time += 1) exchange.setFacts({ ...recordedFacts, dropped });
    expect(store.heldBytes - before).toBeGreaterThan(100 * 1000);
    expect(store.heldBytes - before).toBeLessThan(2 * 100 * 1000);
    exchange.setFacts({ ...overFacts, dropped: [] });
    expect(store.heldBytes).toBe(before);
    exchange.setFacts({ ...overFacts, dropped });
    exchange.discard();
    expect(store.heldBytes).toBe(0);
  });

  it('counts a head once, however often it changes', () => {
    const store = storeWith({});
    const exchange = store.open(1);
    const before = store.heldBytes;
    for (let time = 0; time < 3; time += 1) exchange.setHead('client_request', new Map([['x', 'y'.repeat(1000)]]));
    expect(store.heldBytes - before).toBeGreaterThan(1000);
    expect(store.heldBytes - before).toBeLessThan(2000);
    exchange.setHead('client_request', undefined);
    expect(store.heldBytes).toBe(before);
  });

  it('keeps pieces of all sizes apart, of four bodies in turn; a long one becomes several, none of which cuts a character', () => {
    const exchange = storeWith({}).open(1);
    const bodies = ['client_request', 'chat_request', 'chat_response', 'client_response'] as const;
    const texts = [1, 0, 12, 8192, 5].map((length) => 'é'.repeat(length));
    const long = `${'x'.repeat(64 * KiB - 1)}𝄞${'é'.repeat(40 * KiB)}`;
    for (const body of bodies) exchange.setHead(body, new Map([[':status', '200']]));
    for (const [turn, text] of [...texts, long].entries())
      for (const body of bodies) addBytes(exchange, body, turn, Buffer.from(text));
    const { file, row } = detailOf(exchange);
    const expected = texts.filter((text) => text !== '');
    for (const body of ['chat_response', 'client_response'] as const) {
      const pieces = (file[body]?.pieces ?? []).map((piece) => ('text' in piece ? piece.text : ''));
      expect(pieces.slice(0, expected.length)).toEqual(expected);
      expect(pieces.slice(expected.length).map((text) => text.length > 0)).toEqual([true, true, true]);
      expect(pieces.slice(expected.length).join('')).toBe(long);
    }
    expect(row.pieces).toBe(expected.length + 3);
    for (const body of ['client_request', 'chat_request'] as const)
      expect(file[body]).toMatchObject({ body: [...texts, long].join('') });
  });

  it('copies what it keeps, since the bytes are a view of a socket’s buffer', () => {
    const exchange = storeWith({}).open(1);
    const bytes = Buffer.from('data: {}\n\n');
    exchange.setHead('client_response', new Map());
    addBytes(exchange, 'client_response', 1, bytes);
    bytes.fill('!');
    expect(textsOf(exchange)).toEqual(['data: {}\n\n']);
  });

  it('gives an exchange as the file that explain reads, bytes that are no text in Base64', () => {
    const exchange = storeWith({}).open(Date.UTC(2026, 10, 22));
    exchange.setHead('client_request', new Map([...requestHead, ['a', 'b']]));
    addBytes(exchange, 'client_request', 0.5, Buffer.from('{"model":"m"}'));
    exchange.setHead('chat_request', requestHead);
    addBytes(exchange, 'chat_request', 0.5, Buffer.from([0xfe]));
    exchange.setHead('chat_response', new Map([[':status', '200']]));
    addBytes(exchange, 'chat_response', 1.23456, Buffer.from([0xff, 0xfe]));
    exchange.setFacts({ ...recordedFacts, outcome: 'failed', error_code: 'upstream_timeout', cause: 'Error: x' });
    expect(parseExchangeFile(detailOf(exchange).file)).toMatchObject({
      started_at: '2026-11-22T00:00:00.000Z',
      client_request: {
        method: 'POST',
        path: '/v1/responses',
        headers: [{ name: 'a', value: 'b' }],
        body: '{"model":"m"}',
      },
      chat_request: { base64: '/g==' },
      chat_response: { status: 200, pieces: [{ at_ms: 1.235, base64: '//4=' }] },
      client_response: null,
      outcome: 'failed',
      error: { code: 'upstream_timeout', cause: 'Error: x' },
    });
  });

  it('computes the speed of a stream from its first delta on', () => {
    const exchange = storeWith({}).open(1);
    for (const at of [100, 200, 1100]) addBytes(exchange, 'chat_response', at, Buffer.from('x'));
    const tokens = {
      input_tokens: 9,
      cached_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 51,
      reasoning_tokens: 0,
      total_tokens: 60,
    };
    exchange.setFacts({ ...overFacts, stream: true, tokens, first_token_ms: 100 });
    expect(buildExchangeRow(exchange).tokens_per_second).toBe(50);
    exchange.setFacts({ ...overFacts, stream: false, tokens, first_token_ms: null });
    expect(buildExchangeRow(exchange).tokens_per_second).toBeNull();
  });
});
