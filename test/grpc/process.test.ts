import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { Exchange } from '../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../src/filter/exchange/options.ts';
import type { BodyModes, ExchangeEvent, Replies } from '../../src/filter/exchange/types.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { type ExtProcCall, messageOf } from '../support/extproc-client.ts';
import type { ProcessingResponse__Output as ProcessingResponse } from '../support/generated/envoy/service/ext_proc/v3/ProcessingResponse.ts';
import { type RunningService, startService, until } from '../support/service.ts';
import { eventLines } from '../support/stream-lines.ts';

let running: RunningService;
afterEach(() => running.stop());

const requestHeaders = (more: Record<string, string> = {}): ExchangeEvent => ({
  type: 'request_headers',
  headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json', ...more }),
  endOfStream: false,
});
const requestBody = (fields: object = {}): ExchangeEvent => ({
  type: 'request_body',
  body: Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...fields })),
  endOfStream: true,
});
const sseHeaders: ExchangeEvent = {
  type: 'response_headers',
  headers: headersOf({ ':status': '200', 'content-type': 'text/event-stream' }),
  endOfStream: false,
};
const sse = (text: string, endOfStream = false): ExchangeEvent => ({
  type: 'response_body',
  body: Buffer.from(text),
  endOfStream,
});
const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** A call whose upstream has begun to stream. */
async function streaming(modes: BodyModes | null = defaultModes, metadata = {}): Promise<ExtProcCall> {
  const call = running.client.open(modes, metadata);
  call.send(requestHeaders());
  await call.next();
  call.send(requestBody({ stream: true }));
  await call.next();
  call.send(sseHeaders);
  return call;
}

function textOf(reply: ProcessingResponse): string {
  const body = reply.response_body?.response?.body_mutation?.streamed_response?.body;
  if (body === undefined) throw new Error(`no piece: ${JSON.stringify(reply)}`);
  return body.toString();
}

function pathOf(reply: ProcessingResponse): string {
  const headers = reply.request_body?.response?.header_mutation?.set_headers ?? [];
  return Buffer.from(headers.find(({ header }) => header?.key === ':path')?.header?.raw_value ?? []).toString();
}

function errorOf(reply: ProcessingResponse): { status: number; code: string } {
  const { status, body } = reply.immediate_response ?? {};
  return { status: status?.code ?? 0, code: JSON.parse(body?.toString() ?? '{"error":{}}').error.code };
}

describe('a call', () => {
  test('carries a stream event by event, while the upstream is still sending', async () => {
    running = await startService();
    const call = await streaming();
    call.send(sse(chunk('one')));
    expect(await call.next()).toHaveProperty('response_headers');
    expect(eventLines(textOf(await call.next())).at(-1)).toBe('output_text.delta #0.0 "one"');
    call.send(sse(chunk('two')));
    expect(eventLines(textOf(await call.next()))).toEqual(['output_text.delta #0.0 "two"']);
    call.send(sse('data: [DONE]\n\n', true));
    expect(textOf(await call.next())).toContain('response.completed');
    call.cancel();
    await until(() => running.ends.length === 1);
    expect(running.ends[0]).toMatchObject({ how: 'done', summary: { outcome: 'completed' } });
  });

  test('keeps the modes of its first message, whatever a later one says', async () => {
    running = await startService();
    const call = running.client.open(null);
    const config = (mode: 'BUFFERED' | 'FULL_DUPLEX_STREAMED') => ({
      protocol_config: { request_body_mode: mode, response_body_mode: mode },
    });
    call.sendRaw({ ...messageOf(requestHeaders()), ...config('BUFFERED') });
    expect(await call.next()).toHaveProperty('request_headers');
    call.sendRaw({ ...messageOf(requestBody()), ...config('FULL_DUPLEX_STREAMED') });
    // In full duplex it would be a reply to the headers first, and a streamed piece.
    expect((await call.next()).request_body?.response?.body_mutation?.body?.toString()).toContain('"messages"');
    call.cancel();
  });

  test('ends as aborted when Envoy leaves in the middle, and nothing of it stays', async () => {
    running = await startService();
    const call = await streaming();
    call.send(sse(chunk('one')));
    await call.next();
    call.cancel();
    await until(() => running.ends.length === 1);
    expect(running.ends[0]?.how).toBe('aborted');
    expect(running.running).toBe(0);
  });

  test('ends with OK when the client says that nothing more comes', async () => {
    running = await startService();
    const call = running.client.open(defaultModes);
    call.send({ ...requestHeaders(), endOfStream: true } as ExchangeEvent);
    expect(errorOf(await call.next())).toEqual({ status: 400, code: 'missing_body' });
    call.halfClose();
    expect((await call.status).code).toBe(status.OK);
  });

  test('that breaks the order of the protocol ends with a status, not with silence', async () => {
    running = await startService();
    const call = running.client.open(defaultModes);
    call.send(requestBody());
    const ended = await call.status;
    expect([ended.code, ended.details]).toEqual([
      status.INVALID_ARGUMENT,
      'request_body came in the phase awaiting_headers.',
    ]);
    expect(running.ends[0]?.how).toBe('protocol_error');
  });

  test('with a message of an unknown kind, or of garbage, ends with a status', async () => {
    running = await startService();
    const call = running.client.open(defaultModes);
    call.sendRaw({});
    expect((await call.status).code).not.toBe(status.OK);
    const begun = await streaming();
    begun.sendRaw({});
    expect((await begun.status).code).not.toBe(status.OK);
    await until(() => running.running === 0);
    const next = running.client.open(defaultModes);
    next.send(requestHeaders());
    expect(await next.next()).toHaveProperty('request_headers');
    next.cancel();
  });

  test('that is only for watching is answered with nothing', async () => {
    running = await startService();
    const call = running.client.open(defaultModes);
    call.sendRaw({ request_headers: { headers: { headers: [] } }, observability_mode: true });
    call.sendRaw({ request_body: { body: Buffer.from('x'), end_of_stream: true }, observability_mode: true });
    call.halfClose();
    expect((await call.status).code).toBe(status.OK);
    expect(call.waiting).toBe(0);
    expect(running.ends).toEqual([]);
  });

  test('without the modes in its first message is in the configured ones', async () => {
    running = await startService({ REQUEST_BODY_MODE: 'FULL_DUPLEX_STREAMED' });
    const call = running.client.open(null);
    call.send(requestHeaders());
    call.send(requestBody());
    expect(await call.next()).toHaveProperty('request_headers.response.header_mutation');
    expect(await call.next()).toHaveProperty(
      'request_body.response.body_mutation.streamed_response.end_of_stream',
      true,
    );
    call.cancel();
  });

  test('takes a body as large as the limit in one message, and refuses a larger one', async () => {
    running = await startService({ MAX_REQUEST_BYTES: String(6 * 1024 * 1024), MAX_TEXT_BYTES: '100000000' });
    for (const [size, expected] of [
      [5 * 1024 * 1024, 'request_body'],
      [6.5 * 1024 * 1024, 'immediate_response'],
    ] as const) {
      const call = running.client.open(defaultModes);
      call.send(requestHeaders());
      await call.next();
      call.send(requestBody({ input: 'x'.repeat(size) }));
      expect(await call.next()).toHaveProperty(expected);
      call.cancel();
    }
  });

  test('takes a buffered answer as large as its own limit, whatever that of requests', async () => {
    running = await startService({ MAX_REQUEST_BYTES: '1048576', MAX_RESPONSE_BYTES: String(6 * 1024 * 1024) });
    const call = running.client.open({ request: 'BUFFERED', response: 'BUFFERED' });
    call.send(requestHeaders());
    await call.next();
    call.send(requestBody());
    await call.next();
    call.send({ ...sseHeaders, headers: headersOf({ ':status': '200', 'content-type': 'application/json' }) });
    await call.next();
    const body = JSON.stringify({ choices: [{ message: { content: 'x'.repeat(5 * 1024 * 1024) } }] });
    call.send({ type: 'response_body', body: Buffer.from(body), endOfStream: true });
    expect(await call.next()).toHaveProperty('response_body');
    call.cancel();
  });

  test('that nobody has room for is refused, and what would pass passes', async () => {
    const full = new ApiError('full', { status: 503, type: 'server_error', code: 'server_overloaded' });
    const guard = { admit: () => full, checkAvailability: () => true, refuse: () => full, worked() {} };
    running = await startService({}, { guard });
    const refused = running.client.open(defaultModes);
    refused.send(requestHeaders());
    expect(errorOf(await refused.next())).toEqual({ status: 503, code: 'server_overloaded' });
    const passing = running.client.open(defaultModes);
    passing.send(requestHeaders({ ':path': '/v1/models' }));
    expect(await passing.next()).toHaveProperty('request_headers');
    refused.cancel();
    passing.cancel();
  });
});

describe('a route', () => {
  async function upstreamOf(metadata: Record<string, string>, headers = {}): Promise<ProcessingResponse> {
    const call = running.client.open(defaultModes, metadata);
    call.send(requestHeaders(headers));
    const first = await call.next();
    if (first.immediate_response !== undefined) return first;
    call.send(requestBody());
    const reply = await call.next();
    call.cancel();
    return reply;
  }

  test('chooses profile and path by metadata', async () => {
    running = await startService({ UPSTREAM_PATH: '/configured' });
    expect(pathOf(await upstreamOf({}))).toBe('/configured');
    expect(pathOf(await upstreamOf({ 'x-upstream-path': '/a/{model}' }))).toBe('/a/m');
    expect(pathOf(await upstreamOf({ 'x-upstream-profile': 'groq' }))).toMatch(/chat\/completions$/);
    await until(() => running.ends.some(({ summary }) => summary.profile === 'groq'));
  });

  test('that names what is not there is an error of the operator’s, and said in the log', async () => {
    running = await startService();
    const wrong = [
      { 'x-upstream-profile': 'skynet' },
      { 'x-upstream-path': 'no-slash' },
      { 'x-upstream-path': '/a b' },
    ];
    for (const metadata of wrong)
      expect(errorOf(await upstreamOf(metadata))).toEqual({ status: 500, code: 'proxy_misconfigured' });
    expect(running.problems).toHaveLength(3);
    expect(running.problems[0]).toContain('x-upstream-profile is "skynet"; it must be one of generic');
  });

  test('is not for clients to choose: their headers are only headers', async () => {
    running = await startService();
    const headers = { 'x-upstream-profile': 'azure', 'x-upstream-path': '/evil' };
    expect(pathOf(await upstreamOf({}, headers))).toBe('/v1/chat/completions');
  });
});

describe('the timer', () => {
  /** The time of the exchanges, which the test sets, and the ticks that came, each with whether the proxy was slow to read. */
  let now: number;
  let ticks: boolean[];
  class TimedExchange extends Exchange {
    override tick(_at: number, blocked: boolean): Replies {
      ticks.push(blocked);
      return super.tick(now, blocked);
    }
  }
  async function startTimedService(): Promise<void> {
    now = 0;
    ticks = [];
    const createExchange = (options: ExchangeOptions) => new TimedExchange(options);
    running = await startService({ UPSTREAM_IDLE_TIMEOUT_MS: '1000' }, { createExchange });
  }
  /** Two more ticks: one notes the time, the next measures. */
  async function untilTicked(): Promise<void> {
    const before = ticks.length;
    await until(() => ticks.length >= before + 2);
  }

  test('does not take an upstream for silent while a slow proxy keeps the service from hearing it', async () => {
    await startTimedService();
    const call = await streaming();
    call.pause();
    for (let sent = 0; sent < 40; sent++) call.send(sse(chunk('x'.repeat(50_000))));
    call.send(sse(`${chunk('')}data: [DONE]\n\n`, true));
    await until(() => ticks.at(-1) === true);
    for (now of [10_000, 20_000]) await untilTicked();
    expect(ticks.at(-1)).toBe(true);
    expect(running.readBytes()).toBeLessThan(39 * 50_000);
    call.resume();
    await call.next();
    const pieces: string[] = [];
    while (!pieces.at(-1)?.endsWith('[DONE]\n\n')) pieces.push(textOf(await call.next()));
    expect(pieces.join('').match(/^event: response\.(completed|failed)$/gm)).toEqual(['event: response.completed']);
    call.cancel();
  });

  test('ends a stream whose upstream has gone silent', async () => {
    await startTimedService();
    const call = await streaming();
    call.send(sse(chunk('one')));
    await call.next();
    await call.next();
    await untilTicked();
    expect(call.waiting).toBe(0);
    now = 1000;
    expect(textOf(await call.next())).toContain('upstream_timeout');
    expect(running.running).toBe(1);
    call.cancel();
    await until(() => running.running === 0);
    expect(running.ends[0]).toMatchObject({ how: 'done' });
  });
});
