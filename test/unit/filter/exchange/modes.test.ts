import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyMode, BodyModes, ExchangeReply, HeaderMutation } from '../../../../src/filter/exchange/types.ts';
import { type HttpMessage, play } from '../../../support/envoy-model.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';
import { faultsOfStream } from '../../../support/invariants.ts';
import { inPiecesOf } from '../../../support/split.ts';
import { eventLines } from '../../../support/stream-lines.ts';

const streaming: readonly BodyMode[] = ['BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'];
const pairs: BodyModes[] = streaming.flatMap((request) => streaming.map((response) => ({ request, response })));

function request(fields: object, pieceSize = 20): HttpMessage {
  const body = Buffer.from(JSON.stringify({ model: 'test-model', input: 'Hi', ...fields }));
  return {
    headers: {
      ':method': 'POST',
      ':path': '/v1/responses?x=1',
      ':authority': 'api.example',
      'content-type': 'application/json',
      'content-length': String(body.length),
      'x-request-id': 'req-1',
      expect: '100-continue',
    },
    pieces: [...inPiecesOf(pieceSize, body)],
  };
}

function answer(status: number, type: string | null, body: string | Buffer, trailers = false, more = {}): HttpMessage {
  const headers = { ':status': String(status), ...(type === null ? {} : { 'content-type': type }), ...more };
  return { headers, pieces: [...inPiecesOf(25, Buffer.from(body))], trailers };
}

const completion = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Grüß dich' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});
const chunks = [
  'data: {"choices":[{"index":0,"delta":{"content":"Grüß"}}]}\n\n',
  'data: {"choices":[{"index":0,"delta":{"content":" dich"},"finish_reason":"stop"}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n',
  'data: [DONE]\n\n',
].join('');
const failing = 'data: {"error":{"message":"no more memory","type":"server_error","code":500}}\n\n';

const greeting = [
  'created',
  'in_progress',
  'output_item.added #0 message msg_1',
  'content_part.added #0.0 output_text ""',
  'output_text.delta #0.0 "Grüß"',
  'output_text.delta #0.0 " dich"',
  'output_text.done #0.0 "Grüß dich"',
  'content_part.done #0.0 output_text "Grüß dich"',
  'output_item.done #0 message msg_1 completed',
  'completed usage 3+2=5',
  '[DONE]',
];

describe.each(pairs)('request $request, response $response', (modes) => {
  const committed = modes.response === 'STREAMED';

  test('a completion comes back as a Response', () => {
    const { upstream, client } = play(request({}), answer(200, 'application/json', completion), { modes });
    expect(upstream?.headers.get(':path')).toBe('/v1/chat/completions');
    expect(JSON.parse(String(upstream?.body))).toMatchObject({ messages: [{ role: 'user', content: 'Hi' }] });
    expect(client.headers.get(':status')).toBe('200');
    expect(client.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(String(client.body))).toMatchObject({
      object: 'response',
      status: 'completed',
      output: [{ content: [{ text: 'Grüß dich' }] }],
    });
  });

  test('a stream comes back as a stream', () => {
    const { client, exchange } = play(request({ stream: true }), answer(200, 'text/event-stream', chunks), { modes });
    expect(client.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(client.headers.get('cache-control')).toBe('no-cache');
    expect(eventLines(String(client.body))).toEqual(greeting);
    expect(faultsOfStream(String(client.body))).toEqual([]);
    expect(exchange.summary()).toMatchObject({ outcome: 'completed', stream: true, status: 200 });
  });

  test('JSON for a client that wants a stream becomes one', () => {
    const { client } = play(request({ stream: true }), answer(200, 'application/json', completion), { modes });
    expect(client.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(eventLines(String(client.body)).at(-2)).toBe('completed usage 3+2=5');
    expect(faultsOfStream(String(client.body))).toEqual([]);
  });

  test('a stream for a client that wants JSON becomes JSON', () => {
    const { client } = play(request({}), answer(200, 'text/event-stream', chunks), { modes });
    expect(client.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(String(client.body))).toMatchObject({ status: 'completed', usage: { total_tokens: 5 } });
  });

  test('a refusal is HTTP and never reaches the upstream', () => {
    const { upstream, client, exchange } = play(request({ store: true, stream: true }), answer(200, null, ''), {
      modes,
    });
    expect(upstream).toBeNull();
    expect(client.headers.get(':status')).toBe('400');
    expect(client.headers.get('content-type')).toBe('application/json');
    expect(client.headers.get('x-request-id')).toBe('req-1');
    expect(client.details).toBe('responses_extproc:unsupported_value');
    expect(JSON.parse(String(client.body)).error).toMatchObject({ type: 'invalid_request', param: 'store' });
    expect(exchange.summary()).toMatchObject({ outcome: 'refused', status: 400, errorCode: 'unsupported_value' });
  });

  test.each([true, false])('an upstream error keeps its status and headers (stream: %s)', (stream) => {
    const body = '{"error":{"message":"slow down","code":"rate_limit_exceeded"}}';
    const more = { 'retry-after': '7', 'x-ratelimit-remaining-tokens': '0' };
    const upstreamAnswer = answer(429, 'application/json', body, false, more);
    const { client, exchange } = play(request({ stream }), upstreamAnswer, { modes });
    expect(client.headers.get(':status')).toBe('429');
    expect(client.headers.get('content-type')).toBe('application/json');
    expect(client.headers.get('retry-after')).toBe('7');
    expect(client.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
    expect(JSON.parse(String(client.body)).error).toMatchObject({ type: 'too_many_requests' });
    expect(exchange.summary()).toMatchObject({ outcome: 'upstream_error', status: 429, upstreamStatus: 429 });
  });

  test.each([
    ['a status', 413, 'application/json'],
    ['the first event', 200, 'text/event-stream'],
  ])('a full context, told by %s, is told within a stream where the status can be changed', (_, status, type) => {
    const error = '{"error":{"message":"This model’s maximum context length is 10 tokens."}}';
    const upstreamAnswer = answer(status, type, status === 200 ? `data: ${error}\n\n` : error);
    const { client, exchange } = play(request({ stream: true }), upstreamAnswer, { modes });
    const isStream = !committed || status === 200;
    expect(client.headers.get(':status')).toBe(isStream ? '200' : '413');
    expect(exchange.summary()).toMatchObject({
      outcome: isStream ? 'failed' : 'upstream_error',
      status: isStream ? 200 : 413,
      errorCode: isStream ? 'context_length_exceeded' : expect.anything(),
      tokens: null,
      estimate: null,
    });
    if (!isStream) return;
    expect(client.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const message = 'This model’s maximum context length is 10 tokens.';
    const end = [`error context_length_exceeded "${message}"`, 'failed context_length_exceeded', '[DONE]'];
    expect(eventLines(String(client.body))).toEqual(['created', 'in_progress', ...end]);
    expect(faultsOfStream(String(client.body))).toEqual([]);
  });

  test.each(['300', '299'])('a body under the status %s is no answer, with an error or without', (status) => {
    const { client, exchange } = play(request({ stream: true }), answer(Number(status), 'application/json', '{}'), {
      modes,
    });
    const isRedirect = status === '300';
    if (isRedirect || !committed) {
      const code = isRedirect ? 'upstream_redirect' : 'invalid_upstream_response';
      expect(client.headers.get(':status')).toBe('502');
      expect(JSON.parse(String(client.body)).error.code).toBe(code);
      expect(exchange.summary()).toMatchObject({ outcome: 'upstream_error', status: 502, errorCode: code });
    } else {
      expect(eventLines(String(client.body)).at(-2)).toMatch(/^failed invalid_upstream_response/);
    }
  });

  test('an error as the first event is an HTTP status while the headers are held', () => {
    const { client } = play(request({ stream: true }), answer(200, 'text/event-stream', failing), { modes });
    if (committed) {
      expect(client.headers.get(':status')).toBe('200');
      const types = eventLines(String(client.body)).map((line) => line.split(' ')[0]);
      expect(types).toEqual(['created', 'in_progress', 'error', 'failed', '[DONE]']);
    } else {
      expect(client.headers.get(':status')).toBe('500');
      expect(JSON.parse(String(client.body)).error.message).toContain('no more memory');
    }
  });

  test('a page of HTML under a 200 is not an answer', () => {
    const { client } = play(request({}), answer(200, 'text/html', '<html>sign in</html>'), { modes });
    expect(String(client.body)).not.toContain('<html>');
    if (committed) expect(JSON.parse(String(client.body))).toMatchObject({ status: 'failed', object: 'response' });
    else expect(client.headers.get(':status')).toBe('502');
  });

  test.each(['/v1/models', '/v1/files?purpose=x', '/v1/chat/completions', '/', '/v1/responsesx'])(
    '%s passes byte for byte',
    (path) => {
      const sent = { headers: { ':method': 'POST', ':path': path, 'content-length': '9' }, pieces: cut('some body') };
      const got = answer(200, 'text/plain', 'some other body', false, { etag: '"1"' });
      const { upstream, client, exchange } = play(sent, got, { modes });
      expect(String(upstream?.body)).toBe('some body');
      expect([...(upstream?.headers ?? [])]).toEqual(Object.entries(sent.headers));
      expect(String(client.body)).toBe('some other body');
      expect([...client.headers]).toEqual(Object.entries(got.headers));
      const bytes = { requestIn: 9, requestOut: 9, responseIn: 15, responseOut: 15 };
      expect(exchange.summary()).toMatchObject({ outcome: 'passed', bytes });
    },
  );

  test('what passes keeps its trailers', () => {
    const sent = { headers: { ':method': 'PUT', ':path': '/files' }, pieces: cut('some body'), trailers: true };
    const { upstream, client } = play(sent, answer(200, 'text/plain', 'fine', true), { modes });
    expect(upstream).toMatchObject({ ended: 'trailers' });
    expect(client).toMatchObject({ ended: 'trailers' });
    expect(String(client.body)).toBe('fine');
  });

  test('a GET that ends with its headers passes', () => {
    const { upstream, client } = play(
      { headers: { ':method': 'GET', ':path': '/v1/models' }, pieces: [] },
      { headers: { ':status': '304' }, pieces: [] },
      { modes },
    );
    expect(upstream?.ended).toBe('headers');
    expect(client.headers.get(':status')).toBe('304');
  });

  test('a Responses request that ends with its headers is refused', () => {
    const { headers } = request({});
    const { client } = play({ headers, pieces: [] }, answer(200, 'text/plain', 'never asked'), { modes });
    expect(client.headers.get(':status')).toBe('400');
    expect(JSON.parse(String(client.body)).error.code).toBe('missing_body');
  });

  test.each([
    ['200', 502, 'invalid_upstream_response'],
    ['204', 502, 'invalid_upstream_response'],
    ['205', 502, 'invalid_upstream_response'],
    ['304', 502, 'upstream_redirect'],
    ['503', 503, 'server_overloaded'],
  ])('an answer without a body is an error: %s', (upstreamStatus, status, code) => {
    const { client, exchange } = play(request({}), { headers: { ':status': upstreamStatus }, pieces: [] }, { modes });
    expect(client.headers.get(':status')).toBe(String(status));
    expect(JSON.parse(String(client.body)).error.code).toBe(code);
    expect(exchange.summary()).toMatchObject({
      outcome: 'upstream_error',
      status,
      upstreamStatus: Number(upstreamStatus),
    });
  });
});

test.each<[BodyMode, (string | undefined)[]]>([
  // Nothing, a reply that changes nothing, or one that changes all that can be known by then.
  ['FULL_DUPLEX_STREAMED', []],
  ['BUFFERED', [undefined]],
  ['BUFFERED_PARTIAL', ['application/json']],
  ['STREAMED', ['application/json']],
])('what headers of an answer are changed when they come, in %s', (response, types) => {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response } }));
  const { headers, pieces } = request({}, 1000);
  repliesOf(exchange, { type: 'request_headers', headers: headersOf(headers), endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body: pieces[0] ?? new Uint8Array(), endOfStream: true });
  const answered = headersOf({ ':status': '200', 'content-type': 'application/json; charset=utf-8' });
  const replies = repliesOf(exchange, { type: 'response_headers', headers: answered, endOfStream: false });
  const changed = (reply: ExchangeReply) => ('headers' in reply ? (reply.headers as HeaderMutation) : undefined);
  expect(replies.map((reply) => [reply.type, changed(reply)?.set?.['content-type']])).toEqual(
    types.map((type) => ['response_headers', type]),
  );
});

describe('trailers', () => {
  test.each(['BUFFERED', 'FULL_DUPLEX_STREAMED'] as const)('of a request are answered in %s', (mode) => {
    const modes = { request: mode, response: 'FULL_DUPLEX_STREAMED' } as const;
    const sent = { ...request({}), trailers: true };
    const { upstream } = play(sent, answer(200, 'application/json', completion), { modes });
    expect(upstream?.ended).toBe('trailers');
    expect(JSON.parse(String(upstream?.body))).toMatchObject({ model: 'test-model' });
  });

  test('may be what ends the stream in BUFFERED: the one message of a body is all of it', () => {
    const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response: 'BUFFERED' } }));
    const { headers, pieces } = request({}, 1000);
    const body = Buffer.concat(pieces);
    repliesOf(exchange, { type: 'request_headers', headers: headersOf(headers), endOfStream: false });
    expect(repliesOf(exchange, { type: 'request_body', body, endOfStream: false })).toMatchObject([
      { type: 'request_body', headers: { set: { ':path': '/v1/chat/completions' } }, endOfStream: true },
    ]);
    const answered = headersOf({ ':status': '200', 'content-type': 'application/json' });
    repliesOf(exchange, { type: 'response_headers', headers: answered, endOfStream: false });
    const [reply] = repliesOf(exchange, { type: 'response_body', body: Buffer.from(completion), endOfStream: false });
    const written = reply !== undefined && 'body' in reply ? String(reply.body) : '';
    expect(JSON.parse(written)).toMatchObject({ object: 'response', status: 'completed' });
  });

  test('of a request cannot be answered in STREAMED: the end of the body is never said', () => {
    const modes = { request: 'STREAMED', response: 'STREAMED' } as const;
    const { upstream, client } = play({ ...request({}), trailers: true }, answer(200, null, ''), { modes });
    expect(upstream).toBeNull();
    expect(client.headers.get(':status')).toBe('400');
  });

  test.each(['BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'] as const)(
    'of a stream follow its last event in %s',
    (mode) => {
      const modes = { request: 'BUFFERED', response: mode } as const;
      const { client } = play(request({ stream: true }), answer(200, 'text/event-stream', chunks, true), { modes });
      expect(eventLines(String(client.body))).toEqual(greeting);
      expect(client.ended).toBe('trailers');
    },
  );

  test.each(['BUFFERED', 'FULL_DUPLEX_STREAMED'] as const)('end a stream that was cut with a failure in %s', (mode) => {
    const modes = { request: 'BUFFERED', response: mode } as const;
    const cutShort = chunks.slice(0, chunks.indexOf(' dich'));
    const { client } = play(request({ stream: true }), answer(200, 'text/event-stream', cutShort, true), { modes });
    expect(eventLines(String(client.body)).at(-2)).toMatch(/^failed upstream_stream_truncated/);
  });

  test.each(['BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED'] as const)(
    'of a JSON answer or an error follow it in %s',
    (mode) => {
      const modes = { request: 'BUFFERED', response: mode } as const;
      const good = play(request({}), answer(200, 'application/json', completion, true), { modes }).client;
      expect(JSON.parse(String(good.body))).toMatchObject({ status: 'completed' });
      const bad = play(request({}), answer(404, 'application/json', '{"error":{"message":"no such model"}}', true), {
        modes,
      });
      expect(JSON.parse(String(bad.client.body)).error.code).toBe('model_not_found');
      expect(good.ended).toBe('trailers');
    },
  );
});

describe('BUFFERED_PARTIAL', () => {
  const modes = { request: 'BUFFERED_PARTIAL', response: 'BUFFERED_PARTIAL' } as const;

  test('works while everything fits the buffer', () => {
    const { upstream, client } = play(request({ stream: true }), answer(200, 'text/event-stream', chunks), { modes });
    expect(upstream?.headers.get(':path')).toBe('/v1/chat/completions');
    expect(eventLines(String(client.body))).toEqual(greeting);
    const bad = play(request({}), answer(429, 'application/json', '{"error":{"message":"slow"}}'), { modes }).client;
    expect(bad.headers.get(':status')).toBe('429');
    expect(bad.headers.get('content-type')).toBe('application/json');
  });

  test('a request over the buffer is refused: the rest would pass unseen', () => {
    const { upstream, client } = play(request({ input: 'x'.repeat(600_000) }, 65536), answer(200, null, ''), { modes });
    expect(upstream).toBeNull();
    expect(client.headers.get(':status')).toBe('413');
  });

  test('an answer over the buffer is an error', () => {
    const long = completion.replace('Grüß dich', 'x'.repeat(600_000));
    const { client } = play(request({}), answer(200, 'application/json', long), { modes });
    expect(client.headers.get(':status')).toBe('502');
    expect(JSON.parse(String(client.body)).error.code).toBe('upstream_response_too_large');
  });
});

test.each(['STREAMED', 'BUFFERED_PARTIAL'] as const)('%s requests refuse a path that holds the model', (mode) => {
  const modes: BodyModes = { request: mode, response: 'FULL_DUPLEX_STREAMED' };
  const answered = answer(200, 'application/json', completion);
  const { client } = play(request({}), answered, { modes, upstreamPath: '/{model}/chat/completions' });
  expect(JSON.parse(String(client.body)).error.message).toContain('contains the model');
});

describe('NONE', () => {
  test.each([
    { request: 'NONE', response: 'FULL_DUPLEX_STREAMED' },
    { request: 'BUFFERED', response: 'NONE' },
  ] as const)('refuses what would be translated, and passes the rest ($request, $response)', (modes) => {
    const { upstream, client } = play(request({}), answer(200, 'application/json', completion), { modes });
    expect(upstream).toBeNull();
    expect(client.headers.get(':status')).toBe('500');
    expect(JSON.parse(String(client.body)).error).toMatchObject({ code: 'proxy_misconfigured' });
    const passing = play(
      { headers: { ':method': 'POST', ':path': '/x' }, pieces: cut('a b') },
      answer(200, null, 'c d'),
      { modes },
    );
    expect(String(passing.upstream?.body)).toBe('a b');
    expect(String(passing.client.body)).toBe('c d');
  });
});

function cut(text: string): Uint8Array[] {
  return [...inPiecesOf(3, Buffer.from(text))];
}
