import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, RequestEvent } from '../../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf } from '../../../../support/exchange-options.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const bodyLimits = { ...exchangeOptions().bodyLimits, maxRequestBytes: 8 * MiB };
const bodyOf = (size: number, endOfStream: boolean): RequestEvent => ({
  type: 'request_body',
  body: Buffer.alloc(size, ' '),
  endOfStream,
});

/** An exchange that has the headers of a request, and so much of its body. */
function begun(mode: BodyMode, before: number, headers: Readonly<Record<string, string>> = {}): Exchange {
  const exchange = new Exchange(exchangeOptions({ modes: { request: mode, response: 'BUFFERED' }, bodyLimits }));
  const asked: RequestEvent = {
    type: 'request_headers',
    headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', ...headers }),
    endOfStream: false,
  };
  expect(exchange.pace(asked)).toBe('at_once');
  exchange.handle(asked);
  if (before > 0) exchange.handle(bodyOf(before, false));
  return exchange;
}

describe('the translation of a body', () => {
  it.each([
    [256 * KiB, 'at_once'],
    [256 * KiB + 1, 'in_turn'],
    [4 * MiB, 'in_turn'],
    [4 * MiB + 1, 'in_steps'],
  ])('of %i bytes is done %s', (size, pace) => {
    for (const mode of ['FULL_DUPLEX_STREAMED', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL'] as const)
      expect(begun(mode, 0).pace(bodyOf(size, true)), mode).toBe(pace);
    for (const mode of ['FULL_DUPLEX_STREAMED', 'STREAMED'] as const)
      expect(begun(mode, 100).pace(bodyOf(size - 100, true)), mode).toBe(pace);
  });

  it('begins with the last message: one before it is only kept', () => {
    for (const mode of ['FULL_DUPLEX_STREAMED', 'STREAMED'] as const)
      expect(begun(mode, 0).pace(bodyOf(5 * MiB, false)), mode).toBe('at_once');
    // The one message of BUFFERED is the last, whether or not trailers follow.
    expect(begun('BUFFERED', 0).pace(bodyOf(5 * MiB, false))).toBe('in_steps');
    expect(begun('FULL_DUPLEX_STREAMED', 5 * MiB).pace({ type: 'request_trailers' })).toBe('in_steps');
  });

  it('is done in steps if the body is compressed: how long it is nobody knows', () => {
    const exchange = begun('FULL_DUPLEX_STREAMED', 0, { 'content-encoding': 'gzip' });
    expect(exchange.pace(bodyOf(1, true))).toBe('in_steps');
  });

  it('is over once the request was answered or refused: what was in flight takes no time', () => {
    const answered = begun('BUFFERED', 0);
    const body = Buffer.from('{"model":"m","input":"Hi","generate":false}');
    answered.handle({ type: 'request_body', body, endOfStream: true });
    expect(answered.pace(bodyOf(5 * MiB, true))).toBe('at_once');
    const exchange = begun('FULL_DUPLEX_STREAMED', 0);
    expect(exchange.handle(bodyOf(8 * MiB + 1, false))).toMatchObject([{ type: 'immediate_response', status: 413 }]);
    expect(exchange.pace(bodyOf(5 * MiB, true))).toBe('at_once');
    expect(exchange.handle(bodyOf(5 * MiB, true))).toEqual([]);
  });
});

describe('what a refused request asked for', () => {
  const asked = (body: string) => {
    const exchange = begun('BUFFERED', 0);
    const [reply] = exchange.handle({ type: 'request_body', body: Buffer.from(body), endOfStream: true });
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
