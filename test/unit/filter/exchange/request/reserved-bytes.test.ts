import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import type { BodyModes, Hold } from '../../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';

const fullDuplex: BodyModes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' };
const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi' }));
const overload = new ApiError('Too much at once.', { status: 503, type: 'server_error', code: 'server_overloaded' });

/** An exchange whose reservation can be looked at: what it holds now, and above which number of bytes it is refused. */
function reserving(most = Number.POSITIVE_INFINITY) {
  let held = 0;
  const hold: Hold = (bytes) => {
    if (bytes > most) return overload;
    held = bytes;
    return null;
  };
  const exchange = new Exchange(exchangeOptions({ modes: fullDuplex, hold }));
  const begin = (announced: number) =>
    repliesOf(exchange, {
      type: 'request_headers',
      headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-length': String(announced) }),
      endOfStream: false,
    });
  const send = (piece: Buffer, endOfStream = false) =>
    repliesOf(exchange, { type: 'request_body', body: piece, endOfStream });
  return { begin, send, held: () => held };
}

describe('memory for a request', () => {
  test('is reserved for what its length announces, before any of it has come', () => {
    const { begin, held } = reserving();
    begin(5000);
    expect(held()).toBe(5000);
  });

  test('stays reserved for what was announced while less has come, and grows with what came beyond', () => {
    const { begin, send, held } = reserving();
    begin(100);
    send(Buffer.alloc(40, ' '));
    expect(held()).toBe(100);
    send(Buffer.alloc(80, ' '));
    expect(held()).toBe(120);
  });

  test('stays reserved for what the response repeats, from 4 KiB of a request on', () => {
    for (const [size, isCounted] of [
      [4 * 1024 - 1, false],
      [4 * 1024, true],
    ] as const) {
      const { begin, send, held } = reserving();
      begin(size);
      expect(send(Buffer.from(body.toString().padEnd(size)), true)[0]?.type).toBe('request_headers');
      expect(held() > 0, `${size} bytes`).toBe(isCounted);
    }
  });

  test('stays reserved for the names and ids that an answer is read by, and for what is told of the request', () => {
    const long = 'n'.repeat(250);
    const call = (name: string) => ({ type: 'function_call', call_id: name, name: 'f', arguments: '{}' });
    const output = (name: string) => ({ type: 'function_call_output', call_id: name, output: '' });
    const heldWith = (make: (name: string) => readonly object[]) => {
      const { begin, send, held } = reserving();
      begin(0);
      const input = Array.from({ length: 200 }, (_, at) => make(`${at}${long}`)).flat();
      send(Buffer.from(JSON.stringify({ model: 'm', input: [...input, { role: 'user', content: 'Hi' }] })), true);
      return held();
    };
    const ids = heldWith((name) => [call(name.slice(0, 60)), output(name.slice(0, 60))]);
    const keys = heldWith((name) => [{ role: 'user', content: 'Hi', [name]: 1 }]);
    const types = heldWith((name) => [{ type: `acme:${name}`, text: 'Hi' }]);
    expect(ids).toBeGreaterThan(200 * 60);
    expect(keys).toBeGreaterThan(200 * 250);
    expect(types).toBeGreaterThan(2 * 200 * 250);
    // Of what is longer than a log line shows, nothing more is kept.
    expect(heldWith((name) => [{ role: 'user', content: 'Hi', [`${name}${'n'.repeat(2000)}`]: 1 }])).toBeLessThan(
      200 * 400,
    );
  });

  test('stays reserved for the tools that a search would find, however small the request', () => {
    const found = { type: 'function', name: 'f', defer_loading: true, parameters: { type: 'object', properties: {} } };
    const heldWith = (tools: readonly object[]) => {
      const { begin, send, held } = reserving();
      begin(0);
      send(Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', tools: [{ type: 'tool_search' }, ...tools] })), true);
      return held();
    };
    expect(heldWith([])).toBe(0);
    expect(heldWith([found])).toBeGreaterThan(JSON.stringify(found).length);
    expect(heldWith([found, { ...found, name: 'g' }])).toBeGreaterThan(heldWith([found]));
  });

  test('is refused by the announced length alone', () => {
    const { begin } = reserving(1000);
    expect(begin(1001)).toMatchObject([{ type: 'immediate_response', status: 503 }]);
  });

  test('is refused when more comes than was announced', () => {
    const { begin, send } = reserving(1000);
    expect(begin(10)).toEqual([]);
    expect(send(Buffer.alloc(1001, ' '))).toMatchObject([{ type: 'immediate_response', status: 503 }]);
  });

  test.each([
    ['that is not JSON', Buffer.from('{'), 400],
    ['that is not translated', Buffer.from('{"model":"m"}'), 400],
    ['that is too large', Buffer.alloc(2 * 1024 * 1024, ' '), 413],
  ])('is given back with a body %s', (_what, wrong, status) => {
    const { begin, send, held } = reserving();
    begin(body.length);
    expect(held()).toBe(body.length);
    expect(send(wrong, true)).toMatchObject([{ type: 'immediate_response', status }]);
    expect(held()).toBe(0);
  });

  test('is given back when the request is on its way', () => {
    const { begin, send, held } = reserving();
    begin(body.length);
    send(body, true);
    expect(held()).toBe(0);
  });
});
