import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { beginStream, endStream, sendRequest, sendWords } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

let service: ServiceProcess;
let client: ExtProcClient;

beforeAll(async () => {
  service = await startServiceProcess({});
  client = connectExtProc(service.listen[0] ?? '');
});
afterAll(async () => {
  client.close();
  await service.remove();
});

const bodyOf = (model: string, more: object = {}) => JSON.stringify({ model, input: 'Hi', stream: true, ...more });
const count = (name: string, labels?: Readonly<Record<string, string>>) =>
  service.metric(`responses_extproc_${name}`, labels);

async function stream(model: string): Promise<void> {
  const { call } = await sendRequest(client, bodyOf(model));
  await beginStream(call);
  await endStream(call);
  call.cancel();
}

/** A token for each four bytes of what the upstream is sent. */
function estimatedInput(model: string): number {
  const messages = [{ role: 'user', content: 'Hi' }];
  const sent = { model, messages, stream: true, stream_options: { include_usage: true } };
  return Math.ceil(JSON.stringify(sent).length / 4);
}

/** The upstream answers with that status and no more. */
async function fail(model: string, status: string): Promise<void> {
  const { call } = await sendRequest(client, bodyOf(model));
  const headers = new Map([
    [':status', status],
    ['content-type', 'application/json'],
  ]);
  call.send({ type: 'response_headers', headers, endOfStream: false });
  call.send({ type: 'response_body', body: Buffer.from('{"error":{"message":"no"}}'), endOfStream: true });
  await call.next();
  call.cancel();
}

describe('metrics', () => {
  it('count a stream: outcome, tokens, events, bytes, times', async () => {
    await stream('m-1');
    await expect.poll(() => count('exchanges_total', { outcome: 'completed' })).toBe(1);
    expect(await count('tokens_total', { model: 'm-1', type: 'input' })).toBe(11);
    expect(await count('tokens_total', { model: 'm-1', type: 'output' })).toBe(7);
    expect(await count('events_total')).toBeGreaterThan(5);
    for (const leg of ['request', 'response']) {
      for (const side of ['received', 'sent'])
        expect(await count('body_bytes_total', { leg, side })).toBeGreaterThan(20);
      expect(await count('translation_seconds_count', { leg })).toBe(1);
      expect(await count('translation_seconds_sum', { leg })).toBeLessThan(
        await count('exchange_duration_seconds_sum', { stream: 'true' }),
      );
    }
    expect(await count('time_to_first_event_seconds_count')).toBe(1);
    expect(await count('time_to_first_event_seconds_sum')).toBeLessThan(
      await count('exchange_duration_seconds_sum', { stream: 'true' }),
    );
    expect(await count('active_exchanges')).toBe(0);
  });

  it('have the conventions’ histograms by model, and the tokens that were cached or spent on reasoning', async () => {
    const model = { gen_ai_request_model: 'm-1', gen_ai_provider_name: 'generic', gen_ai_operation_name: 'chat' };
    for (const name of ['request_duration', 'time_to_first_token', 'time_per_output_token'])
      expect(await service.metric(`gen_ai_server_${name}_seconds_count`, model), name).toBe(1);
    const firstToken = await service.metric('gen_ai_server_time_to_first_token_seconds_sum');
    const duration = await service.metric('gen_ai_server_request_duration_seconds_sum');
    expect(firstToken).toBeGreaterThan(0);
    expect(await service.metric('gen_ai_server_time_per_output_token_seconds_sum')).toBeCloseTo(
      (duration - firstToken) / 6, // of seven tokens
      6,
    );
    expect(await count('tokens_total', { model: 'm-1', type: 'reasoning_output' })).toBe(2);
    expect(await count('tokens_total', { model: 'm-1', type: 'cached_input' })).toBe(0);
  });

  it('count refusals by code, and no times for what was never translated', async () => {
    const { call } = await sendRequest(client, bodyOf('m-1', { background: true }));
    call.cancel();
    await expect.poll(() => count('exchanges_total', { outcome: 'refused' })).toBe(1);
    expect(await count('refusals_total')).toBe(1);
    expect(await count('exchange_duration_seconds_count')).toBe(1);
  });

  it('count the upstream’s errors by its status', async () => {
    await fail('m-1', '429');
    await fail('m-1', '500');
    await expect.poll(() => count('exchanges_total', { outcome: 'upstream_error' })).toBe(2);
    expect(await count('upstream_errors_total', { status: '429' })).toBe(1);
    expect(await count('upstream_errors_total', { status: '500' })).toBe(1);
  });

  it('have the upstream’s errors among the requests of their model, by what they were', async () => {
    const duration = 'gen_ai_server_request_duration_seconds_count';
    for (const error_type of ['rate_limit_exceeded', 'server_error'])
      expect(await service.metric(duration, { gen_ai_request_model: 'm-1', error_type }), error_type).toBe(1);
    expect(await service.metric(duration, { gen_ai_request_model: 'm-1', error_type: '' })).toBe(1);
    await fail('made-up', '404');
    await expect.poll(() => service.metric(duration, { gen_ai_request_model: 'other' })).toBe(1);
    expect(await service.metric('gen_ai_server_time_to_first_token_seconds_count')).toBe(1);
  });

  it('estimate no tokens where the upstream counts them, or none are to be paid', async () => {
    expect(await count('estimated_tokens_total')).toBe(0);
  });

  it('count a client that left while its answer ran', async () => {
    const { call } = await sendRequest(client, bodyOf('m-1'));
    await beginStream(call);
    expect(await count('active_exchanges')).toBe(1);
    call.cancel();
    await expect.poll(() => count('exchanges_total', { outcome: 'aborted' })).toBe(1);
    expect(await count('active_exchanges')).toBe(0);
    const aborted = { model: 'm-1', outcome: 'aborted' };
    expect(await count('estimated_tokens_total', { ...aborted, type: 'input' })).toBe(estimatedInput('m-1'));
    expect(await count('estimated_tokens_total', { ...aborted, type: 'output' })).toBe(2); // Hello
    expect(await count('tokens_total', { model: 'm-1', type: 'input' })).toBe(11);
  });

  it('count a client that left before its answer began, under no name that it made up', async () => {
    const { call } = await sendRequest(client, bodyOf('made-up'));
    call.cancel();
    await expect.poll(() => count('exchanges_total', { outcome: 'aborted' })).toBe(2);
    const aborted = { model: 'other', outcome: 'aborted' };
    expect(await count('estimated_tokens_total', { ...aborted, type: 'input' })).toBe(estimatedInput('made-up'));
    expect(await count('estimated_tokens_total', { ...aborted, type: 'output' })).toBe(0);
  });

  it('give no label to a model that never answered, and one name to all beyond the first fifty', async () => {
    await fail('made-up', '404');
    for (let number = 2; number <= 52; number++) await stream(`m-${number}`);
    await expect.poll(() => count('tokens_total', { model: 'other', type: 'output' })).toBe(14);
    const scrape = await (await service.get('/metrics')).text();
    expect(scrape).not.toMatch(/made-up|m-51|m-52/);
  });

  it('do not count what is not ours but as passed', async () => {
    const before = await count('body_bytes_total');
    const call = client.open({ request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' });
    const headers = new Map([
      [':method', 'GET'],
      [':path', '/v1/models'],
    ]);
    call.send({ type: 'request_headers', headers, endOfStream: true });
    await call.next();
    call.send({ type: 'response_headers', headers: new Map([[':status', '200']]), endOfStream: true });
    await call.next();
    call.cancel();
    await expect.poll(() => count('exchanges_total', { outcome: 'passed' })).toBe(1);
    expect(await count('body_bytes_total')).toBe(before);
  });

  it('count the types that nobody knows, by type, once for each request', async () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'memo', text: 'a' },
      { type: 'memo', text: 'b' },
    ];
    const { call } = await sendRequest(client, bodyOf('m-1', { input, tools: [{ type: 'time_travel' }] }));
    call.cancel();
    await expect.poll(() => count('unknown_types_total', { kind: 'item', type: 'memo' })).toBe(1);
    expect(await count('unknown_types_total', { kind: 'tool', type: 'time_travel' })).toBe(1);
    expect(await count('dropped_total', { kind: 'content' })).toBe(2);
    expect(await count('dropped_total', { kind: 'tool' })).toBe(1);
    expect(await count('dropped_total', { kind: 'field' })).toBe(0);
  });

  it('count the events and fields of upstreams that nobody reads, by name, once for each answer', async () => {
    const { call } = await sendRequest(client, bodyOf('m-1'));
    const headers = new Map([
      [':status', '200'],
      ['content-type', 'text/event-stream'],
    ]);
    const chunk = 'data: {"acme":1,"choices":[{"index":0,"delta":{"content":"a","mood":"calm"}}]}\n\n';
    const body = Buffer.from(`${chunk}${chunk}event: acme:trace\ndata: {"step":1}\n\ndata: [DONE]\n\n`);
    call.send({ type: 'response_headers', headers, endOfStream: false });
    call.send({ type: 'response_body', body, endOfStream: true });
    await call.next();
    call.cancel();
    await expect.poll(() => count('unknown_types_total', { kind: 'event', type: 'acme:trace' })).toBe(1);
    expect(await count('unknown_types_total', { kind: 'field', type: 'acme' })).toBe(1);
    expect(await count('unknown_types_total', { kind: 'field', type: 'message.mood' })).toBe(1);
  });

  it('are a Prometheus exposition: every sample has a type, every line a number', async () => {
    const response = await service.get('/metrics');
    expect(response.headers.get('content-type')).toContain('version=0.0.4');
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    const types = new Set(lines.flatMap((line) => /^# TYPE (\S+) /.exec(line)?.[1] ?? []));
    for (const line of lines.filter((text) => !text.startsWith('#'))) {
      const [, name = ''] = /^([a-z_0-9]+)(?:\{.*\})? (?:[-+]?[0-9.e+-]+|[-+]?inf|nan)$/i.exec(line) ?? [];
      expect(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, '')), line).toBe(true);
    }
  });

  it('count an answer that was repaired, once for each kind', async () => {
    const { call } = await sendRequest(client, bodyOf('m-0'));
    await beginStream(call);
    sendWords(call, 'ping');
    sendWords(call, 'ping');
    await endStream(call);
    call.cancel();
    await expect.poll(() => count('repaired_answers_total', { kind: 'skipped_data' })).toBe(1);
  });

  it('tell the profiles of routes apart', async () => {
    const before = await count('exchanges_total', { profile: 'vllm' });
    expect(before).toBe(0);
    const metadata = { 'x-upstream-profile': 'vllm' };
    const { call } = await sendRequest(client, bodyOf('m-1'), { metadata });
    await beginStream(call);
    await endStream(call);
    call.cancel();
    const refused = await sendRequest(client, bodyOf('m-1', { background: true }), { metadata });
    refused.call.cancel();
    await expect.poll(() => count('exchanges_total', { profile: 'vllm' })).toBe(2);
    expect(await count('exchanges_total', { profile: 'vllm', outcome: 'completed' })).toBe(1);
    expect(await count('refusals_total', { profile: 'vllm', code: 'unsupported_value' })).toBe(1);
    expect(await count('time_to_first_event_seconds_count', { profile: 'vllm' })).toBe(1);
    expect(await count('upstream_errors_total', { profile: 'generic' })).toBe(await count('upstream_errors_total'));
  });
});
