import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import { buildExchangeRow } from '../../../../src/tools/inspect/exchange-json.ts';
import { createExchangeStore } from '../../../../src/tools/inspect/exchange-store.ts';
import { createRecorder } from '../../../../src/tools/inspect/record-exchanges.ts';
import { maxBodyBytes, probeAgent } from '../../../../src/tools/inspect/recording.ts';
import { exchangeOptions, repliesOf } from '../../../support/exchange-options.ts';
import { detailOf, requestHead } from '../../../support/recorded-exchange.ts';

const MiB = 1024 * 1024;

function recordedAfter(agent: string | null) {
  const store = createExchangeStore();
  const { createExchange, observer } = createRecorder(store);
  const exchange = createExchange(exchangeOptions());
  if (agent !== null) {
    const headers = new Map([
      [':method', 'POST'],
      [':path', '/v1/responses'],
      ['user-agent', agent],
    ]);
    repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
    const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Are you there?' }));
    repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  }
  const times = { duration: 1, firstByte: null, firstToken: null, work: { request: 0, response: 0 } };
  observer({ exchange, metadata: {}, how: 'aborted', summary: exchange.summary(), times, cause: null });
  return [...store.list()].map(buildExchangeRow);
}

it('has the heads as Envoy sends them on: it removes headers, then overwrites or adds some', () => {
  const store = createExchangeStore();
  const exchange = createRecorder(store).createExchange(exchangeOptions());
  const headers = new Map([
    [':method', 'POST'],
    [':path', '/v1/responses'],
    ['accept-encoding', 'gzip'],
    ['authorization', 'Bearer sk-1234567890'],
    ['content-length', '99'],
    ['x-own', 'a'],
  ]);
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi' }));
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  const [detail] = [...store.list()].map(detailOf);
  const { client_request: client, chat_request: chat } = detail?.file ?? {};
  const named = (request: typeof client | typeof chat) =>
    Object.fromEntries((request?.headers ?? []).map(({ name, value }) => [name, value]));
  expect(named(client)).toEqual({
    'accept-encoding': 'gzip',
    authorization: '[redacted]',
    'content-length': '99',
    'x-own': 'a',
  });
  expect(chat).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
  expect(named(chat)).toMatchObject({ accept: 'application/json', authorization: '[redacted]', 'x-own': 'a' });
  expect(named(chat)).not.toMatchObject({ 'content-length': '99' });
});

it('keeps 8 MiB of a request, also of one that is longer when its compression is undone', () => {
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(10 * MiB) }));
  for (const [pieces, coding] of [
    [[body.subarray(0, 5 * MiB), body.subarray(5 * MiB)], ''],
    [[gzipSync(body)], 'gzip'],
  ] as const) {
    const store = createExchangeStore();
    const bodyLimits = { ...exchangeOptions().bodyLimits, maxRequestBytes: 16 * MiB };
    const modes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' } as const;
    const exchange = createRecorder(store).createExchange(exchangeOptions({ bodyLimits, modes }));
    const headers = new Map([...requestHead, ...(coding === '' ? [] : [['content-encoding', coding] as const])]);
    repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
    for (const body of pieces) repliesOf(exchange, { type: 'request_body', body, endOfStream: body === pieces.at(-1) });
    const [kept] = [...store.list()];
    const bytes = kept?.joinBytes('client_request').length ?? 0;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(maxBodyBytes);
    if (coding === '') expect(bytes + (kept?.omitted.client_request ?? 0)).toBe(body.length);
    else expect(kept?.omitted.client_request).toBe(0);
  }
});

it('counts what it keeps of a message on a WebSocket as any body: the beginning of a long one', () => {
  const store = createExchangeStore();
  const message = Buffer.from(JSON.stringify({ type: 'response.create', input: 'x'.repeat(10 * MiB) }));
  const { createExchange } = createRecorder(store, (id) => (id === 'long-turn-1' ? message : null));
  const headers = new Map([...requestHead, ['x-request-id', 'long-turn-1']]);
  repliesOf(createExchange(exchangeOptions()), { type: 'request_headers', headers, endOfStream: false });
  const [kept] = store.list();
  const bytes = kept?.joinBytes('websocket_message').length ?? 0;
  expect(bytes).toBeGreaterThan(maxBodyBytes / 2);
  expect(bytes).toBeLessThanOrEqual(maxBodyBytes);
  expect(bytes + (kept?.omitted.websocket_message ?? 0)).toBe(message.length);
  expect(store.heldBytes).toBeGreaterThan(bytes);
});

it('a client’s request is listed', () => {
  expect(recordedAfter('a-client')).toMatchObject([{ client: 'a-client', outcome: 'aborted', endpoint: 'responses' }]);
});

it('the probe of `npm start` is no request of anybody’s: it is not listed', () => {
  expect(recordedAfter(probeAgent)).toEqual([]);
});

it('a row’s first event is never later than its end, whose call has a clock of its own that starts later', () => {
  const store = createExchangeStore();
  const { createExchange, observer } = createRecorder(store);
  const exchange = createExchange(exchangeOptions());
  repliesOf(exchange, { type: 'request_headers', headers: new Map(requestHead), endOfStream: false });
  repliesOf(exchange, {
    type: 'request_body',
    body: Buffer.from('{"model":"m","background":true}'),
    endOfStream: true,
  });
  const times = { duration: 0.002, firstByte: 0.001, firstToken: 0.001, work: { request: 0, response: 0 } };
  observer({ exchange, metadata: {}, how: 'done', summary: exchange.summary(), times, cause: null });
  const [kept] = [...store.list()];
  expect(kept?.facts.cause).toBeNull();
  const row = kept && buildExchangeRow(kept);
  expect(row?.first_event_ms).toBeGreaterThan(0);
  expect(row?.duration_ms).toBeGreaterThanOrEqual(row?.first_event_ms ?? Infinity);
});

it('a call that ends before its headers came is listed', () => {
  expect(recordedAfter(null)).toMatchObject([{ client: null, outcome: 'aborted', endpoint: null }]);
});

it('has a row for what a WebSocket is refused before it becomes an exchange, with the message as it came', () => {
  const store = createExchangeStore();
  const { refused } = createRecorder(store);
  const error = { type: 'invalid_request', code: 'unsupported_value', param: 'background', message: 'No.' };
  const message = '{"type":"response.create","model":"m","background":true,"input":"Hi"}';
  const userAgent = 'codex_cli_rs/1.0';
  refused({ id: 'conversation-7', turn: 3, userAgent, status: 400, error }, Buffer.from(message));
  refused(
    { id: null, turn: null, userAgent: null, status: 403, error: { ...error, code: 'origin_not_allowed' } },
    null,
  );
  refused({ id: 'conversation-7', turn: null, userAgent, status: 400, error }, Buffer.from('not a turn'));
  const [ofMessage, ofHandshake] = [...store.list()];
  if (ofMessage === undefined || ofHandshake === undefined) throw new Error('there are two');
  expect([ofMessage, ofHandshake].map(buildExchangeRow)).toMatchObject([
    { request_id: 'conversation-7-turn-3', outcome: 'refused', status: 400, error_code: 'unsupported_value' },
    { request_id: null, outcome: 'refused', status: 403, error_code: 'origin_not_allowed' },
  ]);
  // As the turn that it is: `explain` says of it what was said, and a command for it sends the same.
  expect(buildExchangeRow(ofMessage)).toMatchObject({
    method: 'POST',
    endpoint: 'responses',
    model: 'm',
    client: userAgent,
  });
  expect(String(ofMessage.joinBytes('websocket_message'))).toBe(message);
  expect(JSON.parse(String(ofMessage.joinBytes('client_request')))).toEqual({
    model: 'm',
    background: true,
    input: 'Hi',
  });
  expect(buildExchangeRow(ofHandshake)).toMatchObject({ method: 'GET', client: null, model: null });
  expect(String([...store.list()][2]?.joinBytes('client_request'))).toBe('not a turn');
  expect(JSON.parse(String(ofMessage.joinBytes('client_response')))).toEqual({ error });
});

it('of a refused message that no parser would take whole, shows the bytes', () => {
  const store = createExchangeStore();
  const { refused } = createRecorder(store);
  const error = { type: 'invalid_request', code: 'unsupported_value', param: 'background', message: 'No.' };
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const message = `{"type":"response.create","model":"m","big":12345678901234567890,"input":${deep}}`;
  refused({ id: 'a', turn: 1, userAgent: null, status: 400, error }, Buffer.from(message));
  const [row] = store.list();
  expect(String(row?.joinBytes('client_request'))).toBe(`{"model":"m","big":12345678901234567890,"input":${deep}}`);
  expect(row?.facts.model).toBe('m');
});

/** Each thing that a record does to the store, and to what it opened there. */
const hooksOfStore = ['open', 'setHead', 'addPiece', 'omit', 'setFacts', 'hold'] as const;

it.each([...hooksOfStore, 'messageOf'])('an exchange goes on as without a recorder when %s throws', (hook) => {
  const throws = (): never => {
    throw new Error('a defect of the recorder');
  };
  const store = createExchangeStore();
  const failing = {
    ...store,
    list: store.list,
    open: (at: number) => (hook === 'open' ? throws() : Object.assign(store.open(at), { [hook]: throws })),
  };
  const failures: unknown[] = [];
  const messageOf = hook === 'messageOf' ? throws : () => Buffer.from('{}');
  const recorder = createRecorder(failing as typeof store, messageOf, (thrown) => failures.push(thrown));
  const run = (exchange: Exchange) => {
    const streamed = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`;
    const replies = [
      repliesOf(exchange, { type: 'request_headers', headers: new Map(requestHead), endOfStream: false }),
      repliesOf(exchange, {
        type: 'request_body',
        body: Buffer.from('{"model":"m","input":"Hi","stream":true}'),
        endOfStream: true,
      }),
      repliesOf(exchange, {
        type: 'response_headers',
        headers: new Map([
          [':status', '200'],
          ['content-type', 'text/event-stream'],
        ]),
        endOfStream: false,
      }),
      repliesOf(exchange, { type: 'response_body', body: Buffer.from(streamed + streamed), endOfStream: false }),
      repliesOf(exchange, { type: 'response_body', body: Buffer.from('data: [DONE]\n\n'), endOfStream: true }),
    ];
    return JSON.stringify(replies);
  };
  expect(run(recorder.createExchange(exchangeOptions()))).toBe(run(new Exchange(exchangeOptions())));
  expect(failures).not.toEqual([]);
});
