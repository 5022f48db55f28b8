import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/exchange/exchange.ts';
import type { BodyMode, ExchangeReply } from '../../../src/exchange/types.ts';
import { carry, type HttpMessage } from '../../support/envoy-model.ts';
import { exchangeOptions } from '../../support/exchange-options.ts';
import { inPiecesOf } from '../../support/split.ts';

const usage = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const counts = { input_tokens: 30, cached_tokens: 20, output_tokens: 12, reasoning_tokens: 5, total_tokens: 42 };
const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' };
const json = JSON.stringify({ model: 'm-2026', choices: [choice], usage });
const events = (...chunks: object[]) =>
  `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
const delta = { model: 'm-2026', choices: [{ index: 0, delta: { content: 'Hi' } }] };
const finish = { model: 'm-2026', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const sse = events(delta, finish, { model: 'm-2026', choices: [], usage });

function request(fields: object = {}, path = '/v1/responses'): HttpMessage {
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...fields }));
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/json' };
  return { headers, pieces: [body] };
}

function answer(body: string, headers: Readonly<Record<string, string>> = {}, trailers = false): HttpMessage {
  const type = body.startsWith('{') ? 'application/json' : 'text/event-stream';
  const pieces = [...inPiecesOf(25, Buffer.from(body))];
  return { headers: { ':status': '200', 'content-type': type, ...headers }, pieces, trailers };
}

/** All replies to the messages of the answer. */
function repliesTo(asked: HttpMessage, answered: HttpMessage, response: BodyMode = 'FULL_DUPLEX_STREAMED') {
  const modes = { request: 'BUFFERED', response } as const;
  const exchange = new Exchange(exchangeOptions({ modes }));
  const replies: ExchangeReply[] = [];
  const handle = exchange.handle.bind(exchange);
  exchange.handle = (event) => {
    const made = handle(event);
    replies.push(...made);
    return made;
  };
  carry('request', asked, modes.request, exchange);
  carry('response', answered, modes.response, exchange);
  return replies.filter(({ type }) => !type.startsWith('request_'));
}

const metadataOf = (replies: readonly ExchangeReply[]) =>
  replies.flatMap((reply) => ('metadata' in reply && reply.metadata !== undefined ? [reply.metadata] : []));

const bodyModes: readonly BodyMode[] = ['BUFFERED', 'STREAMED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED'];

describe.each(bodyModes)('with the response in %s', (mode) => {
  it.each([
    ['JSON', false, json],
    ['a stream', true, sse],
    ['JSON made of a stream', false, sse],
    ['a stream made of JSON', true, json],
  ])('%s carries what Envoy may use once', (_name, stream, body) => {
    // What Envoy buffers in part and trailers follow looks like a body that was cut, and is refused.
    for (const trailers of mode === 'BUFFERED_PARTIAL' ? [false] : [false, true])
      expect(metadataOf(repliesTo(request({ stream }), answer(body, {}, trailers), mode))).toEqual([
        { outcome: 'completed', model: 'm', upstream_model: 'm-2026', ...counts },
      ]);
  });
});

it('is in the reply to the headers of an answer in JSON, from which filters can set headers', () => {
  expect(repliesTo(request(), answer(json))[0]).toMatchObject({ type: 'response_headers', metadata: counts });
});

it('is in the reply that ends the client’s stream, though the upstream’s body goes on', () => {
  const replies = repliesTo(request({ stream: true }), answer(sse, {}, true));
  const last = replies.find((reply) => 'metadata' in reply);
  const text = last !== undefined && 'body' in last ? String(last.body) : '';
  expect(last).toMatchObject({ type: 'response_body', metadata: counts });
  expect(text).toContain('response.completed');
  expect(replies.at(-1)).toMatchObject({ type: 'response_trailers' });
});

it('has no counts where the upstream reported none, not zeros', () => {
  const [metadata] = metadataOf(repliesTo(request({ stream: true }), answer(events(delta, finish))));
  expect(metadata).toEqual({ outcome: 'completed', model: 'm', upstream_model: 'm-2026' });
});

it.each([
  ['incomplete', JSON.stringify({ choices: [{ ...choice, finish_reason: 'length' }], usage }), {}],
  ['failed', events(delta, { error: { message: 'no more memory', code: 500 } }), {}],
  ['upstream_error', '{"error":{"message":"no"}}', { ':status': '500' }],
])('names the outcome %s', (outcome, body, headers) => {
  const stream = !body.startsWith('{');
  expect(metadataOf(repliesTo(request({ stream }), answer(body, headers)))).toMatchObject([{ outcome, model: 'm' }]);
});

it('is absent from what is passed through', () => {
  expect(metadataOf(repliesTo(request({}, '/v1/chat/completions'), answer(json)))).toEqual([]);
});

it('has no more than 200 characters of a name', () => {
  const named = JSON.stringify({ model: 'x'.repeat(5000), choices: [choice] });
  expect(metadataOf(repliesTo(request(), answer(named)))).toMatchObject([{ upstream_model: 'x'.repeat(200) }]);
});
