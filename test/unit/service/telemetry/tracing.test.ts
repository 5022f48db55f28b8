import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { readTraceParent } from '../../../../src/service/telemetry/exchange-log.ts';
import type { EndedCall } from '../../../../src/service/telemetry/observer.ts';
import { createTracing } from '../../../../src/service/telemetry/tracing.ts';
import { endedCall, streamed, times } from '../../../support/ended-call.ts';
import { type HeldTimers, holdTimers } from '../../../support/held-timers.ts';
import { type ReceivedSpan, startTraceCollector, type TraceCollector } from '../../../support/trace-collector.ts';

let collector: TraceCollector;
let timers: HeldTimers;
beforeEach(async () => {
  timers = holdTimers(2_000); // after which the end of a process waits for a collector no longer
  collector = await startTraceCollector();
});
afterEach(() => collector.close());

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const traceparent = (flags: string, version = '00') => `${version}-${traceId}-${spanId}-${flags}`;

/** The spans of these calls, as the collector has them when tracing has been closed. */
async function spansOf(calls: readonly EndedCall[], { ratio = 1, url = '/v1/traces' } = {}) {
  const lost: [spans: number, reason: string][] = [];
  const tracing = createTracing({
    url: `${collector.url}${url}`,
    serviceName: 'gateway',
    version: '1.2.3',
    ratio,
    providerOf: (profile) => `provider of ${profile}`,
    onLost: (spans, reason) => lost.push([spans, reason]),
  });
  for (const call of calls) tracing.observer(call);
  await tracing.close();
  return { spans: collector.spans.splice(0), lost };
}
const spanOf = async (call: EndedCall): Promise<ReceivedSpan | undefined> => (await spansOf([call])).spans[0];

it('a span has all that is known of a stream', async () => {
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=staging,service.version=0');
  onTestFinished(() => void vi.unstubAllEnvs());
  const span = await spanOf(endedCall({ ...streamed, traceParent: traceparent('01') }));
  expect(span).toEqual({
    traceId,
    traceState: '',
    parentSpanId: spanId,
    name: 'chat m',
    kind: 'SPAN_KIND_CLIENT',
    status: 'STATUS_CODE_UNSET',
    scope: { name: 'responses-extproc', version: '1.2.3' },
    durationMs: expect.any(Number),
    flags: 0x301, // sampled, of a parent in another process
    resource: expect.objectContaining({
      'service.name': 'gateway',
      'service.version': '1.2.3',
      'deployment.environment.name': 'staging',
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'telemetry.sdk.language': 'nodejs',
    }),
    attributes: {
      'gen_ai.provider.name': 'provider of generic',
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.max_tokens': 64,
      'gen_ai.response.id': 'resp_1',
      'server.address': 'gateway.example',
      'server.port': 8443,
      'gen_ai.response.model': 'm-2026',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.2506,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 21,
      'gen_ai.usage.cache_read.input_tokens': 40,
      'gen_ai.usage.cache_write.input_tokens': 30,
      'gen_ai.usage.reasoning.output_tokens': 5,
      'http.response.status_code': 200,
      'http.request.header.x-request-id': ['request-1'],
      'http.request.method': 'POST',
      'url.path': '/v1/responses',
      'responses_extproc.outcome': 'completed',
      'responses_extproc.dropped': 2,
    },
  });
  // It begins as long ago as the call lasted.
  expect(span?.durationMs).toBeGreaterThan(times.duration - 1);
});

it('a span says nothing of what is not known', async () => {
  const span = await spanOf(endedCall({ outcome: 'refused', status: 400, errorCode: 'invalid_json' }));
  expect(span).toMatchObject({
    name: 'chat',
    parentSpanId: '',
    status: 'STATUS_CODE_ERROR',
    attributes: {
      'gen_ai.provider.name': 'provider of generic',
      'gen_ai.operation.name': 'chat',
      'http.response.status_code': 400,
      'http.request.method': 'POST',
      'url.path': '/v1/responses',
      'responses_extproc.outcome': 'refused',
      'responses_extproc.dropped': 0,
      'error.type': 'invalid_json',
    },
  });
  expect(Object.keys(span?.attributes ?? {})).toHaveLength(8);
});

it.each([
  ['gateway.example', 'gateway.example', undefined],
  ['10.0.0.1:80', '10.0.0.1', 80],
  ['[2001:db8::1]:8080', '2001:db8::1', 8080],
  ['[::1]', '::1', undefined],
  ['not:a:host', undefined, undefined],
])('of the authority %s a span has the address and the port', async (authority, address, port) => {
  const attributes = (await spanOf(endedCall({ authority })))?.attributes;
  expect([attributes?.['server.address'], attributes?.['server.port']]).toEqual([address, port]);
});

it.each<[string, Parameters<typeof endedCall>, number | undefined]>([
  ['a stream', [streamed], 0.2506],
  ['an answer of JSON', [{ ...streamed, stream: false }], undefined],
  ['a stream without an event', [{ ...streamed, events: 0 }], undefined],
  ['a stream that has sent nothing', [streamed, { times: { ...times, firstByte: null } }], undefined],
])('the time to the first chunk is that of %s', async (_, given, expected) => {
  expect((await spanOf(endedCall(...given)))?.attributes['gen_ai.response.time_to_first_chunk']).toBe(expected);
});

it('a name is cut after 120 characters, an attribute after 512', async () => {
  const span = await spanOf(endedCall({ model: 'm'.repeat(600) }));
  expect([span?.name, span?.attributes['gen_ai.request.model']]).toEqual([`chat ${'m'.repeat(120)}`, 'm'.repeat(512)]);
});

it.each<[string, Parameters<typeof endedCall>, string | undefined, string]>([
  ['completed', [{ outcome: 'completed' }], undefined, 'completed'],
  ['incomplete', [{ outcome: 'incomplete' }], undefined, 'incomplete'],
  ['failed with a known code', [{ outcome: 'failed', errorCode: 'server_error' }], 'server_error', 'failed'],
  ['failed with a code of content', [{ outcome: 'failed', errorCode: 'a secret' }], 'other', 'failed'],
  ['failed with a status in words', [{ outcome: 'failed', errorCode: 'http_418' }], 'http_418', 'failed'],
  ['without a code', [{ outcome: 'upstream_error', status: 502 }], '502', 'upstream_error'],
  ['without a status', [{ outcome: 'upstream_error' }], 'upstream_error', 'upstream_error'],
  ['that its client left', [{ outcome: 'open' }, { how: 'aborted' }], 'aborted', 'aborted'],
])('a call %s has that for its error and its outcome', async (_, given, error, outcome) => {
  const span = await spanOf(endedCall(...given));
  expect(span?.attributes).toMatchObject({ 'responses_extproc.outcome': outcome });
  expect([span?.attributes['error.type'], span?.status]).toEqual([
    error,
    error === undefined ? 'STATUS_CODE_UNSET' : 'STATUS_CODE_ERROR',
  ]);
});

it('what is no exchange has no span', async () => {
  const none = [endedCall({ outcome: 'passed' }), endedCall({ outcome: 'local_reply' }), endedCall({ method: '' })];
  expect((await spansOf(none)).spans).toEqual([]);
});

it.each<[string, string | null, string | null, object | null]>([
  ['that is sampled', traceparent('01'), null, { traceId, parentSpanId: spanId }],
  ['that is not sampled', traceparent('00'), null, null],
  ['with a flag of a later version', traceparent('03'), null, { traceId, parentSpanId: spanId }],
  ['with another flag alone', traceparent('10'), null, null],
  ['of a later version, with more behind it', `${traceparent('01', 'cc')}-more`, null, { traceId }],
  ['with more that no version has', `${traceparent('01')}x`, null, { parentSpanId: '' }],
  ['with the version that cannot be', traceparent('01', 'ff'), null, { parentSpanId: '' }],
  ['of the trace 0', `00-${'0'.repeat(32)}-${spanId}-01`, null, { parentSpanId: '' }],
  ['of the span 0', `00-${traceId}-${'0'.repeat(16)}-01`, null, { parentSpanId: '' }],
  ['that is none', null, null, { parentSpanId: '' }],
  [
    'of Envoy, which comes before the client’s',
    traceparent('00'),
    `00-${traceId}-aaaabbbbccccdddd-01`,
    { parentSpanId: 'aaaabbbbccccdddd' },
  ],
  ['of the client, where Envoy’s is none', traceparent('01'), 'garbage', { parentSpanId: spanId }],
])('a parent %s decides where a span belongs, and whether there is one', async (_, ofClient, ofEnvoy, expected) => {
  const metadata = ofEnvoy === null ? {} : { traceparent: ofEnvoy };
  const span = await spanOf(endedCall({ traceParent: ofClient }, { metadata }));
  if (expected === null) expect(span).toBeUndefined();
  else expect(span).toMatchObject(expected);
});

it.each([
  ['trace', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['span', `00-${traceId}-${'0'.repeat(16)}-01`],
])('the %s 0 is no parent, in the log neither', (_, traceParent) => {
  expect(readTraceParent({}, { traceParent })).toBeNull();
});

it('the state of the trace goes along with its parent', async () => {
  const traceState = 'a=1,b=2';
  const [ofParent, alone] = [{ traceParent: traceparent('01'), traceState }, { traceState }];
  expect((await spansOf([ofParent, alone].map((given) => endedCall(given)))).spans).toMatchObject([
    { traceId, traceState },
    { parentSpanId: '', traceState: '' },
  ]);
});

it('the end waits two seconds at most for a collector that does not answer', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const asked = once(silent, 'connection') as Promise<[Socket]>;
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const names = { serviceName: 'a', version: '1', providerOf: String, onLost() {} };
  const tracing = createTracing({ url, ratio: 1, ...names });
  tracing.observer(endedCall({}));
  const closed = tracing.close();
  const [socket] = await asked;
  expect(timers.count).toBe(1);
  timers.pass();
  await closed;
  socket.destroy();
});

it('of the traces that begin here the share is recorded that was asked for', async () => {
  expect((await spansOf([endedCall({})], { ratio: 0 })).spans).toEqual([]);
  expect((await spansOf([endedCall({ traceParent: traceparent('01') })], { ratio: 0 })).spans).toHaveLength(1);
});

it('spans that the collector does not take are told, how many and why', async () => {
  const { spans, lost } = await spansOf([endedCall({}), endedCall({})], { url: '/elsewhere' });
  expect([spans, lost]).toEqual([[], [[2, expect.any(String)]]]);
  expect((await spansOf([endedCall({})])).lost).toEqual([]);
});
