import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import { createUpstreamBodyReader } from '../../../../../src/filter/exchange/response/choose-reader.ts';
import type { BodyMode, BodyModes, Hold } from '../../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { createTestContext } from '../../../../support/context.ts';
import { carry, type HttpMessage, play } from '../../../../support/envoy-model.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';
import { runs } from '../../../../support/property-runs.ts';
import { inPiecesOf } from '../../../../support/split.ts';
import { eventLines } from '../../../../support/stream-lines.ts';

function ask(fields: object = {}, headers: Record<string, string> = {}): HttpMessage {
  const body = Buffer.from(JSON.stringify({ model: 'test-model', input: 'Hi', ...fields }));
  return {
    headers: { ':method': 'POST', ':path': '/v1/responses', 'x-request-id': 'req-1', ...headers },
    pieces: [body],
  };
}

function answered(headers: Record<string, string>, ...pieces: (string | Buffer)[]): HttpMessage {
  return { headers: { ':status': '200', ...headers }, pieces: pieces.map((piece) => Buffer.from(piece)) };
}

const sse = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
const completion = '{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}';
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const stream = `${chunk({ content: 'Grüß 🎉' })}: comment\r\n\r\n${chunk({ content: '!' }, 'stop')}data: [DONE]\n\n`;

function statusOf({ client }: ReturnType<typeof play>): string | undefined {
  return client.headers.get(':status');
}

function codeOf({ client }: ReturnType<typeof play>): unknown {
  return JSON.parse(String(client.body)).error.code;
}

describe('the kind of an answer', () => {
  test.each([
    ['no content type', {}],
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a wrong type', { 'content-type': 'text/html; charset=utf-8' }],
    ['a vendor’s JSON', { 'content-type': 'application/vnd.x+json' }],
    ['JSON in capitals', { 'content-type': 'Application/JSON;charset=UTF-8' }],
  ])('is JSON by its first byte: %s', (_name, headers) => {
    const { client, exchange } = play(ask(), answered(headers, '\ufeff \n', completion));
    expect(JSON.parse(String(client.body))).toMatchObject({ object: 'response', status: 'completed' });
    expect(exchange.summary()).toMatchObject({ outcome: 'completed', finishReason: 'stop' });
  });

  test.each([
    ['no content type', {}],
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a charset', { 'content-type': 'text/event-stream;charset=utf-8' }],
  ])('is an event stream by its first bytes: %s', (_name, headers) => {
    const pieces = [...inPiecesOf(1, Buffer.from(`\n${stream}`))] as Buffer[];
    const { client } = play(ask({ stream: true }), answered(headers, ...pieces));
    expect(eventLines(String(client.body)).at(-2)).toBe('completed');
  });

  test.each([
    'application/x-ndjson',
    'application/ndjson',
    'application/jsonl',
    'application/stream+json; charset=utf-8',
  ])('is a stream of JSON lines by its type: %s', (type) => {
    const lines = stream.replaceAll(/data: |: comment|\[DONE\]/g, '').replaceAll(/[\r\n]+/g, '\n');
    const { client } = play(ask({ stream: true }), answered({ 'content-type': type }, lines));
    expect(String(client.body)).toContain('"text":"Grüß 🎉!"');
    expect(eventLines(String(client.body)).at(-2)).toBe('completed');
  });

  test.each([
    ['a page', '<!doctype html><html>sign in</html>', 'neither JSON nor an event stream'],
    ['words', 'upstream is resting', 'neither JSON nor an event stream'],
    ['half a word', 'dat', 'neither JSON nor an event stream'],
    ['white space', ' \n', 'neither JSON nor an event stream'],
    ['nothing', '', 'empty'],
  ])('is none: %s', (_name, body, what) => {
    const played = play(ask(), answered({}, body));
    expect([statusOf(played), codeOf(played)]).toEqual(['502', 'invalid_upstream_response']);
    expect(JSON.parse(String(played.client.body)).error.message).toBe(`The upstream’s response is ${what}.`);
  });

  test('is waited for up to 1,024 bytes of white space', () => {
    const { bodyLimits: limits } = exchangeOptions();
    const context = createTestContext();
    for (const [size, isRefused] of [
      [1023, false],
      [1024, true],
    ] as const) {
      const answer = {
        status: 200,
        contentType: null,
        retryAfter: null,
        context,
        committed: false,
        mayReplaceStatus: true,
        limits,
      };
      const reader = createUpstreamBodyReader(answer);
      reader.push(Buffer.alloc(size, ' '));
      expect(reader.state.isComplete, `${size} bytes`).toBe(isRefused);
    }
  });

  test.each([200, 429])(
    'that becomes an error keeps the upstream’s other headers and has the request’s id (%i)',
    (status) => {
      const body = '{"error":{"message":"too many","code":429}}';
      const headers = { ...json, ':status': String(status), 'x-other': '1', 'retry-after': '7' };
      for (const mode of ['FULL_DUPLEX_STREAMED', 'BUFFERED'] as const) {
        const modes: BodyModes = { request: 'BUFFERED', response: mode };
        const { client } = play(ask(), answered(headers, body), { modes });
        expect(client.details, mode).toBeNull();
        expect(client.headers.get('x-other')).toBe('1');
        expect(client.headers.get('x-request-id')).toBe('req-1');
      }
    },
  );

  test('that is refused by an immediate response has the request’s id, and the headers that clients act on', () => {
    const headers = { ':status': '429', ...json, 'content-encoding': 'rot13', 'retry-after': '7', 'x-other': '1' };
    const { client } = play(ask(), answered(headers, 'x'));
    expect(client.details).not.toBeNull();
    expect(client.headers.get('x-request-id')).toBe('req-1');
    expect(client.headers.get('retry-after')).toBe('7');
    expect(client.headers.has('x-other')).toBe(false);
  });

  test.each(['', '{', '{"choices":', '[]', '{}', '"text"'])('JSON that is not a completion is a 502: %j', (body) => {
    const played = play(ask({ stream: true }), answered(json, body));
    expect([statusOf(played), codeOf(played)]).toEqual(['502', 'invalid_upstream_response']);
  });
});

test('an answer without a status counts as one that is no error', () => {
  const exchange = new Exchange(exchangeOptions());
  const { headers, pieces } = ask();
  repliesOf(exchange, { type: 'request_headers', headers: headersOf(headers), endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body: pieces[0] ?? new Uint8Array(), endOfStream: true });
  const [reply] = repliesOf(exchange, { type: 'response_headers', headers: headersOf(json), endOfStream: true });
  expect(reply).toMatchObject({ type: 'immediate_response', status: 502 });
  expect(exchange.summary().upstreamStatus).toBe(0);
});

test.each([
  ['299', 'invalid_upstream_response'],
  ['300', 'upstream_redirect'],
])('headers alone are no answer, under the status %s: %s', (status, code) => {
  expect(codeOf(play(ask(), answered({ ':status': status })))).toBe(code);
});

test.each(['{', '['])(
  'an answer of no type that begins with %s is JSON: what is too large of it is refused',
  (begin) => {
    const bodyLimits = { ...exchangeOptions().bodyLimits, maxResponseBytes: 20 };
    const played = play(ask(), answered({}, begin.padEnd(21)), { bodyLimits });
    expect([statusOf(played), codeOf(played)]).toEqual(['502', 'upstream_response_too_large']);
    expect(codeOf(play(ask(), answered({}, begin.padEnd(20)), { bodyLimits }))).toBe('invalid_upstream_response');
  },
);

test.each(['data: ', 'event: message\n', 'id: 1\n', 'retry: 5\n', ': hello\n\n', '\ufeffevent: message\n'])(
  'an answer of no type that begins with %j is a stream, however it is cut',
  (begin) => {
    const bytes = Buffer.from(begin.startsWith('data') ? stream : `${begin}${stream}`);
    for (const size of [1, 2, 3, bytes.length]) {
      const { client } = play(ask({ stream: true }), answered({}, ...([...inPiecesOf(size, bytes)] as Buffer[])));
      expect(eventLines(String(client.body)).at(-2)).toBe('completed');
    }
  },
);

test('an error in a list is read before the trailers, whose reply carries no body', () => {
  const modes: BodyModes = { request: 'BUFFERED', response: 'STREAMED' };
  const error = answered({ ...json, ':status': '429' }, '[{"error":{"message":"too many"}}]');
  const { client } = play(ask(), { ...error, trailers: true }, { modes });
  expect(JSON.parse(String(client.body)).error.message).toBe('too many');
});

describe('what is held of an answer', () => {
  /** The last that was told, with the bytes of a body that is yet to be parsed. */
  function lastHeld(answer: HttpMessage, count: number, mode: BodyMode = 'FULL_DUPLEX_STREAMED') {
    const held: [number, number | undefined][] = [];
    const hold: Hold = (bytes, body) => {
      held.push([bytes, body]);
      return null;
    };
    play(ask({ stream: true }), answer, { hold, modes: { request: 'BUFFERED', response: mode } });
    return held.slice(-count);
  }

  test('is counted as a body while its bytes do not tell their kind', () => {
    expect(lastHeld(answered({}, '  ', 'da'), 2)).toEqual([
      [2, 2],
      [4, 4],
    ]);
  });

  test('is no body of a stream, which is parsed as it comes', () => {
    expect(lastHeld(answered(sse, chunk({ content: 'Hi' })), 1)).toEqual([[expect.any(Number), 0]]);
  });

  test('stays counted once it is translated, until it is sent', () => {
    const { length } = completion;
    expect(lastHeld(answered(json, completion), 1, 'STREAMED')).toEqual([[length, length]]);
  });
});

describe('a compressed answer', () => {
  test('is counted with its window, and while it is read with what it decodes to', () => {
    const held: number[] = [];
    const hold: Hold = (bytes) => {
      held.push(bytes);
      return null;
    };
    const headers = { ...sse, 'content-encoding': 'gzip' };
    play(ask({ stream: true }), answered(headers, gzipSync(`: ${'x'.repeat(5000)}\n\n`)), { hold });
    expect(held.slice(-2)).toEqual([32 * 1024 + 5004, 32 * 1024]);
  });

  test.each([{ stream: true }, { stream: false }])('is read as it comes ($stream)', (fields) => {
    const bytes = gzipSync(fields.stream ? stream : completion);
    const headers = { ...(fields.stream ? sse : json), 'content-encoding': 'gzip', etag: '"1"', digest: 'x' };
    const { client } = play(ask(fields), answered(headers, ...([...inPiecesOf(3, bytes)] as Buffer[])));
    for (const untrue of ['content-encoding', 'etag', 'digest', 'content-length'])
      expect(client.headers.has(untrue), untrue).toBe(false);
    expect(String(client.body)).toContain('completed');
  });

  test('of an unknown kind is a 502 at once, an error keeps its status', () => {
    const headers = { ...json, 'content-encoding': 'rot13' };
    expect(statusOf(play(ask(), answered(headers, 'x')))).toBe('502');
    expect(statusOf(play(ask(), answered({ ...headers, ':status': '429' }, 'x')))).toBe('429');
  });

  test('that is damaged is a 502, or a failed response once events were sent', () => {
    const headers = { ...sse, 'content-encoding': 'gzip' };
    expect(statusOf(play(ask({ stream: true }), answered(headers, 'no gzip at all')))).toBe('502');
    const begun = gzipSync(chunk({ content: 'x'.repeat(5000) }), { level: 0 }).subarray(0, -8);
    const { client } = play(ask({ stream: true }), answered(headers, begun, 'no gzip any more'));
    expect(client.headers.get(':status')).toBe('200');
    expect(eventLines(String(client.body)).at(-2)).toBe('failed invalid_upstream_response');
  });

  test('that is damaged within a piece keeps the events before the damage', () => {
    const words = Array.from({ length: 100 }, (_, at) => `word ${at} `);
    const sound = gzipSync(words.map((content) => chunk({ content })).join(''), { level: 0 }).subarray(0, -8);
    const headers = { ...sse, 'content-encoding': 'gzip' };
    const damaged = Buffer.concat([sound, Buffer.from('no gzip any more')]);
    const { client, exchange } = play(ask({ stream: true }), answered(headers, damaged));
    const lines = eventLines(String(client.body));
    const deltas = lines.filter((line) => line.startsWith('output_text.delta')).length;
    expect(deltas).toBeGreaterThan(80);
    expect(lines.at(-2)).toBe('failed invalid_upstream_response');
    expect(exchange.summary()).toMatchObject({ outcome: 'failed', status: 200 });
  });

  test.each(['no gzip at all', gzipSync('{"error":{"message":"Slow down."}}').subarray(0, 30)])(
    'of an error that is damaged keeps its status (%#)',
    (body) => {
      const headers = { ...json, ':status': '429', 'retry-after': '7', 'content-encoding': 'gzip' };
      const { client } = play(ask(), answered(headers, body));
      expect(client.headers.get(':status')).toBe('429');
      expect(JSON.parse(String(client.body))).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    },
  );

  test.each(['STREAMED', 'FULL_DUPLEX_STREAMED'] as const)(
    'of an error that is damaged at its end is one error, in %s',
    (response) => {
      const body = gzipSync('{"error":{"message":"Slow down."}}');
      body.writeUInt32LE(0, body.length - 8); // the checksum
      const headers = { ...json, ':status': '429', 'content-encoding': 'gzip' };
      const { client } = play(ask(), answered(headers, body), { modes: { request: 'BUFFERED', response } });
      expect(JSON.parse(String(client.body))).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    },
  );

  test.each(['STREAMED', 'FULL_DUPLEX_STREAMED'] as const)(
    'of the least error status is that error, in %s',
    (response) => {
      const headers = { ...json, ':status': '300' };
      for (const answer of [
        answered({ ...headers, 'content-encoding': 'gzip' }, 'no gzip at all'),
        answered({ ...headers, 'content-encoding': 'rot13' }, 'x'),
        answered(headers),
      ]) {
        const played = play(ask(), answer, { modes: { request: 'BUFFERED', response } });
        expect([statusOf(played), codeOf(played)]).toEqual(['502', 'upstream_redirect']);
      }
    },
  );

  test('that ends too soon counts as cut', () => {
    const headers = { ...json, 'content-encoding': 'gzip' };
    expect(statusOf(play(ask(), answered(headers, gzipSync(completion).subarray(0, 40))))).toBe('502');
  });
});

describe('a byte order mark that is cut', () => {
  const marked = [Buffer.from([0xef]), Buffer.from([0xbb]), Buffer.from([0xbf])];

  test.each([
    ['JSON', false, completion],
    ['an event stream', true, stream],
  ])('under an unknown content type is %s all the same', (_name, wantsStream, body) => {
    for (const pieces of [marked, [Buffer.concat(marked.slice(0, 2)), Buffer.concat(marked.slice(2))]]) {
      const { client } = play(
        ask({ stream: wantsStream }),
        answered({ 'content-type': 'text/plain' }, ...pieces, body),
      );
      expect(client.headers.get(':status')).toBe('200');
      expect(String(client.body)).toContain('completed');
    }
  });

  test('is a 502 if nothing else follows, or something else', () => {
    expect(statusOf(play(ask(), answered({}, Buffer.from([0xef, 0xbb]))))).toBe('502');
    expect(statusOf(play(ask(), answered({}, Buffer.from([0xef]), 'x', completion)))).toBe('502');
  });
});

describe('limits', () => {
  const bodyLimits = { maxRequestBytes: 500, maxResponseBytes: 500, maxErrorBytes: 100, maxSseEventBytes: 300 };

  test('a request of exactly the limit is accepted, and of one byte more refused, in one piece and in several', () => {
    const body = JSON.stringify({ model: 'test-model', input: 'Hi' }).padEnd(500);
    const played = (size: number, pieceSize: number, headers: Record<string, string> = {}) => {
      const pieces = [...inPiecesOf(pieceSize, Buffer.from(body.padEnd(size)))] as Buffer[];
      return statusOf(play({ ...ask({}, headers), pieces }, answered(json, completion), { bodyLimits }));
    };
    expect([played(500, 1000), played(500, 100), played(500, 1000, { 'content-length': '500' })]).toEqual(
      Array(3).fill('200'),
    );
    expect([played(501, 1000), played(501, 100), played(501, 1000, { 'content-length': '501' })]).toEqual(
      Array(3).fill('413'),
    );
  });

  test('an error that is cut within a character at its limit keeps its words', () => {
    const words = `${'x'.repeat(98)}é and more`;
    const played = play(ask(), answered({ ':status': '500', 'content-type': 'text/plain' }, words), { bodyLimits });
    expect(JSON.parse(String(played.client.body)).error.message).toMatch(/^x{98}/);
    const odd = play(ask(), answered({ ':status': '500', 'content-type': 'text/plain' }, `x${words}`), { bodyLimits });
    expect(JSON.parse(String(odd.client.body)).error.message).toBe('x'.repeat(99));
  });

  test('a request is refused by its announced size, or where none was, by what came', () => {
    const announced = play(ask({}, { 'content-length': '501' }), answered(json, completion), { bodyLimits });
    const came = play(ask({ input: 'x'.repeat(500) }), answered(json, completion), { bodyLimits });
    for (const played of [announced, came]) {
      expect(played.upstream).toBeNull();
      expect([statusOf(played), codeOf(played)]).toEqual(['413', 'request_too_large']);
    }
    expect(statusOf(play(ask({}, { 'content-length': '500' }), answered(json, completion), { bodyLimits }))).toBe(
      '200',
    );
  });

  test.each<[string, HttpMessage]>([
    ['JSON', answered(json, completion.replace('Hi', 'x'.repeat(500)))],
    ['events that are collected', answered(sse, chunk({ content: 'x'.repeat(100) }).repeat(6))],
  ])('an answer that is too large is a 502: %s', (_name, answer) => {
    const played = play(ask(), answer, { bodyLimits });
    expect([statusOf(played), codeOf(played)]).toEqual(['502', 'upstream_response_too_large']);
  });

  test('one event that is too large ends the stream with a failure', () => {
    const answer = answered(sse, chunk({ content: 'a' }), chunk({ content: 'x'.repeat(400) }), chunk({ content: 'b' }));
    const { client } = play(ask({ stream: true }), answer, { bodyLimits });
    expect(eventLines(String(client.body)).at(-2)).toMatch(/^failed upstream_response_too_large/);
  });

  test.each([
    ['as long as what is kept of it is within the limit', 150, 'completed'],
    ['and fails when it is over it', 501, 'failed upstream_response_too_large'],
  ])('a stream may be longer than the limit, %s', (_name, characters, last) => {
    const text = Array.from({ length: characters }, () => chunk({ content: 'x' }));
    const { client } = play(ask({ stream: true }), answered(sse, ...text, chunk({}, 'stop')), { bodyLimits });
    expect(eventLines(String(client.body)).at(-2)).toMatch(new RegExp(`^${last}`));
  });

  test('of a long error the beginning is read', () => {
    const error = `{"error":{"message":"${'x'.repeat(500)}"}}`;
    expect(statusOf(play(ask(), answered({ ...json, ':status': '400' }, error, error), { bodyLimits }))).toBe('400');
    const words = Array.from({ length: 40 }, (_, index) => `word ${index};`).join(' ');
    const headers = { ':status': '400', 'content-type': 'text/plain' };
    for (const size of [1, 7, 60, 100, 101, 1000]) {
      const pieces = [...inPiecesOf(size, Buffer.from(words))] as Buffer[];
      const { client } = play(ask(), answered(headers, ...pieces), { bodyLimits });
      expect(JSON.parse(String(client.body)).error.message, `in pieces of ${size}`).toBe(words.slice(0, 100));
    }
  });

  test.each(['-5', '-1e300', '1e9', 'many', '5, 5', ''])('a length that is none announces nothing: %j', (length) => {
    const kept: number[] = [];
    const hold: Hold = (bytes) => {
      kept.push(bytes);
      return null;
    };
    play(ask({}, { 'content-length': length }), answered(json, completion), { hold });
    expect(kept[0]).toBe(0);
  });

  test('an exchange is turned away when the process has no room, whichever side grows', () => {
    const full = new ApiError('full', { status: 503, type: 'server_error', code: 'server_overloaded' });
    const room = (most: number): { hold: Hold } => ({ hold: (bytes) => (bytes > most ? full : null) });
    const played = [
      play(ask({}, { 'content-length': '400' }), answered(json, completion), room(399)),
      play(ask(), answered(json, completion), room(10)),
      play(ask(), answered(json, completion.replace('Hi', 'x'.repeat(300))), room(200)),
    ];
    expect(played.map(statusOf)).toEqual(['503', '503', '503']);
    expect(played.map(({ upstream }) => upstream === null)).toEqual([true, true, false]);
  });

  test('a stream is ended when the process has no room for what it keeps', () => {
    const full = new ApiError('full', { status: 503, type: 'server_error', code: 'server_overloaded' });
    const hold: Hold = (bytes) => (bytes > 1500 ? full : null);
    const text = Array.from({ length: 20 }, () => chunk({ content: 'x'.repeat(100) }));
    const { client } = play(ask({ stream: true }), answered(sse, ...text, chunk({}, 'stop')), { hold });
    expect(eventLines(String(client.body)).at(-2)).toBe('failed server_overloaded');
    expect(String(client.body)).toContain('response.output_text.delta');
  });

  test('what is kept is given back', () => {
    const kept: number[] = [];
    play(ask(), answered(json, completion), {
      hold(bytes) {
        kept.push(bytes);
        return null;
      },
    });
    expect(Math.max(...kept)).toBeGreaterThan(20);
    expect(kept).toContain(0);
  });

  test('what the response repeats of its request stays counted', () => {
    const kept: number[] = [];
    const hold: Hold = (bytes, body) => {
      if (body === undefined) kept.push(bytes);
      return null;
    };
    play(ask({ instructions: 'x'.repeat(50_000) }), answered(json, completion), { hold });
    expect(Math.max(...kept)).toBeGreaterThan(50_000);
    expect(Math.max(...kept)).toBeLessThan(60_000);
    kept.length = 0;
    const small = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', instructions: 'x'.repeat(50_000) }));
    const compressed = { ...ask({}, { 'content-encoding': 'gzip' }), pieces: [gzipSync(small)] };
    play(compressed, answered(json, completion), { hold });
    expect(Math.max(...kept)).toBeGreaterThan(50_000);
  });
});

test('the definitions of tools that an answer may load stay counted', () => {
  const kept: number[] = [];
  const hold: Hold = (bytes, body) => {
    if (body === undefined) kept.push(bytes);
    return null;
  };
  const description = 'x'.repeat(30_000);
  const deferred = { type: 'function', name: 'f', description, defer_loading: true };
  for (const tools of [[{ type: 'tool_search' }, deferred], []])
    play(ask({ tools }), answered(json, completion), { hold });
  const [found = 0, none = 0] = kept.filter((bytes, index) => bytes > 0 || index === kept.length - 1);
  expect(found - none).toBeGreaterThan(50_000);
  expect(none).toBeLessThan(5_000);
});

describe('a request with conditions or a range', () => {
  test('reaches the upstream without them: a 304 or a part cannot be translated', () => {
    const headers = Object.fromEntries(
      ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range', 'range'].map((name) => [
        name,
        'x',
      ]),
    );
    const { upstream } = play(ask({}, headers), answered(json, completion));
    expect([...(upstream?.headers.keys() ?? [])].filter((name) => name in headers)).toEqual([]);
    expect(upstream?.headers.get(':path')).toBe('/v1/chat/completions');
  });

  test('OPTIONS with a body is refused, without one it passes', () => {
    const preflight = { ...ask(), headers: { ':method': 'OPTIONS', ':path': '/v1/responses' } };
    const refused = play(preflight, answered({}, ''));
    expect(refused.upstream).toBeNull();
    expect([statusOf(refused), codeOf(refused)]).toEqual(['400', 'unexpected_body']);
    const exchange = new Exchange(exchangeOptions());
    const event = { type: 'request_headers', headers: headersOf(preflight.headers), endOfStream: true } as const;
    expect(repliesOf(exchange, event)).toEqual([{ type: 'request_headers' }]);
  });

  test('a model that would leave its segment of the path is a 400', () => {
    const played = play(ask({ model: '..' }), answered(json, completion), {
      upstreamPath: '/deployments/{model}/chat/completions',
    });
    expect([statusOf(played), codeOf(played)]).toEqual(['400', 'invalid_value']);
    expect(played.upstream).toBeNull();
  });
});

describe('headers', () => {
  test('to the upstream are only what must change', () => {
    const headers = {
      'content-encoding': 'identity',
      'content-md5': 'x',
      expect: '100-continue',
      authorization: 'Bearer k',
      'x-a': 'b',
    };
    const { upstream } = play(
      ask({ stream: true }, { ...headers, 'accept-encoding': 'gzip, br' }),
      answered(sse, stream),
    );
    expect(Object.fromEntries(upstream?.headers ?? [])).toEqual({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      'x-request-id': 'req-1',
      authorization: 'Bearer k',
      'x-a': 'b',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': String(upstream?.body.length),
    });
  });

  test('name what was left out of the request', () => {
    const fields = { tools: [{ type: 'web_search' }] };
    const { client, exchange } = play(ask(fields), answered(json, completion));
    expect(client.headers.get('x-responses-dropped')).toBe('tools[0].web_search');
    expect(exchange.summary().dropped).toEqual(['tools[0].web_search']);
  });

  test('keep the upstream’s request id, else repeat the client’s', () => {
    expect(play(ask(), answered(json, completion)).client.headers.get('x-request-id')).toBe('req-1');
    const own = answered({ ...json, 'x-request-id': 'up-1' }, completion);
    expect(play(ask(), own).client.headers.get('x-request-id')).toBe('up-1');
  });

  test.each([
    ['an answer', ask(), answered(json, completion)],
    ['an error of the upstream', ask(), answered({ ':status': '500' }, 'no')],
    ['an answer that is not read', ask(), answered({ ...json, 'content-encoding': 'rot13' }, completion)],
    ['a refused request', ask({ input: 1 }), answered(json, completion)],
    ['an answer without an upstream', ask({ generate: false }), answered(json, completion)],
  ])('have no request id where nobody has sent one: %s', (_name, { headers, pieces }, answer) => {
    const { 'x-request-id': _id, ...others } = headers;
    const { client } = play({ headers: others, pieces }, answer);
    expect(client.headers.get('content-type')).toBe('application/json');
    expect(client.headers.has('x-request-id')).toBe(false);
  });

  test('of an error survive where the whole answer is replaced', () => {
    const modes: BodyModes = { request: 'BUFFERED', response: 'BUFFERED_PARTIAL' };
    const headers = {
      ...json,
      ':status': '429',
      'retry-after': '3',
      'x-ratelimit-limit-requests': '1',
      'set-cookie': 'a',
    };
    const { client } = play(ask(), answered(headers, '{"error":{"message":"slow"}}'), { modes });
    expect(client.headers.get('retry-after')).toBe('3');
    expect(client.headers.get('x-ratelimit-limit-requests')).toBe('1');
    expect(client.headers.has('set-cookie')).toBe(false);
  });
});

test('an exchange that passes is open until an answer comes', () => {
  const exchange = new Exchange(exchangeOptions());
  const headers = headersOf({ ':method': 'GET', ':path': '/v1/files' });
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: true });
  expect(exchange.summary()).toMatchObject({ outcome: 'open', status: null });
  repliesOf(exchange, { type: 'response_headers', headers: headersOf({ ':status': '204' }), endOfStream: true });
  expect(exchange.summary()).toMatchObject({ outcome: 'passed', status: 204, upstreamStatus: 204 });
});

describe('the summary', () => {
  test.each([
    [
      { ':authority': 'api.test', ':path': '/v1/responses?secret=1', 'x-request-id': 'r' },
      { requestId: 'r', method: 'POST', path: '/v1/responses', authority: 'api.test' },
    ],
    [{}, { requestId: 'req-1', method: 'POST', path: '/v1/responses', authority: null }],
  ])('says what the client asked, in whatever state the request is: %j', (headers, expected) => {
    expect(play(ask({}, headers), answered(json, completion)).exchange.summary()).toMatchObject(expected);
    expect(play(ask({ model: 5 }, headers), answered(json, completion)).exchange.summary()).toMatchObject(expected);
  });

  const ended = (reason: string) => completion.replace('stop', reason);
  test.each([
    ['stop', 'completed', null],
    ['length', 'incomplete', null],
    ['abort', 'failed', 'request_cancelled'],
  ])('says how the answer ended, in JSON as in a stream: %s', (reason, outcome, errorCode) => {
    const streamed = `${chunk({ content: 'Hi' })}${chunk({}, reason)}data: [DONE]\n\n`;
    const plays = [
      play(ask(), answered(json, ended(reason))),
      play(ask({ stream: true }), answered(json, ended(reason))),
      play(ask({ stream: true }), answered(sse, streamed)),
    ];
    for (const { exchange } of plays)
      expect(exchange.summary()).toMatchObject({ outcome, errorCode, finishReason: reason });
  });
});

describe('local replies of the proxy', () => {
  test.each([
    ['503', 'upstream connect error or disconnect/reset before headers. reset reason: connection timeout', 503],
    ['503', 'no healthy upstream', 503],
    ['504', 'upstream request timeout', 504],
  ])('%s %s becomes the error of the API', (status, text, expected) => {
    const played = play(ask({ stream: true }), answered({ ':status': status, 'content-type': 'text/plain' }, text));
    expect(statusOf(played)).toBe(String(expected));
    expect(JSON.parse(String(played.client.body)).error.type).toBe('server_error');
  });
});

describe('an answer that comes before the request was complete', () => {
  const modes: BodyModes[] = [
    { request: 'BUFFERED', response: 'BUFFERED' },
    { request: 'STREAMED', response: 'STREAMED' },
    { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' },
  ];
  test.each(modes)('is an error whatever it says ($request)', (mode) => {
    const begun = () => {
      const exchange = new Exchange(exchangeOptions({ modes: mode }));
      repliesOf(exchange, { type: 'request_headers', headers: headersOf(ask().headers), endOfStream: false });
      return exchange;
    };
    const tooLarge = answered({ ':status': '413', 'content-type': 'text/plain' }, 'Payload Too Large');
    const local = carry('response', tooLarge, mode.response, begun());
    expect(local.headers.get(':status')).toBe('413');
    expect(JSON.parse(String(local.body)).error.code).toBe('request_too_large');
    const early = carry('response', answered(json, completion), mode.response, begun());
    // In `STREAMED` the headers have been sent.
    expect(early.headers.get(':status')).toBe(mode.response === 'STREAMED' ? '200' : '502');
    expect(JSON.parse(String(early.body)).error).toMatchObject({
      code: 'invalid_upstream_response',
      message: 'The upstream responded before it received the request.',
    });
    const redirect = carry('response', answered({ ...json, ':status': '300' }, '{}'), mode.response, begun());
    expect(JSON.parse(String(redirect.body)).error.code).toBe('upstream_redirect');
  });
});

test('the client gets the same, however the upstream’s bytes are cut', () => {
  const answers: [HttpMessage, boolean][] = [
    [answered(sse, stream), true],
    [answered(sse, stream), false],
    [answered({}, `\n${stream}`), true],
    [answered(json, completion), true],
    [answered(sse, `${chunk({ role: 'assistant' })}data: {"error":{"message":"no"}}\n\n`), true],
    [answered(sse, 'data: {"error":{"message":"no"}}\n\n'), true],
    [answered(sse, 'data: nonsense\n\n'.repeat(5)), true],
    [answered({ ...json, ':status': '400' }, '{"error":{"message":"no"}}'), true],
  ];
  const modes = fc.constantFrom<BodyModes['response']>('BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED');
  // When a comment is passed on depends on what came with it.
  const shown = ({ client }: ReturnType<typeof play>) => [
    Object.fromEntries(client.headers),
    String(client.body).replaceAll(': keepalive\n\n', ''),
  ];
  fc.assert(
    fc.property(fc.constantFrom(...answers), modes, fc.array(fc.nat(400)), ([answer, streamed], response, cuts) => {
      const options = () => exchangeOptions({ modes: { request: 'BUFFERED', response } });
      const whole = Buffer.concat(answer.pieces);
      const places = [0, ...cuts.filter((at) => at < whole.length).sort((a, b) => a - b), whole.length];
      const pieces = places.slice(1).map((at, index) => whole.subarray(places[index], at));
      const request = ask({ stream: streamed });
      expect(shown(play(request, { ...answer, pieces }, options()))).toEqual(shown(play(request, answer, options())));
    }),
    { numRuns: runs(400) },
  );
});

test('the upstream gets the same, however the client’s bytes are cut', () => {
  const { headers, pieces } = ask({ input: 'Grüß 🎉', instructions: 'be brief' });
  const whole = Buffer.concat(pieces);
  const modes = fc.constantFrom<BodyModes['request']>('BUFFERED', 'STREAMED', 'FULL_DUPLEX_STREAMED');
  fc.assert(
    fc.property(modes, fc.array(fc.nat(whole.length)), (request, cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), whole.length];
      const cut = places.slice(1).map((at, index) => whole.subarray(places[index], at));
      const options = { modes: { request, response: 'BUFFERED' } } as const;
      const { upstream } = play({ headers, pieces: cut }, answered(json, completion), options);
      expect(String(upstream?.body)).toBe(
        '{"model":"test-model","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"Grüß 🎉"}]}',
      );
    }),
    { numRuns: 200 },
  );
});
