import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../../../src/filter/exchange/options.ts';
import type { BodyMode, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';

const list = '{ "object": "list", "data": [{"id": "m", "max_model_len": 4096}] }';
const json = {
  ':status': '200',
  'content-type': 'application/json',
  'content-length': String(list.length),
  etag: '"1"',
};

interface Answered {
  readonly headers?: Readonly<Record<string, string>>;
  readonly pieces?: readonly string[];
  readonly path?: string;
  readonly mode?: BodyMode;
  readonly options?: Partial<ExchangeOptions>;
}

function run({ headers = json, pieces = [list], path, mode = 'FULL_DUPLEX_STREAMED', options = {} }: Answered = {}) {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response: mode }, ...options }));
  const asked = headersOf({
    ':method': 'GET',
    ':path': path ?? '/v1/models?client_version=0.169.0',
    'if-none-match': '"1"',
  });
  const upstream = repliesOf(exchange, { type: 'request_headers', headers: asked, endOfStream: true });
  const client = repliesOf(exchange, { type: 'response_headers', headers: headersOf(headers), endOfStream: false });
  for (const [index, piece] of pieces.entries()) {
    const endOfStream = index === pieces.length - 1;
    client.push(...exchange.handle({ type: 'response_body', body: Buffer.from(piece), endOfStream }));
  }
  return { exchange, upstream, client };
}

function textOf(replies: readonly ExchangeReply[]): string {
  return Buffer.concat(replies.flatMap((reply) => ('body' in reply && reply.body ? [reply.body] : []))).toString();
}

/** Changes to the response's headers, wherever a mode carries them. */
function headersIn(replies: readonly ExchangeReply[]) {
  return replies.flatMap((reply) => ('headers' in reply && reply.type.startsWith('response') ? [reply.headers] : []));
}

test('the upstream is asked for the whole list, not compressed', () => {
  expect(run().upstream).toEqual([
    { type: 'request_headers', headers: { set: { 'accept-encoding': 'identity' }, remove: ['if-none-match'] } },
  ]);
});

test('each message is answered in BUFFERED, the headers by a reply that changes nothing', () => {
  expect(run({ mode: 'BUFFERED' }).client.map(({ type }) => type)).toEqual(['response_headers', 'response_body']);
  expect(run({ mode: 'BUFFERED' }).client[0]).toEqual({ type: 'response_headers' });
});

describe.each(['FULL_DUPLEX_STREAMED', 'BUFFERED'] as const)('in %s', (mode) => {
  test('the client gets the list with the catalog', () => {
    const { client, exchange } = run({ mode });
    expect(JSON.parse(textOf(client))).toMatchObject({
      object: 'list',
      data: [{ id: 'm', max_model_len: 4096 }],
      models: [{ slug: 'm', context_window: 4096, base_instructions: 'Work.' }],
    });
    expect(headersIn(client)[0]).toMatchObject({ remove: expect.arrayContaining(['etag']) });
    expect(exchange.summary()).toMatchObject({ outcome: 'passed', method: 'GET', path: '/v1/models', dropped: [] });
    expect(exchange.hasToken()).toBe(false);
  });

  test.each([
    ['is not a list', json, '{"models": []}'],
    ['is not JSON', json, '{ "data": ['],
    ['is a catalog already', json, '{"data": [], "models": [{"slug": "m"}]}'],
    ['is an error', { ...json, ':status': '401' }, '{"error": {"message": "no"}}'],
    ['is another kind of text', { ...json, 'content-type': 'text/html' }, '<p>'],
    ['is compressed all the same', { ...json, 'content-encoding': 'gzip' }, list],
  ])('what %s passes byte for byte, with its headers', (_what, headers, body) => {
    const { client, exchange } = run({ mode, headers, pieces: [body] });
    const passed = textOf(client);
    expect(passed === '' ? body : passed).toBe(body); // a reply without a body lets Envoy's own bytes pass
    for (const changes of headersIn(client)) expect(changes).toEqual({});
    expect(exchange.summary()).toMatchObject({ outcome: 'passed' });
  });
});

test('a list in pieces is read whole before its headers leave', () => {
  const whole = textOf(run().client);
  for (let cut = 1; cut < list.length; cut++)
    expect(textOf(run({ pieces: [list.slice(0, cut), list.slice(cut)] }).client)).toBe(whole);
});

test('a long list is completed, a piece at a time as the proxy takes it', () => {
  const { exchange } = run({ pieces: [] });
  const body = Buffer.from(JSON.stringify({ data: [{ id: 'x'.repeat(300_000) }] }));
  const replies = exchange.handle({ type: 'response_body', body, endOfStream: true });
  expect(Array.isArray(replies)).toBe(false);
  expect(JSON.parse(textOf([...replies])).models).toMatchObject([{ slug: 'x'.repeat(300_000) }]);
});

test('a list larger than the limit passes as it came', () => {
  const large = JSON.stringify({ data: [{ id: 'x'.repeat(2000) }] });
  const bodyLimits = { ...exchangeOptions().bodyLimits, maxResponseBytes: 1024 };
  const pieces = [large.slice(0, 900), large.slice(900, 1800), large.slice(1800)];
  const { client } = run({ pieces, options: { bodyLimits } });
  expect(textOf(client)).toBe(large);
  expect(client.at(-1)).toMatchObject({ type: 'response_body', endOfStream: true });
});

test('a list larger than the limit is not ended while the upstream is silent in the middle of it: half would look whole', () => {
  const large = JSON.stringify({ data: [{ id: 'x'.repeat(2000) }] });
  const bodyLimits = { ...exchangeOptions().bodyLimits, maxResponseBytes: 1024 };
  const overloaded = new ApiError('Too much.', { status: 503, type: 'server_error', code: 'server_overloaded' });
  const exchange = new Exchange(exchangeOptions({ bodyLimits, stallTimeoutMs: 1000 }));
  const asked = headersOf({ ':method': 'GET', ':path': '/v1/models?client_version=0.169.0' });
  repliesOf(exchange, { type: 'request_headers', headers: asked, endOfStream: true });
  repliesOf(exchange, { type: 'response_headers', headers: headersOf(json), endOfStream: false });
  const send = (body: string, endOfStream: boolean) =>
    repliesOf(exchange, { type: 'response_body', body: Buffer.from(body), endOfStream });

  const first = send(large.slice(0, 1100), false);
  for (const at of [0, 1000, 2000, 900_000]) expect(exchange.tick(at)).toEqual([]);
  expect(exchange.shed(overloaded)).toBeNull();
  const last = send(large.slice(1100), true);
  expect(textOf([...first, ...last])).toBe(large);
  expect(last.at(-1)).toMatchObject({ endOfStream: true });
  const bytes = { responseIn: large.length, responseOut: large.length };
  expect(exchange.summary()).toMatchObject({ outcome: 'passed', status: 200, bytes });
});

test.each([
  [128, true],
  [129, false],
])('a list of %i levels is completed: %j', (levels, isCompleted) => {
  const nested = `${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`;
  const { client } = run({ pieces: [`{"data":[{"id":"m"}],"x":${nested}}`] });
  const passed = textOf(client);
  expect('models' in JSON.parse(passed)).toBe(isCompleted);
});

test('a list of exactly the limit is completed, one byte more is not', () => {
  const completedWithin = (maxResponseBytes: number) =>
    textOf(run({ options: { bodyLimits: { ...exchangeOptions().bodyLimits, maxResponseBytes } } }).client) !== list;
  expect([completedWithin(list.length), completedWithin(list.length - 1)]).toEqual([true, false]);
});

test('an answer that is over before its body came, with trailers, is an error where nothing can follow them', () => {
  const exchange = new Exchange(exchangeOptions({ modes: { request: 'BUFFERED', response: 'BUFFERED' } }));
  const asked = headersOf({ ':method': 'GET', ':path': '/v1/models?client_version=0.169.0' });
  repliesOf(exchange, { type: 'request_headers', headers: asked, endOfStream: true });
  repliesOf(exchange, { type: 'response_headers', headers: headersOf(json), endOfStream: false });
  const [reply] = repliesOf(exchange, { type: 'response_trailers' });
  expect(reply).toMatchObject({ type: 'immediate_response', status: 502 });
  expect(textOf([reply as ExchangeReply])).toContain('The upstream’s response is empty.');
  expect(exchange.summary()).toMatchObject({ errorCode: 'invalid_upstream_response' });
});

test('where headers cannot wait for the body, the list passes', () => {
  const { client } = run({ mode: 'STREAMED' });
  expect(client).toEqual([{ type: 'response_headers' }, expect.objectContaining({ type: 'response_body' })]);
  expect(headersIn(client)).toEqual([]);
});

test('without the query nothing is changed, in either direction', () => {
  const { upstream, client } = run({ path: '/v1/models' });
  expect(upstream).toEqual([{ type: 'request_headers' }]);
  expect(textOf(client)).toBe(list);
  expect(headersIn(client)).toEqual([]);
});

test('a list that takes more memory than there is becomes an error', () => {
  const overloaded = new ApiError('Too much.', { status: 503, type: 'server_error', code: 'server_overloaded' });
  const { client, exchange } = run({ options: { hold: (bytes) => (bytes > 10 ? overloaded : null) } });
  expect(headersIn(client)[0]).toMatchObject({ set: { ':status': '503' } });
  expect(exchange.summary()).toMatchObject({ outcome: 'upstream_error', errorCode: 'server_overloaded' });
});

test.each([100_000, 5_000, 129])('a list nested %d deep passes as it came', (depth) => {
  const deep = `{"data":[{"id":"m"}],"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const { client, exchange } = run({ pieces: [deep] });
  expect(textOf(client)).toBe(deep);
  expect(exchange.summary().outcome).toBe('passed');
});
