import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readFrozen } from '../../scripts/generate/public-names.ts';
import type { ExchangeEvent } from '../../src/filter/exchange/types.ts';
import { createExchangeLog } from '../../src/service/telemetry/exchange-log.ts';
import { createLog } from '../../src/service/telemetry/log.ts';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { unpromised } from '../support/promised-types.ts';
import { type RunningService, startService, until } from '../support/service.ts';

let running: RunningService;
afterEach(() => running.stop());

const secret = 'hunter2-do-not-log';
let lines: string[] = [];

async function logged(events: readonly ExchangeEvent[], metadata = {}): Promise<Record<string, unknown>> {
  lines = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog('trace', destination);
  running = await startService({}, { observers: [createExchangeLog(log, destination)] });
  const call = running.client.open(defaultModes, metadata);
  for (const event of events) call.send(event);
  call.halfClose(); // ends the call when all that was sent has been read
  await until(() => lines.length > 0);
  expect(lines).toHaveLength(1);
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  expect(unpromised('log', line)).toEqual([]);
  return line;
}

const requestHeaders: ExchangeEvent = {
  type: 'request_headers',
  headers: headersOf({
    ':method': 'POST',
    ':path': `/v1/responses?key=${secret}`,
    authorization: `Bearer ${secret}`,
    cookie: `session=${secret}`,
    'api-key': secret,
    'x-request-id': 'req-7',
  }),
  endOfStream: false,
};

function body(fields: object): ExchangeEvent {
  return { type: 'request_body', body: Buffer.from(JSON.stringify({ model: 'm', ...fields })), endOfStream: true };
}

function answer(status: string, text: string): ExchangeEvent[] {
  const headers = headersOf({ ':status': status, 'content-type': 'application/json', 'set-cookie': secret });
  return [
    { type: 'response_headers', headers, endOfStream: false },
    { type: 'response_body', body: Buffer.from(text), endOfStream: true },
  ];
}

const completion = `{"model":"big","choices":[{"message":{"content":"${secret}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`;

test('a line has the fields of the example in docs/watching.md, and no others', async () => {
  const line = await logged([requestHeaders, body({ input: 'Hi' }), ...answer('200', completion)]);
  const page = readFileSync(join(import.meta.dirname, '../../docs/watching.md'), 'utf8');
  const example = JSON.parse(/^\{"level".*"msg":"exchange"\}$/m.exec(page)?.[0] ?? '{}') as object;
  expect(Object.keys(line).toSorted()).toEqual(Object.keys(example).toSorted());
  expect(Object.keys(line).toSorted()).toEqual(Object.keys(readFrozen()['log'] ?? {}));
});

test('one line tells what a good exchange was', async () => {
  const line = await logged([requestHeaders, body({ input: secret, user: secret }), ...answer('200', completion)]);
  expect(line).toMatchObject({
    level: 'info',
    msg: 'exchange',
    request_id: 'req-7',
    outcome: 'completed',
    status: 200,
    upstream_status: 200,
    method: 'POST',
    path: '/v1/responses',
    profile: 'generic',
    model: 'm',
    upstream_model: 'big',
    stream: false,
    modes: 'BUFFERED/FULL_DUPLEX_STREAMED',
    input_tokens: 3,
    output_tokens: 4,
  });
  expect(line['duration_ms']).toBeTypeOf('number');
  expect(line['first_byte_ms']).toBeTypeOf('number');
  expect(lines.join('')).not.toContain(secret);
});

test.each<[string, readonly ExchangeEvent[], object]>([
  ['a refusal', [requestHeaders, body({ input: [{ type: secret }] })], { outcome: 'refused', status: 400 }],
  [
    'no JSON',
    [requestHeaders, { type: 'request_body', body: Buffer.from(`{${secret}`), endOfStream: true }],
    { code: 'invalid_json' },
  ],
  [
    'an upstream error',
    [
      requestHeaders,
      body({ input: 'Hi' }),
      ...answer('401', `{"error":{"message":"bad key ${secret}","code":"${'invalid_api_key'}"}}`),
    ],
    { outcome: 'upstream_error', status: 401, code: 'invalid_api_key' },
  ],
  [
    'an answer that is not JSON',
    [requestHeaders, body({ input: 'Hi' }), ...answer('200', `{"a": ${secret}}`)],
    { outcome: 'upstream_error', status: 502, code: 'invalid_upstream_response', cause: 'SyntaxError' },
  ],
])('a secret is in no line: %s', async (_name, events, expected) => {
  expect(await logged(events)).toMatchObject(expected);
  expect(lines.join('')).not.toContain(secret);
});

test('what only passed is said at the level debug, a broken protocol as a warning', async () => {
  const get: ExchangeEvent = {
    ...requestHeaders,
    headers: headersOf({ ':path': '/v1/models' }),
    endOfStream: true,
  } as ExchangeEvent;
  const ended: ExchangeEvent = {
    type: 'response_headers',
    headers: headersOf({ ':status': '200' }),
    endOfStream: true,
  };
  expect(await logged([get, ended])).toMatchObject({ level: 'debug', outcome: 'passed' });
  await running.stop();
  expect(await logged([requestHeaders, requestHeaders])).toMatchObject({ level: 'warn', outcome: 'protocol_error' });
});

test('a refused request has its model and stream in the line, when its body could be read', async () => {
  expect(await logged([requestHeaders, body({ input: 'Hi', stream: true, store: true })])).toMatchObject({
    outcome: 'refused',
    code: 'unsupported_value',
    model: 'm',
    stream: true,
  });
  await running.stop();
  expect(
    await logged([requestHeaders, { type: 'request_body', body: Buffer.from('{'), endOfStream: true }]),
  ).toMatchObject({ outcome: 'refused', model: null, stream: null });
});

test('names that others chose do not fill the log', async () => {
  const long = 'm'.repeat(100_000);
  const odd = JSON.stringify({ choices: [{ message: { content: 'Hi' }, finish_reason: long }] });
  const line = await logged([requestHeaders, body({ input: 'Hi', model: 'm'.repeat(512) }), ...answer('200', odd)]);
  expect(String(line['model'])).toHaveLength(201);
  expect(String(line['finish_reason'])).toHaveLength(201);
});

test('what was left out of a request is named, as in x-responses-dropped', async () => {
  const tools = Array.from({ length: 30 }, () => ({ type: 'web_search' }));
  const line = await logged([
    requestHeaders,
    body({ input: 'Hi', tools: tools.slice(0, 2) }),
    ...answer('200', completion),
  ]);
  expect(line['dropped']).toEqual(['tools[0].web_search', 'tools[1].web_search']);
  await running.stop();
  const long = await logged([requestHeaders, body({ input: 'Hi', tools }), ...answer('200', completion)]);
  expect(long['dropped']).toHaveLength(20);
});

test('a call that was left in the middle is aborted', async () => {
  const [begun] = answer('200', '') as [ExchangeEvent];
  const line = await logged([requestHeaders, body({ input: 'Hi', stream: true }), begun]);
  expect(line).toMatchObject({ level: 'info', outcome: 'aborted', model: 'm' });
});

test.each([
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  [secret, 'other'],
  ['', 'rate_limit_exceeded'],
])('an upstream’s error code %j is logged as %j', async (code, shown) => {
  const line = await logged([
    requestHeaders,
    body({ input: 'Hi' }),
    ...answer('429', JSON.stringify({ error: { code } })),
  ]);
  expect(line).toMatchObject({ outcome: 'upstream_error', code: shown });
  expect(lines.join()).not.toContain(secret);
});

test('the code of a refusal is ours and logged as it is', async () => {
  const line = await logged([requestHeaders, body({ input: 'Hi', previous_response_id: secret })]);
  expect(line).toMatchObject({ outcome: 'refused', code: 'previous_response_not_found' });
});
