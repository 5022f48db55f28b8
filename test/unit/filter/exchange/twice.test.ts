import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import { ProtocolError } from '../../../../src/filter/exchange/phases.ts';
import { translatedTrailers } from '../../../../src/filter/exchange/response-headers.ts';
import type { BodyMode, ExchangeEvent } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';

const modes: readonly BodyMode[] = ['BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'];
const body = Buffer.from('{"model":"test-model","input":"Hi"}');
const requestEnd: ExchangeEvent = { type: 'request_body', body: Buffer.alloc(0), endOfStream: true };
const responseEnd: ExchangeEvent = { type: 'response_body', body: Buffer.from('more'), endOfStream: true };

function asked(mode: BodyMode, path = '/v1/responses'): Exchange {
  const exchange = new Exchange(exchangeOptions({ modes: { request: mode, response: mode } }));
  const headers = headersOf({ ':method': 'POST', ':path': path });
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  return exchange;
}

function answered(exchange: Exchange): Exchange {
  const headers = headersOf({ ':status': '200', 'content-type': 'application/json' });
  repliesOf(exchange, { type: 'response_headers', headers, endOfStream: false });
  const completion = Buffer.from('{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}');
  repliesOf(exchange, { type: 'response_body', body: completion, endOfStream: true });
  return exchange;
}

describe.each(modes)('in %s', (mode) => {
  const duplex = mode === 'FULL_DUPLEX_STREAMED';

  // envoy#46237: large bodies in full duplex end twice. A second end in the reply would be one too many.
  test('an end of the request that is said twice is not said on twice', () => {
    const nothing = { type: 'request_body', body: Buffer.alloc(0), endOfStream: true };
    expect(repliesOf(asked(mode), requestEnd)).toEqual(duplex ? [] : [nothing]);
    const passed = asked(mode, '/v1/files').handle(requestEnd);
    expect(passed).toEqual(duplex ? [] : [nothing]);
  });

  test('a body after the end of the answer reaches nobody', () => {
    const nothing = { type: 'response_body', body: Buffer.alloc(0), endOfStream: true };
    expect(repliesOf(answered(asked(mode)), responseEnd)).toEqual(duplex ? [] : [nothing]);
  });

  test('trailers after the end of the answer lose the digests of the upstream’s bytes', () => {
    const replies = repliesOf(answered(asked(mode)), { type: 'response_trailers' });
    expect(replies).toEqual(duplex ? [] : [translatedTrailers('response_trailers')]);
  });

  test('what was under way when a refusal left is answered with nothing', () => {
    const exchange = new Exchange(exchangeOptions({ modes: { request: mode, response: mode } }));
    const headers = headersOf({ ':method': 'GET', ':path': '/v1/responses/resp_1' });
    expect(repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false })).toMatchObject([
      { status: 404 },
    ]);
    expect(repliesOf(exchange, { type: 'request_body', body, endOfStream: true })).toEqual([]);
    expect(repliesOf(exchange, { type: 'response_trailers' })).toEqual([]);
  });

  test('headers that come twice are an error of the protocol', () => {
    const headers = headersOf({ ':method': 'POST', ':path': '/' });
    expect(() => repliesOf(asked(mode), { type: 'request_headers', headers, endOfStream: false })).toThrow(
      ProtocolError,
    );
    const again: ExchangeEvent = {
      type: 'response_headers',
      headers: headersOf({ ':status': '200' }),
      endOfStream: false,
    };
    expect(() => repliesOf(answered(asked(mode)), again)).toThrow(ProtocolError);
  });
});
