import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvoyConfig, findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import { addClusterLike } from '../support/envoy-clusters.ts';
import { askAndLeave, estimatedTokens } from '../support/leaving-client.ts';
import { type LogLine, startTestMesh, type TestMesh } from '../support/mesh.ts';
import { type RateLimitService, startRateLimitService } from '../support/rate-limit-service.ts';
import { delta, done, eventStream, finish } from '../support/upstream.ts';

const usage = {
  prompt_tokens: 30,
  completion_tokens: 12,
  total_tokens: 42,
  prompt_tokens_details: { cached_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const json = JSON.stringify({
  model: 'm-2026',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage,
});
const stream = [
  delta({ content: 'Hi' }),
  finish('stop'),
  `data: ${JSON.stringify({ model: 'm-2026', choices: [], usage })}\n\n`,
  done,
];
/** One, two and eight tokens, as the service estimates: Envoy is told of each. */
const three = ['One ', 'two ', 'and many more in one.'].map((content) => delta({ content }));
const logged = { tokens_from: 'upstream', input_tokens: 30, cached_tokens: 20, output_tokens: 12, reasoning_tokens: 5 };

const readme = readFileSync(join(import.meta.dirname, '../../envoy/README.md'), 'utf8');

/** The filters of envoy/README.md: a budget of tokens for each client, and a header. */
function useMetadata(config: EnvoyConfig, limiter: RateLimitService): void {
  const block = /^## Tokens in Envoy$.*?^```yaml$(.*?)^```$/ms.exec(readme)?.[1] ?? '';
  // As long as a busy machine needs; Envoy forgets what it could not tell in time.
  const filters = parse(block.replace('timeout: 1s', 'timeout: 60s')) as object[];
  (findConnectionManager(config).http_filters as unknown as object[]).unshift(...filters);
  addClusterLike(config, 'responses_extproc', 'rate_limit', { host: '127.0.0.1', port: limiter.port });
  Reflect.deleteProperty(findCluster(config, 'rate_limit'), 'health_checks');
}

describe('what Envoy knows of an answer', () => {
  let mesh: TestMesh;
  let limiter: RateLimitService;
  beforeAll(async () => {
    limiter = await startRateLimitService(100);
    mesh = await startTestMesh({ edit: (config) => useMetadata(config, limiter) });
    mesh.upstream.script('json', { body: [json] });
    mesh.upstream.script('sse', { headers: eventStream, body: stream });
    mesh.upstream.script('half', { headers: eventStream, body: [...three, 60_000] });
    mesh.upstream.script('fails', { headers: eventStream, body: [delta({ content: 'Hi' }), 'data: {"error":{}}\n\n'] });
  });
  afterAll(async () => {
    await mesh.close();
    limiter.close();
  });

  const line = (id: string): Promise<LogLine> => mesh.accessLog(({ request_id }) => request_id === id);
  const post = (body: object, headers: Record<string, string>) => mesh.post({ input: 'Hi', ...body }, { headers });

  test.each(['json', 'sse'])('is in the access log, as numbers (%s)', async (model) => {
    const answer = await post({ model, stream: model === 'sse' }, { 'x-request-id': `log-${model}` });
    await answer.text();
    expect(await line(`log-${model}`)).toMatchObject({ outcome: 'completed', model, ...logged });
  });

  test('is in the access log of a stream that fails', async () => {
    await (await post({ model: 'fails', stream: true }, { 'x-request-id': 'failed' })).text();
    expect(await line('failed')).toMatchObject({
      outcome: 'failed',
      model: 'fails',
      status: 200,
      ...estimatedTokens(mesh, 'fails', 1),
    });
  });

  test('is nothing to pay for an answer that is an HTTP error', async () => {
    mesh.upstream.script('busy', { status: 503, body: ['{"error":{"message":"busy"}}'] });
    mesh.upstream.script('mute', { status: 503 });
    for (const model of ['busy', 'mute']) {
      expect((await post({ model }, { 'x-request-id': model })).status).toBe(503);
      const free = { tokens_from: 'none', input_tokens: 0, output_tokens: 0 };
      expect(await line(model)).toMatchObject({ outcome: 'upstream_error', ...free });
    }
  });

  test('is in the access log though the client leaves after the last event', async () => {
    mesh.upstream.script('lingers', { headers: eventStream, body: [...stream, 60_000] });
    await askAndLeave(mesh, { model: 'lingers', stream: true, leaves: { after: '[DONE]' } });
    expect(await line('lingers')).toMatchObject({ outcome: 'completed', ...logged });
  });

  test('is an estimate in the access log of a stream whose client leaves after the third delta', async () => {
    await askAndLeave(mesh, { model: 'half', stream: true, leaves: { after: 'many more' } });
    expect(await line('half')).toMatchObject({
      outcome: 'aborted',
      model: 'half',
      status: 200,
      ...estimatedTokens(mesh, 'half', 8),
    });
  });

  test('is an estimate in the access log of a JSON answer whose client leaves before it', async () => {
    mesh.upstream.script('slow', { body: [60_000, json] });
    await askAndLeave(mesh, { model: 'slow', stream: false, leaves: 'unread' });
    expect(await line('slow')).toMatchObject({
      outcome: 'aborted',
      model: 'slow',
      ...estimatedTokens(mesh, 'slow', 0),
    });
  });

  test('is nothing for a refusal, whose name is in `details`', async () => {
    await (await post({ model: 'json', store: true }, { 'x-request-id': 'refused' })).text();
    const refused = { outcome: null, model: null, details: 'responses_extproc:unsupported_value' };
    expect(await line('refused')).toMatchObject(refused);
  });

  test('can be a header of an answer in JSON; a stream’s headers are out before its usage is known', async () => {
    expect((await post({ model: 'json' }, {})).headers.get('x-tokens')).toBe('42');
    let goOn = (): void => {};
    const paused = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const [first = '', ...rest] = stream;
    mesh.upstream.script('paused', { headers: eventStream, body: [first, () => paused, ...rest] });
    const streamed = await post({ model: 'paused', stream: true }, {});
    expect(streamed.headers.get('x-tokens')).not.toBe('42');
    goOn();
    expect(await streamed.text()).toContain('"total_tokens":42');
  });

  test('can be a budget: each answer takes its tokens from it, and beyond it requests are refused', async () => {
    const ada = { 'x-client': 'ada' };
    for (const [index, model] of ['sse', 'json', 'sse'].entries()) {
      await (await post({ model, stream: model === 'sse' }, ada)).text();
      await expect.poll(() => limiter.used.get('ada')).toBe(42 * (index + 1));
    }
    const refused = await post({ model: 'json' }, ada);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect((await post({ model: 'json' }, { 'x-client': 'bob' })).status).toBe(200);
  });

  test('is taken from a budget though the client leaves in the middle of its stream', async () => {
    await askAndLeave(mesh, {
      model: 'half',
      stream: true,
      leaves: { after: 'many more' },
      headers: { 'x-request-id': 'eve', 'x-client': 'eve' },
    });
    const { input_tokens, output_tokens } = estimatedTokens(mesh, 'half', 8);
    await expect.poll(() => limiter.used.get('eve')).toBe(input_tokens + output_tokens);
  });
});
