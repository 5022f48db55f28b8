import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeReply } from '../../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';
import { eventLines } from '../../../../support/stream-lines.ts';

const short = new ApiError('Memory is short.', { status: 503, type: 'server_error', code: 'server_overloaded' });
const text = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
const noBytes = Buffer.alloc(0);
const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** An exchange whose upstream has sent headers of that type, and these bytes. */
function begun(
  type: string | null,
  bytes: string,
  {
    stream = true,
    response = 'FULL_DUPLEX_STREAMED',
    status = '200',
  }: { stream?: boolean; response?: BodyMode; status?: string } = {},
): Exchange {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response } }));
  const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'x-request-id': 'req-1' });
  const body = Buffer.from(JSON.stringify({ model: 'test-model', input: 'Hi', stream }));
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  const answer = headersOf({ ':status': status, ...(type !== null && { 'content-type': type }) });
  repliesOf(exchange, { type: 'response_headers', headers: answer, endOfStream: false });
  if (bytes !== '') repliesOf(exchange, { type: 'response_body', body: Buffer.from(bytes), endOfStream: false });
  return exchange;
}
/** The text of these replies' bodies. */
function bodyOf(replies: readonly ExchangeReply[] | null): string {
  const bodies = (replies ?? []).flatMap((reply) => (reply.type === 'response_body' ? [reply.body ?? noBytes] : []));
  return Buffer.concat(bodies).toString();
}
function shed(exchange: Exchange): ExchangeReply[] | null {
  const replies = exchange.shed(short);
  return replies === null ? null : [...replies];
}

describe('an answer that is ended for want of memory', () => {
  test.each<[string, string | null, string, string]>([
    ['nothing of a stream has come', 'text/event-stream', '', '200'],
    ['nothing has come that tells its kind', null, '', '200'],
    ['its kind is not known yet', null, 'da', '200'],
    ['half of its JSON has come', 'application/json', '{"choices":[', '200'],
    ['half of an error has come', 'application/json', '{"error":', '500'],
  ])('is an HTTP error while %s', (_, type, bytes, status) => {
    const exchange = begun(type, bytes, { status });
    const replies = shed(exchange);
    expect(replies).toMatchObject([
      { type: 'response_headers', headers: { set: { ':status': '503', 'x-request-id': 'req-1' } } },
      { type: 'response_body', endOfStream: true },
    ]);
    expect(JSON.parse(bodyOf(replies))).toEqual({ error: short.toObject() });
    expect(exchange.summary()).toMatchObject({ status: 503, errorCode: 'server_overloaded' });
    // It is over: a second time there is nothing to end.
    expect(shed(exchange)).toBeNull();
  });

  test('ends in its stream where that has begun, without the output so far', () => {
    const exchange = begun('text/event-stream', text);
    const replies = shed(exchange);
    const lines = eventLines(bodyOf(replies));
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['error', 'failed', '[DONE]']);
    expect(lines.join('\n')).not.toContain('"a"');
    expect(replies?.at(-1)).toMatchObject({ type: 'response_body', endOfStream: true });
    expect(exchange.summary()).toMatchObject({ outcome: 'failed', status: 200, errorCode: 'server_overloaded' });
    expect(shed(exchange)).toBeNull();
  });

  test('ends as it is where the client has all of it', () => {
    const exchange = begun('text/event-stream', text + end);
    expect(exchange.summary().outcome).toBe('completed');
    const replies = shed(exchange);
    expect(replies).toMatchObject([{ type: 'response_body', endOfStream: true }]);
    expect(bodyOf(replies)).toBe('');
    expect(exchange.summary()).toMatchObject({ outcome: 'completed', errorCode: null });
    expect(shed(exchange)).toBeNull();
  });

  test.each<BodyMode>(['BUFFERED', 'STREAMED', 'BUFFERED_PARTIAL'])('fails with its call in %s', (response) => {
    const exchange = begun('text/event-stream', '', { response });
    expect(shed(exchange)).toBeNull();
    expect(exchange.summary()).toMatchObject({ outcome: 'failed', errorCode: 'server_overloaded' });
  });

  test('fails with its call where the client reads nothing', () => {
    const exchange = begun('text/event-stream', text);
    expect(exchange.shed(short, false)).toBeNull();
    expect(exchange.summary()).toMatchObject({ outcome: 'failed', status: 200, errorCode: 'server_overloaded' });
  });

  test('stays what it is where it is complete, although its call ends', () => {
    const exchange = begun('text/event-stream', text + end);
    expect(exchange.shed(short, false)).toBeNull();
    expect(exchange.summary()).toMatchObject({ outcome: 'completed', errorCode: null });
  });

  test('fails with its call before the upstream has sent headers', () => {
    const exchange = new Exchange(exchangeOptions());
    repliesOf(exchange, {
      type: 'request_headers',
      headers: headersOf({ ':method': 'POST', ':path': '/v1/responses' }),
      endOfStream: false,
    });
    expect(shed(exchange)).toBeNull();
    expect(exchange.summary()).toMatchObject({ outcome: 'failed', status: null, errorCode: 'server_overloaded' });
  });
});
