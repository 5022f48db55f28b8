import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeEvent } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';

const bytes = Buffer.from('abc');
const noBytes = Buffer.alloc(0);
const headers = {
  request: headersOf({ ':method': 'PUT', ':path': '/files' }),
  response: headersOf({ ':status': '200', 'content-type': 'text/plain' }),
};

const legs = (['request', 'response'] as const).flatMap((side) =>
  (['FULL_DUPLEX_STREAMED', 'STREAMED'] as const).map((mode) => ({ side, mode })),
);

/** An exchange that passes, whose leg has the headers. */
function passing(side: 'request' | 'response', mode: BodyMode, endOfStream: boolean): Exchange {
  const exchange = new Exchange(exchangeOptions({ modes: { request: mode, response: mode } }));
  repliesOf(exchange, {
    type: 'request_headers',
    headers: headers.request,
    endOfStream: side === 'response' || endOfStream,
  });
  if (side === 'response') repliesOf(exchange, { type: 'response_headers', headers: headers.response, endOfStream });
  return exchange;
}

describe.each(legs)('the $side that passes, in $mode', ({ side, mode }) => {
  const isFullDuplex = mode === 'FULL_DUPLEX_STREAMED';
  const body = (endOfStream: boolean): ExchangeEvent => ({ type: `${side}_body`, body: bytes, endOfStream });
  const trailers: ExchangeEvent = { type: `${side}_trailers` };
  const passed = (endOfStream: boolean) => ({
    type: `${side}_body`,
    endOfStream,
    ...(isFullDuplex && { body: bytes }),
  });
  const discarded = (endOfStream: boolean) =>
    isFullDuplex ? [] : [{ type: `${side}_body`, endOfStream, body: noBytes }];

  test('goes on until its end', () => {
    const exchange = passing(side, mode, false);
    expect(repliesOf(exchange, body(false))).toEqual([passed(false)]);
    expect(repliesOf(exchange, body(true))).toEqual([passed(true)]);
  });

  // Envoy can send the end of a body twice (envoy#46237).
  test.each<[string, ExchangeEvent[]]>([
    ['its headers', []],
    ['its body', [body(false), body(true)]],
    ['its trailers', [body(false), trailers]],
    ['trailers without a body', [trailers]],
  ])('is over with %s: what comes then is discarded, and counted', (_, events) => {
    const exchange = passing(side, mode, events.length === 0);
    for (const event of events) repliesOf(exchange, event);
    const inBytes = side === 'request' ? 'requestIn' : 'responseIn';
    const before = exchange.summary().bytes[inBytes];
    expect(repliesOf(exchange, body(false))).toEqual(discarded(false));
    expect(repliesOf(exchange, body(true))).toEqual(discarded(true));
    expect(exchange.summary().bytes[inBytes]).toBe(before + 2 * bytes.length);
  });

  test('ends with the trailers as they came', () => {
    const exchange = passing(side, mode, false);
    expect(repliesOf(exchange, trailers)).toStrictEqual([{ type: `${side}_trailers` }]);
    expect(repliesOf(exchange, trailers)).toStrictEqual([{ type: `${side}_trailers` }]);
  });
});
