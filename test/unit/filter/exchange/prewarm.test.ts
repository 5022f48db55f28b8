import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';
import { faultsOfResponse } from '../../../support/published-schema.ts';
import { createTestSettings } from '../../../support/settings.ts';

const settings = createTestSettings({ profile: 'generic' });
const headers = { ':method': 'POST', ':path': '/v1/responses', 'x-request-id': 'req-1' };
const none = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

function run(body: object, request: BodyMode = 'BUFFERED', more: Partial<Parameters<typeof exchangeOptions>[0]> = {}) {
  const modes = { request, response: 'FULL_DUPLEX_STREAMED' } as const;
  const exchange = new Exchange(exchangeOptions({ settings, modes, ...more }));
  const replies = [
    ...exchange.handle({ type: 'request_headers', headers: headersOf(headers), endOfStream: false }),
    ...exchange.handle({
      type: 'request_body',
      body: Buffer.from(JSON.stringify({ model: 'm', ...body })),
      endOfStream: true,
    }),
  ];
  return { exchange, answer: immediateOf(replies) };
}

function immediateOf(replies: readonly ExchangeReply[]) {
  const answer = replies.at(-1);
  if (answer?.type !== 'immediate_response') throw new Error(`not an immediate response: ${answer?.type}`);
  return { ...answer, text: Buffer.from(answer.body).toString() };
}

describe.each<BodyMode>(['BUFFERED', 'BUFFERED_PARTIAL', 'STREAMED', 'FULL_DUPLEX_STREAMED'])(
  'a request to warm a cache that is not there, in %s',
  (mode) => {
    test('is answered with an empty Response, and the upstream is not asked', () => {
      const { exchange, answer } = run({ input: 'Hi', prompt_cache_options: { prewarm: true } }, mode);
      expect(answer).toMatchObject({ status: 200, details: 'responses_extproc:empty_response' });
      expect(answer.headers).toEqual({
        'content-type': 'application/json',
        'x-request-id': 'req-1',
        'x-responses-dropped': 'prompt_cache_options.prewarm',
      });
      const response = JSON.parse(answer.text);
      expect(faultsOfResponse(response)).toEqual([]);
      expect(response).toMatchObject({ status: 'completed', output: [], usage: none, model: 'm' });
      expect(exchange.summary()).toMatchObject({
        outcome: 'completed',
        status: 200,
        upstreamStatus: null,
        tokens: null,
        model: 'm',
        stream: false,
        errorCode: null,
        responseId: 'resp_1',
        dropped: ['prompt_cache_options.prewarm'],
        bytes: { requestOut: 0 },
      });
    });

    test('is answered with a whole stream where one is asked for', () => {
      const { answer } = run({ input: [], stream: true, generate: false, instructions: 'Be brief.' }, mode);
      expect(answer.status).toBe(200);
      expect(answer.headers).toEqual({
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
        'x-request-id': 'req-1',
        'x-responses-dropped': 'generate',
      });
      const lines = answer.text.split('\n').filter((line) => line.startsWith('data: '));
      expect(lines.at(-1)).toBe('data: [DONE]');
      const events = lines.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)));
      expect(
        events.map(({ type, sequence_number: number, response: { status, usage } }) => [type, number, status, usage]),
      ).toEqual([
        ['response.created', 0, 'in_progress', null],
        ['response.in_progress', 1, 'in_progress', null],
        ['response.completed', 2, 'completed', none],
      ]);
      expect(events.at(-1)?.response).toMatchObject({ output: [], instructions: 'Be brief.' });
    });
  },
);

test('messages of Envoy that come after it get no reply, and wait for nothing', () => {
  const { exchange } = run({ input: 'Hi'.repeat(200_000), generate: false });
  const end = { type: 'request_body', body: Buffer.alloc(0), endOfStream: true } as const;
  expect(exchange.chooseSchedule(end)).toBe('at_once');
  expect(repliesOf(exchange, end)).toEqual([]);
  expect(repliesOf(exchange, { type: 'request_trailers' })).toEqual([]);
});

test('a body that ends in trailers is answered as well', () => {
  const modes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' } as const;
  const exchange = new Exchange(exchangeOptions({ settings, modes }));
  repliesOf(exchange, { type: 'request_headers', headers: headersOf(headers), endOfStream: false });
  const body = Buffer.from('{"model":"m","input":"Hi","generate":false}');
  repliesOf(exchange, { type: 'request_body', body, endOfStream: false });
  expect(immediateOf(repliesOf(exchange, { type: 'request_trailers' })).status).toBe(200);
  expect(exchange.summary().outcome).toBe('completed');
});

test('a server that keeps prompts is asked', () => {
  const modes = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' } as const;
  const exchange = new Exchange(exchangeOptions({ settings: createTestSettings({ profile: 'llama.cpp' }), modes }));
  repliesOf(exchange, { type: 'request_headers', headers: headersOf(headers), endOfStream: false });
  const body = Buffer.from('{"model":"m","input":"Hi","generate":false}');
  const [sent] = repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  expect(sent?.type).toBe('request_body');
  expect(exchange.summary()).toMatchObject({ outcome: 'open', dropped: [] });
});
