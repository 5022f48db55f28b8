import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../../../../src/filter/exchange/options.ts';
import type { ExchangeReply } from '../../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';
import { eventLines } from '../../../../support/stream-lines.ts';

const chunk = (delta: object, finish: string | null = null): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);

/** An exchange whose upstream has sent headers. */
function begun(fields: object, type: string, options: Partial<ExchangeOptions> = {}): Exchange {
  const exchange = new Exchange(exchangeOptions({ stallTimeoutMs: 1000, ...options }));
  const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses' });
  const body = Buffer.from(JSON.stringify({ model: 'test-model', input: 'Hi', ...fields }));
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  const answer = headersOf({ ':status': '200', 'content-type': type });
  repliesOf(exchange, { type: 'response_headers', headers: answer, endOfStream: false });
  return exchange;
}

function send(exchange: Exchange, body: Buffer): ExchangeReply[] {
  return repliesOf(exchange, { type: 'response_body', body, endOfStream: false });
}

/** The text of body replies, and whether they end the stream. */
function said(replies: Iterable<ExchangeReply>): { text: string; ended: boolean } {
  const bodies = [...replies].flatMap((reply) => (reply.type === 'response_body' ? [reply] : []));
  return {
    text: bodies.map(({ body }) => Buffer.from(body ?? []).toString()).join(''),
    ended: bodies.at(-1)?.endOfStream ?? false,
  };
}

describe('a silent upstream', () => {
  test('ends a stream with a failure and an end of its own', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    send(exchange, chunk({ content: 'a' }));
    expect(exchange.tick(5000)).toEqual([]);
    expect(exchange.tick(5999)).toEqual([]);
    expect(exchange.summary().outcome).toBe('open');
    const { text, ended } = said(exchange.tick(6000));
    expect(exchange.summary().outcome).toBe('failed');
    expect(eventLines(text).at(-2)).toMatch(/^failed upstream_timeout/);
    expect(text).toContain('The upstream was silent for 1 s.');
    expect(ended).toBe(true);
    expect(exchange.summary()).toMatchObject({ outcome: 'failed', errorCode: 'upstream_timeout' });
  });

  test('is not silent while nobody could hear it', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    exchange.tick(0);
    for (let at = 500; at <= 10_000; at += 500) expect(exchange.tick(at, true)).toEqual([]);
    expect(exchange.tick(10_500)).toEqual([]);
    expect(exchange.tick(11_499)).toEqual([]);
    expect(exchange.tick(11_500)).not.toEqual([]);
  });

  test('is not silent while it sends', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    for (let at = 0; at < 20_000; at += 900) {
      send(exchange, chunk({ content: 'a' }));
      expect(exchange.tick(at)).toEqual([]);
    }
  });

  test.each(['text/event-stream', 'application/json', 'text/plain'])(
    'is a 504 while the headers are held (%s)',
    (type) => {
      const exchange = begun({ stream: true }, type);
      send(exchange, Buffer.from(type === 'application/json' ? '{"cho' : 'da'));
      exchange.tick(0);
      expect(exchange.tick(1000)).toMatchObject([{ type: 'immediate_response', status: 504 }]);
      expect(exchange.summary()).toMatchObject({ outcome: 'upstream_error', status: 504 });
    },
  );

  test('may say what it wants after the end: nobody hears it', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    send(exchange, chunk({ content: 'a' }));
    exchange.tick(0);
    exchange.tick(1000);
    expect(send(exchange, chunk({ content: 'b' }))).toEqual([]);
    expect(repliesOf(exchange, { type: 'response_trailers' })).toEqual([]);
    expect(exchange.tick(9000)).toEqual([]);
  });

  test('is waited for where only its messages can be answered', () => {
    for (const response of ['STREAMED', 'BUFFERED'] as const) {
      const exchange = begun({ stream: true }, 'text/event-stream', { modes: { request: 'BUFFERED', response } });
      exchange.tick(0);
      expect(exchange.tick(100_000)).toEqual([]);
    }
  });

  test('is waited for no longer than a timeout of one millisecond', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { stallTimeoutMs: 1 });
    expect(exchange.tick(0)).toEqual([]);
    expect(exchange.tick(1)).not.toEqual([]);
  });

  test('is waited for without a timeout', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { stallTimeoutMs: 0 });
    exchange.tick(0);
    expect(exchange.tick(1e9)).toEqual([]);
  });
});

describe('an upstream that keeps its stream open after the finish reason', () => {
  test.each([true, false])('is not waited for longer than the grace (stream: %s)', (stream) => {
    const exchange = begun({ stream }, 'text/event-stream');
    send(exchange, Buffer.concat([chunk({ content: 'a' }), chunk({}, 'stop')]));
    expect(exchange.tick(100)).toEqual([]);
    const { text, ended } = said(exchange.tick(2100));
    expect(text).toContain('"status":"completed"');
    expect(ended).toBe(true);
    expect(exchange.summary()).toMatchObject({ outcome: 'completed', status: 200 });
  });

  test('is given the whole grace, from the first tick after its finish on, however long it took', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { stallTimeoutMs: 0 });
    for (const at of [0, 200, 400]) expect(exchange.tick(at)).toEqual([]);
    send(exchange, chunk({ content: 'a' }, 'stop'));
    expect(exchange.tick(500)).toEqual([]);
    expect(exchange.tick(2499)).toEqual([]);
    expect(said(exchange.tick(2500)).ended).toBe(true);
  });

  test('is given the whole grace once the client reads again', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { stallTimeoutMs: 0 });
    send(exchange, chunk({ content: 'a' }, 'stop'));
    expect(exchange.tick(0)).toEqual([]);
    for (let at = 500; at <= 10_000; at += 500) expect(exchange.tick(at, true)).toEqual([]);
    expect(exchange.tick(10_500)).toEqual([]);
    expect(exchange.tick(12_499)).toEqual([]);
    expect(said(exchange.tick(12_500)).ended).toBe(true);
  });

  test('is ended after [DONE] too', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    const first = said(
      send(exchange, Buffer.concat([chunk({ content: 'a' }, 'stop'), Buffer.from('data: [DONE]\n\n')])),
    );
    expect(eventLines(first.text).at(-1)).toBe('[DONE]');
    expect(first.ended).toBe(false);
    exchange.tick(0);
    expect(said(exchange.tick(2000))).toEqual({ text: '', ended: true });
  });
});

describe('heartbeats', () => {
  test('come when the client has heard nothing for that long, and only in a stream', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { heartbeatMs: 200, stallTimeoutMs: 0 });
    exchange.tick(0);
    send(exchange, chunk({ content: 'a' }));
    expect(exchange.tick(600)).toEqual([]);
    expect(exchange.tick(700)).toEqual([]);
    expect(said(exchange.tick(800))).toEqual({ text: ': keepalive\n\n', ended: false });
    expect(exchange.tick(900)).toEqual([]);
  });

  test('come at the shortest interval too', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { heartbeatMs: 1, stallTimeoutMs: 0 });
    send(exchange, chunk({ content: 'a' }));
    expect(exchange.tick(0)).toEqual([]);
    expect(said(exchange.tick(1)).text).toBe(': keepalive\n\n');
  });

  test('begin a stream that the upstream has not begun, so that the client has its headers', () => {
    const exchange = begun({ stream: true }, 'text/event-stream', { heartbeatMs: 200, stallTimeoutMs: 0 });
    exchange.tick(0);
    expect(exchange.tick(100)).toEqual([]);
    const replies = [...exchange.tick(200)];
    expect(replies[0]).toMatchObject({ type: 'response_headers' });
    expect(eventLines(said(replies).text)).toEqual(['created', 'in_progress']);
    expect(eventLines(said(send(exchange, chunk({ content: 'a' }))).text).at(-1)).toBe('output_text.delta #0.0 "a"');
    const unknown = begun({ stream: true }, 'text/plain', { heartbeatMs: 200, stallTimeoutMs: 0 });
    unknown.tick(0);
    expect(unknown.tick(5000)).toEqual([]);
    const plain = begun({}, 'text/event-stream', { heartbeatMs: 200, stallTimeoutMs: 0 });
    plain.tick(0);
    expect(plain.tick(5000)).toEqual([]);
  });
});

describe.each([': working', 'data: : OPENROUTER PROCESSING'])('a comment of the upstream, %j', (line) => {
  const comment = Buffer.from(`${line}\n\n`);

  test('begins the client’s stream, and then is a heartbeat', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    const first = send(exchange, comment);
    expect(first[0]).toMatchObject({ type: 'response_headers' });
    expect(eventLines(said(first).text)).toEqual(['created', 'in_progress']);
    expect(said(send(exchange, comment)).text).toBe(': keepalive\n\n');
    expect(said(send(exchange, Buffer.concat([comment, comment]))).text).toBe(': keepalive\n\n');
    expect(exchange.hasToken()).toBe(false);
    send(exchange, chunk({ content: 'a' }));
    expect(exchange.hasToken()).toBe(true);
    expect(said(send(exchange, comment)).text).toBe(': keepalive\n\n');
    expect(exchange.hasToken()).toBe(true);
  });

  test('is nothing beside an event', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    send(exchange, chunk({ content: 'a' }));
    const { text } = said(send(exchange, Buffer.concat([comment, chunk({ content: 'b' }), comment])));
    expect(eventLines(text)).toEqual(['output_text.delta #0.0 "b"']);
    expect(text).not.toContain('keepalive');
  });

  test('is nothing after the end, and to a client that wants JSON', () => {
    const ended = begun({ stream: true }, 'text/event-stream');
    send(ended, Buffer.concat([chunk({ content: 'a' }, 'stop'), Buffer.from('data: [DONE]\n\n')]));
    expect(said(send(ended, comment)).text).toBe('');
    const plain = begun({}, 'text/event-stream');
    expect(send(plain, comment)).toEqual([]);
    expect(said(send(plain, Buffer.concat([chunk({ content: 'a' }), comment]))).text).toBe('');
  });
});
