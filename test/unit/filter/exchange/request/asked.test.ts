import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';

describe('what a refused request asked for', () => {
  const asked = (body: string) => {
    const exchange = new Exchange(exchangeOptions());
    repliesOf(exchange, {
      type: 'request_headers',
      headers: headersOf({ ':method': 'POST', ':path': '/v1/responses' }),
      endOfStream: false,
    });
    const [reply] = repliesOf(exchange, { type: 'request_body', body: Buffer.from(body), endOfStream: true });
    expect(reply).toMatchObject({ type: 'immediate_response', status: 400 });
    return exchange.summary().asked;
  };

  it.each([
    ['{"model":"m","stream":true}', { model: 'm', stream: true }],
    ['{"model":"m","stream":false}', { model: 'm', stream: false }],
    ['{"model":5,"stream":"yes"}', { model: null, stream: null }],
    ['{"model":null,"stream":null}', { model: null, stream: null }],
    ['{}', { model: null, stream: null }],
    ['null', { model: null, stream: null }],
    ['"model"', { model: null, stream: null }],
    ['{"model":', { model: null, stream: null }],
  ])('is known where it could be read: %s', (body, expected) => {
    expect(asked(body)).toEqual(expected);
  });
});
