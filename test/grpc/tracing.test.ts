import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { serviceFromSources } from '../support/service-main.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const unsampled = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00';
const body = JSON.stringify({
  model: 'm-1',
  input: 'a secret word: xylophone',
  stream: true,
  temperature: 0.2,
  max_output_tokens: 50,
});

let collector: TraceCollector;
let service: ServiceProcess;
let client: ExtProcClient;

beforeEach(async () => {
  collector = await startTraceCollector();
});
afterEach(async () => {
  client?.close();
  await service?.remove();
  await collector.close();
});

async function start(
  environment: Readonly<Record<string, string>> = {},
  options?: Parameters<typeof startServiceProcess>[1],
): Promise<void> {
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=k-1',
  };
  service = await startServiceProcess({ ...settings, ...environment }, options);
  client = connectExtProc(service.listen[0] ?? '');
}

async function stream(options: Parameters<typeof sendRequest>[2] = {}): Promise<void> {
  const { call } = await sendRequest(client, body, options);
  await beginStream(call);
  await endStream(call);
  call.cancel();
}

const spanCount = () => collector.spans.length;

describe('tracing', () => {
  it('continues the client’s trace and describes the answer in the words of the GenAI conventions', async () => {
    await start({}, { program: serviceFromSources });
    await stream({ headers: { traceparent, ':authority': 'gateway.example:8443' } });
    await expect.poll(spanCount).toBe(1);
    const [span] = collector.spans;
    expect(span).toMatchObject({
      traceId,
      parentSpanId: '00f067aa0ba902b7',
      name: 'chat m-1',
      kind: 'SPAN_KIND_CLIENT',
      status: 'STATUS_CODE_UNSET',
    });
    expect(span?.resource).toMatchObject({ 'service.name': 'responses-extproc', 'service.version': version });
    expect(span?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'generic',
      'gen_ai.request.model': 'm-1',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.max_tokens': 50,
      'gen_ai.response.id': expect.stringMatching(/^resp_\w+$/),
      'gen_ai.response.model': 'm-2',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': expect.any(Number),
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 0,
      'gen_ai.usage.cache_write.input_tokens': 0,
      'gen_ai.usage.reasoning.output_tokens': 2,
      'http.request.header.x-request-id': ['request-1'],
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': 'gateway.example',
      'server.port': 8443,
      'url.path': '/v1/responses',
      'responses_extproc.outcome': 'completed',
      'responses_extproc.dropped': 0,
    });
    expect(JSON.stringify(collector.spans)).not.toContain('xylophone');
    expect(collector.headers).toMatchObject({ 'x-api-key': 'k-1' });
  });

  it('is below Envoy’s own span where Envoy traces too: the call’s metadata comes before the header', async () => {
    await start();
    const fromEnvoy = '00-11112222333344445555666677778888-aaaabbbbccccdddd-01';
    await stream({ headers: { traceparent }, metadata: { traceparent: fromEnvoy } });
    await expect.poll(spanCount).toBe(1);
    expect(collector.spans[0]).toMatchObject({
      traceId: '11112222333344445555666677778888',
      parentSpanId: 'aaaabbbbccccdddd',
    });
  });

  it('keeps the caller’s decision not to record, and begins traces of its own by the share that is set', async () => {
    await start({ OTEL_TRACES_SAMPLER_ARG: '0' });
    await stream({ headers: { traceparent: unsampled } });
    await stream();
    await stream({ headers: { traceparent } });
    // Spans are exported in their order: with the last one all are there.
    const traces = () => collector.spans.map((span) => span.traceId);
    await expect.poll(traces).toContain(traceId);
    expect(traces()).toEqual([traceId]);
  });

  it('marks a refusal as an error by its code, and sends what is left when it is stopped', async () => {
    await start();
    const { call, last } = await sendRequest(client, JSON.stringify({ model: 'm-1', input: 'Hi', store: true }));
    expect(last.immediate_response?.status?.code).toBe(400);
    call.cancel();
    service.child.kill('SIGTERM');
    expect(await service.child.ended).toBe('exit code 0');
    expect(collector.spans).toHaveLength(1);
    expect(collector.spans[0]).toMatchObject({
      status: 'STATUS_CODE_ERROR',
      attributes: {
        'error.type': 'unsupported_value',
        'responses_extproc.outcome': 'refused',
        'http.response.status_code': 400,
      },
    });
  });

  it('cuts names that are too long to be one', async () => {
    await start();
    const { call } = await sendRequest(client, JSON.stringify({ model: 'm'.repeat(512), input: 'Hi' }));
    call.cancel();
    await expect.poll(spanCount).toBe(1);
    expect(collector.spans[0]?.name).toHaveLength(125);
    expect(collector.spans[0]?.attributes['gen_ai.request.model']).toHaveLength(512);
    expect(collector.spans[0]?.attributes['responses_extproc.outcome']).toBe('aborted');
  });

  it('says in its resource what OTEL_RESOURCE_ATTRIBUTES says, and an id of the process where that says none', async () => {
    await start({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.namespace=gateways' });
    await stream();
    await expect.poll(spanCount).toBe(1);
    expect(collector.spans[0]?.resource).toMatchObject({
      'deployment.environment.name': 'test',
      'service.namespace': 'gateways',
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    client.close();
    await service.remove();
    await start({ OTEL_RESOURCE_ATTRIBUTES: 'service.instance.id=pod-7' });
    await stream();
    await expect.poll(spanCount).toBe(2);
    expect(collector.spans[1]?.resource).toMatchObject({ 'service.instance.id': 'pod-7' });
  });

  it('goes to OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, as it is written, where that is set', async () => {
    await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    });
    await stream();
    await expect.poll(spanCount).toBe(1);
  });

  it.each([
    ['wrong', () => `${collector.url}/elsewhere`],
    ['dead', () => 'http://127.0.0.1:1'],
  ])('counts what a %s collector does not take, and says so once a minute', async (_name, url) => {
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: url(), OTEL_EXPORTER_OTLP_TIMEOUT: '1000' });
    const lost = () => service.metric('responses_extproc_spans_lost_total');
    await stream();
    await expect.poll(lost).toBe(1);
    await stream();
    await expect.poll(lost).toBe(2);
    const lostSpans = (line: object) => 'msg' in line && line.msg === 'spans did not reach the collector';
    await service.logged(lostSpans);
    const said = service.log.filter(lostSpans);
    expect(said).toMatchObject([{ level: 'warn', count: 1, reason: expect.any(String) }]);
  });

  it('does not hold the exit for a collector that never answers', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const sockets: Socket[] = [];
    silent.on('connection', (socket) => sockets.push(socket));
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' });
    await stream();
    service.child.kill('SIGTERM');
    expect(await service.child.ended).toBe('exit code 0');
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('loses nobody’s answer when the collector is gone', async () => {
    await start();
    await collector.close();
    await expect(stream({ headers: { traceparent } })).resolves.toBeUndefined();
    await expect(stream({ headers: { traceparent } })).resolves.toBeUndefined();
  });
});

describe('without an endpoint', () => {
  it('nothing of OpenTelemetry is loaded: one file imports it, and nothing imports that file but on demand', () => {
    const root = join(import.meta.dirname, '../../src');
    const importing = (pattern: RegExp) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
        (file) => file.endsWith('.ts') && pattern.test(readFileSync(join(root, file), 'utf8')),
      );
    expect(importing(/from '@opentelemetry/)).toEqual(['service/telemetry/tracing.ts']);
    expect(importing(/^import (?!type)[^;]*\/tracing\.ts'/m)).toEqual([]);
    expect(importing(/await import\('\.\.\/service\/telemetry\/tracing\.ts'\)/)).toEqual(['program/serve.ts']);
  });
});
