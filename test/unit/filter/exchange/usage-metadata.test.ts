import { describe, expect, it } from 'vitest';
import { readFrozen } from '../../../../scripts/generate/public-names.ts';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { carry, type HttpMessage } from '../../../support/envoy-model.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';
import { inPiecesOf } from '../../../support/split.ts';

const usage = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const counts = {
  tokens_from: 'upstream',
  input_tokens: 30,
  cached_tokens: 20,
  cache_write_tokens: 0,
  output_tokens: 12,
  reasoning_tokens: 5,
  total_tokens: 42,
};
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

/** All replies to the messages of both. */
function handle(
  asked: HttpMessage,
  answered: HttpMessage | null,
  response: BodyMode = 'FULL_DUPLEX_STREAMED',
  request: BodyMode = 'BUFFERED',
) {
  const { settings } = exchangeOptions();
  const profile = { ...settings.profile, tokenizePath: '/tokenize' };
  const exchange = new Exchange(exchangeOptions({ modes: { request, response }, settings: { ...settings, profile } }));
  const replies: ExchangeReply[] = [];
  const handle = exchange.handle.bind(exchange);
  exchange.handle = (event) => {
    const made = handle(event);
    replies.push(...made);
    return made;
  };
  carry('request', asked, request, exchange);
  if (answered !== null) carry('response', answered, response, exchange);
  return replies;
}

const bodyOf = (replies: readonly ExchangeReply[]) =>
  replies.map((reply) => ('body' in reply ? String(reply.body) : '')).join('');

const metadataOf = (replies: readonly ExchangeReply[]) =>
  replies.flatMap((reply) => ('metadata' in reply && reply.metadata !== undefined ? [reply.metadata] : []));

const bodyModes: readonly BodyMode[] = ['BUFFERED', 'STREAMED', 'BUFFERED_PARTIAL', 'FULL_DUPLEX_STREAMED'];

describe.each(bodyModes)('with the response in %s', (mode) => {
  it.each([
    ['JSON', false, json],
    ['a stream', true, sse],
    ['JSON made of a stream', false, sse],
    ['a stream made of JSON', true, json],
  ])('%s begins as an estimate and ends as what the upstream counted', (_name, stream, body) => {
    // What Envoy buffers in part and trailers follow looks like a body that was cut, and is refused.
    for (const trailers of mode === 'BUFFERED_PARTIAL' ? [false] : [false, true]) {
      const told = metadataOf(handle(request({ stream }), answer(body, {}, trailers), mode));
      expect(told[0]).toEqual({ outcome: 'aborted', model: 'm', ...estimated(stream, 0) });
      expect(told.at(-1)).toEqual({ outcome: 'completed', model: 'm', upstream_model: 'm-2026', ...counts });
    }
  });
});

it('has the keys that docs/compatibility.md promises, of these types', () => {
  const [last = {}] = metadataOf(handle(request(), answer(json))).toReversed();
  const types = Object.fromEntries(Object.entries(last).map(([key, value]) => [key, typeof value]));
  expect(types).toEqual(readFrozen()['metadata']);
});

/** Four bytes of what the upstream was sent are a token, as are four characters of what it answered. */
function estimated(stream: boolean, outputTokens: number) {
  const sent = bodyOf(handle(request({ stream }), null));
  const input = Math.ceil(sent.length / 4);
  return {
    tokens_from: 'estimate',
    input_tokens: input,
    output_tokens: outputTokens,
    total_tokens: input + outputTokens,
  };
}

it.each(bodyModes)('begins in %s with the reply that carries the request for the upstream', (mode) => {
  const replies = handle(request(), null, 'FULL_DUPLEX_STREAMED', mode);
  expect(metadataOf(replies)).toEqual([{ outcome: 'aborted', model: 'm', ...estimated(false, 0) }]);
  const first = mode === 'FULL_DUPLEX_STREAMED' ? 'request_headers' : 'request_body';
  expect(replies.find((reply) => 'metadata' in reply)?.type).toBe(first);
});

describe('while a stream runs', () => {
  /** The output tokens that Envoy is told, for deltas of these texts. */
  function toldFor(texts: readonly string[], more: object = {}): unknown[] {
    const chunks = texts.map((content, index) => ({
      model: 'm-2026',
      choices: [{ index: 0, delta: { content } }],
      ...(index % 2 === 0 ? {} : more),
    }));
    const pieces = chunks.map((chunk) => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
    const told = metadataOf(handle(request({ stream: true }), { ...answer(sse), pieces }));
    return told.slice(1, -1).map(({ output_tokens }) => output_tokens);
  }

  it('is told again at 1, 4, 16 and 64 tokens, then every 64', () => {
    expect(toldFor(Array.from({ length: 200 }, () => 'a '))).toEqual([1, 4, 16, 64, 128, 192]);
  });

  it('counts four characters as a token where deltas are longer than one', () => {
    expect(toldFor(Array.from({ length: 8 }, () => 'x'.repeat(60)))).toEqual([15, 60]);
  });

  it('counts reasoning and the arguments of calls', () => {
    const call = (piece: object) => ({ tool_calls: [{ index: 0, ...piece }] });
    const deltas = [
      { reasoning_content: 'x'.repeat(40) },
      call({ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"' } }),
      call({ function: { arguments: 'x'.repeat(160) } }),
      call({ function: { arguments: '"}' } }),
    ];
    const pieces = deltas.map((piece) =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: piece }] })}\n\n`),
    );
    const told = metadataOf(
      handle(request({ stream: true, tools: [{ type: 'function', name: 'f', parameters: {} }] }), {
        ...answer(sse),
        pieces,
      }),
    );
    expect(told.slice(1, -1).map(({ output_tokens }) => output_tokens)).toEqual([10, 52]);
  });

  it('has what the upstream counts, where it counts as it goes', () => {
    const counted = { usage: { prompt_tokens: 5, completion_tokens: 70, total_tokens: 75 } };
    expect(toldFor(['a', 'b', 'c'], counted)).toEqual([1, 70]);
  });
});

it('counts an image as a thousand tokens, whatever its bytes', () => {
  const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(100_000)}` };
  const input = [{ role: 'user', content: [image, { type: 'input_text', text: 'x'.repeat(4000) }] }];
  const [told] = metadataOf(handle(request({ input }), answer(json)));
  expect(told?.['input_tokens']).toBeGreaterThan(2000);
  expect(told?.['input_tokens']).toBeLessThan(2100);
});

it('has no tokens where no model answers', () => {
  const replies = handle(request({}, '/v1/responses/input_tokens'), answer('{"count":7}'));
  expect(metadataOf(replies)).toEqual([
    { outcome: 'aborted', model: 'm' },
    { outcome: 'completed', model: 'm' },
  ]);
});

it('has no tokens where the upstream answers before it has the request', () => {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'STREAMED', response: 'STREAMED' } }));
  repliesOf(exchange, { type: 'request_headers', headers: headersOf(request().headers), endOfStream: false });
  carry('response', answer(json), 'STREAMED', exchange);
  expect(exchange.summary()).toMatchObject({ outcome: 'failed', tokens: null, estimate: null });
});

it('is in the reply to the headers of an answer in JSON, from which filters can set headers', () => {
  const replies = handle(request(), answer(json)).filter(({ type }) => type.startsWith('response_'));
  expect(replies[0]).toMatchObject({ type: 'response_headers', metadata: counts });
});

it('is in the reply that ends the client’s stream, though the upstream’s body goes on', () => {
  const replies = handle(request({ stream: true }), answer(sse, {}, true));
  const last = replies.findLast((reply) => 'metadata' in reply);
  const text = last !== undefined && 'body' in last ? String(last.body) : '';
  expect(last).toMatchObject({ type: 'response_body', metadata: counts });
  expect(text).toContain('response.completed');
  expect(replies.at(-1)).toMatchObject({ type: 'response_trailers' });
});

it.each([
  ['a stream', true, events(delta, finish), 1],
  [
    'JSON',
    false,
    JSON.stringify({ model: 'm-2026', choices: [{ ...choice, message: { content: 'x'.repeat(40) } }] }),
    10,
  ],
])(
  'stays an estimate where the upstream reported no usage, which the Response does not have (%s)',
  (_name, stream, body, tokens) => {
    const replies = handle(request({ stream }), answer(body));
    expect(metadataOf(replies).at(-1)).toEqual({
      outcome: 'completed',
      model: 'm',
      upstream_model: 'm-2026',
      ...estimated(stream, tokens),
    });
    expect(bodyOf(replies)).toContain('"usage":null');
  },
);

it.each([
  ['with a body', { headers: { ':status': '503' }, pieces: [Buffer.from('{"error":{"message":"no"}}')] }],
  ['without one', { headers: { ':status': '503' }, pieces: [] }],
  ['that is a success without one', { headers: { ':status': '204' }, pieces: [] }],
])('is nothing to pay for a status %s', (_name, answered) => {
  const free = { input_tokens: 0, output_tokens: 0, total_tokens: 0, tokens_from: 'none' };
  expect(metadataOf(handle(request(), answered)).at(-1)).toMatchObject(free);
});

it.each([
  ['incomplete', JSON.stringify({ choices: [{ ...choice, finish_reason: 'length' }], usage }), {}],
  ['failed', events(delta, { error: { message: 'no more memory', code: 500 } }), {}],
  ['upstream_error', '{"error":{"message":"no"}}', { ':status': '500' }],
])('names the outcome %s', (outcome, body, headers) => {
  const stream = !body.startsWith('{');
  expect(metadataOf(handle(request({ stream }), answer(body, headers))).at(-1)).toMatchObject({
    outcome,
    model: 'm',
  });
});

it('is absent from what is passed through', () => {
  expect(metadataOf(handle(request({}, '/v1/chat/completions'), answer(json)))).toEqual([]);
});

it('has no more than 200 characters of a name', () => {
  const named = JSON.stringify({ model: 'x'.repeat(5000), choices: [choice] });
  expect(metadataOf(handle(request(), answer(named))).at(-1)).toMatchObject({ upstream_model: 'x'.repeat(200) });
});

it('the summary has the parameters that the request sets, and none that it leaves out', () => {
  const parametersOf = (fields: object) => {
    const exchange = new Exchange(exchangeOptions());
    carry('request', request(fields), 'BUFFERED', exchange);
    return exchange.summary().parameters;
  };
  expect(parametersOf({ max_output_tokens: 50, temperature: 0.5, top_p: 0.9 })).toEqual({
    maxOutputTokens: 50,
    temperature: 0.5,
    topP: 0.9,
  });
  expect(parametersOf({})).toEqual({ maxOutputTokens: null, temperature: null, topP: null });
});
