import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';

const json = { ':status': '200', 'content-type': 'application/json' };
const body = {
  model: 'm',
  instructions: 'Be brief.',
  input: 'Hi',
  temperature: 1,
  chat_template_kwargs: { enable_thinking: false },
  tools: [{ type: 'function', name: 'run', parameters: { type: 'object', properties: {} } }],
};

function run(
  answer: string,
  headers: Readonly<Record<string, string>> = json,
  mode: BodyMode = 'FULL_DUPLEX_STREAMED',
) {
  const exchange = new Exchange(exchangeOptions({ profile: 'vllm', modes: { request: 'BUFFERED', response: mode } }));
  const upstream = ask(exchange, '/x/v1/responses/input_tokens', body);
  const client = [
    ...exchange.handle({ type: 'response_headers', headers: headersOf(headers), endOfStream: false }),
    ...exchange.handle({ type: 'response_body', body: Buffer.from(answer), endOfStream: true }),
  ];
  return { exchange, upstream, client };
}

function ask(exchange: Exchange, path: string, sent: object): ExchangeReply[] {
  const headers = headersOf({ ':method': 'POST', ':path': path });
  return [
    ...exchange.handle({ type: 'request_headers', headers, endOfStream: false }),
    ...exchange.handle({ type: 'request_body', body: Buffer.from(JSON.stringify(sent)), endOfStream: true }),
  ];
}

function textOf(replies: readonly ExchangeReply[]): string {
  return Buffer.concat(replies.flatMap((reply) => ('body' in reply && reply.body ? [reply.body] : []))).toString();
}

test('llama.cpp counts too, at a path and with a word of its own', () => {
  const exchange = new Exchange(
    exchangeOptions({ profile: 'llama.cpp', modes: { request: 'BUFFERED', response: 'BUFFERED' } }),
  );
  const upstream = ask(exchange, '/v1/responses/input_tokens', body);
  expect(upstream.at(-1)).toMatchObject({ headers: { set: { ':path': '/v1/chat/completions/input_tokens' } } });
  const client = [
    ...exchange.handle({ type: 'response_headers', headers: headersOf(json), endOfStream: false }),
    ...exchange.handle({ type: 'response_body', body: Buffer.from('{"input_tokens":42}'), endOfStream: true }),
  ];
  expect(JSON.parse(textOf(client))).toEqual({ object: 'response.input_tokens', input_tokens: 42 });
});

test('the server counts what its template would be given', () => {
  const { upstream } = run('{"count":42}');
  expect(upstream.at(-1)).toMatchObject({ headers: { set: { ':path': '/x/tokenize' } } });
  expect(JSON.parse(textOf(upstream))).toEqual({
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    tools: [{ type: 'function', function: { name: 'run', parameters: { type: 'object', properties: {} } } }],
    add_generation_prompt: true,
    chat_template_kwargs: { enable_thinking: false },
  });
});

test.each(['FULL_DUPLEX_STREAMED', 'BUFFERED', 'STREAMED'] as const)('the client gets the number in %s', (mode) => {
  const { client, exchange } = run('{"count":42,"max_model_len":4096,"tokens":[1,2]}', json, mode);
  expect(JSON.parse(textOf(client))).toEqual({ object: 'response.input_tokens', input_tokens: 42 });
  expect(exchange.summary()).toMatchObject({ outcome: 'completed', status: 200 });
});

test.each(['{"count":0}', '{"input_tokens":0}', '{"count":null,"input_tokens":0}'])(
  'none is a number too: %s',
  (answer) => {
    const { client } = run(answer);
    expect(JSON.parse(textOf(client))).toEqual({ object: 'response.input_tokens', input_tokens: 0 });
  },
);

test('without tools or a template’s own settings the server is sent neither', () => {
  const exchange = new Exchange(exchangeOptions({ profile: 'vllm' }));
  const upstream = ask(exchange, '/v1/responses/input_tokens', { model: 'm', input: 'Hi' });
  expect(JSON.parse(textOf(upstream))).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    add_generation_prompt: true,
  });
});

describe('what is no count is an error', () => {
  test.each([
    ['another object', json, '{"choices":[]}'],
    ['half a token', json, '{"count":1.5}'],
    ['a token less than none', json, '{"count":-1}'],
    ['a number in words', json, '{"count":"42"}'],
    ['null', json, 'null'],
    ['a stream', { ...json, 'content-type': 'text/event-stream' }, 'data: {"count":1}\n\n'],
  ])('%s', (_what, headers, answer) => {
    const { client } = run(answer, headers);
    expect(JSON.parse(textOf(client))).toMatchObject({
      error: { type: 'server_error', code: 'invalid_upstream_response' },
    });
    expect(client[0]).toMatchObject({ headers: { set: { ':status': '502' } } });
  });

  test('a stream is refused by its first piece: its end may never come', () => {
    const exchange = new Exchange(exchangeOptions({ profile: 'vllm' }));
    ask(exchange, '/v1/responses/input_tokens', body);
    const headers = headersOf({ ...json, 'content-type': 'text/event-stream' });
    repliesOf(exchange, { type: 'response_headers', headers, endOfStream: false });
    const piece = Buffer.from('data: {"count":1}\n\n');
    expect(repliesOf(exchange, { type: 'response_body', body: piece, endOfStream: false })).toMatchObject([
      { type: 'immediate_response', status: 502 },
    ]);
  });

  test.each([
    ['names its status', '{"error":{"message":"slow down","code":429}}', '429', 'slow down'],
    ['has words alone', '{"detail":"no tokenizer"}', '502', 'no tokenizer'],
  ])('an error under a 200 that %s is the upstream’s own', (_what, answer, status, message) => {
    const { client } = run(answer);
    expect(client[0]).toMatchObject({ headers: { set: { ':status': status } } });
    expect(JSON.parse(textOf(client))).toMatchObject({ error: { message } });
  });

  test('the upstream’s own error keeps its status', () => {
    const { client } = run('{"error":{"message":"no such model","code":404}}', { ...json, ':status': '404' });
    expect(client[0]).toMatchObject({ headers: { set: { ':status': '404' } } });
  });
});

test('a server that cannot count: 501 before the body is read, and what counts them instead', () => {
  const exchange = new Exchange(exchangeOptions({ profile: 'ollama' }));
  const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses/input_tokens' });
  const [reply] = repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  expect(reply).toMatchObject({ type: 'immediate_response', status: 501 });
  expect(JSON.parse(textOf([reply as ExchangeReply]))).toMatchObject({
    error: { type: 'invalid_request', code: 'not_implemented', message: expect.stringContaining("'usage'") },
  });
});

test('a stream of counts cannot be had', () => {
  const exchange = new Exchange(exchangeOptions({ profile: 'vllm' }));
  const replies = ask(exchange, '/v1/responses/input_tokens', { ...body, stream: true });
  expect(replies.at(-1)).toMatchObject({ type: 'immediate_response', status: 400 });
});
