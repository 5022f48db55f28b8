import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Exchange, runSteps } from '../../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeEvent } from '../../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf } from '../../../../support/exchange-options.ts';

const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const words = Array.from({ length: 3000 }, (_, index) => chunk(`word${index} `)).join('');
const plain = `${words}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;

/** The replies to a whole answer in one piece, by either way. */
function repliesTo(answer: Buffer, coding: string, mode: BodyMode, inSteps: boolean) {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response: mode } }));
  const request = { ':method': 'POST', ':path': '/v1/responses' };
  const status = { ':status': '200', 'content-type': 'text/event-stream', 'content-encoding': coding };
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', stream: true }));
  exchange.handle({ type: 'request_headers', headers: headersOf(request), endOfStream: false });
  exchange.handle({ type: 'request_body', body, endOfStream: true });
  exchange.handle({ type: 'response_headers', headers: headersOf(status), endOfStream: false });
  const event: ExchangeEvent = { type: 'response_body', body: answer, endOfStream: true };
  return inSteps ? [...runSteps(exchange.handleInSteps(event))] : [...exchange.handle(event)];
}

it.each<[string, Buffer, string]>([
  ['plain', Buffer.from(plain), ''],
  ['compressed', gzipSync(plain), 'gzip'],
  ['damaged', gzipSync(plain).fill(0, 9000), 'gzip'],
  ['not there', Buffer.alloc(0), ''],
])('an answer in steps is what it is at once: %s', (_, body, coding) => {
  for (const mode of ['FULL_DUPLEX_STREAMED', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL'] as const)
    expect(repliesTo(body, coding, mode, true)).toEqual(repliesTo(body, coding, mode, false));
});
