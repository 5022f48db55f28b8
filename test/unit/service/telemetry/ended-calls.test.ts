import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createExchangeLog } from '../../../../src/service/telemetry/exchange-log.ts';
import { createExchangeMetrics } from '../../../../src/service/telemetry/exchange-metrics.ts';
import { createLog } from '../../../../src/service/telemetry/log.ts';
import { createMetrics, labelIdleMs } from '../../../../src/service/telemetry/metrics.ts';
import type { EndedCall } from '../../../../src/service/telemetry/observer.ts';
import { endedCall, streamed, times } from '../../../support/ended-call.ts';

describe('the metrics of a call that has ended', () => {
  function metricsFor(maxModels = 1) {
    const state = () => ({ ready: false, exchanges: 0, bufferedBytes: 0, profilesRejected: false, lostLogLines: 0 });
    const metrics = createMetrics({ version: '1', maxModels, profile: 'generic', worker: null, state });
    const observe = createExchangeMetrics(metrics);
    const lines = async () =>
      (await metrics.registry.metrics()).split('\n').filter((line) => /^(resp|gen_ai)/.test(line));
    return { observe, lines };
  }
  /** The samples that are not 0, without prefixes and buckets. */
  async function samplesOf(...calls: readonly EndedCall[]): Promise<string[]> {
    const { observe, lines } = metricsFor();
    for (const call of calls) observe(call);
    return (await lines())
      .filter((line) => !/_bucket|_build_info| 0$/.test(line))
      .map((line) => line.replace(/^(responses_extproc|gen_ai_server)_/, ''));
  }
  const genAi = 'gen_ai_operation_name="chat",gen_ai_provider_name="generic"';
  const bytes = [
    'body_bytes_total{leg="request",side="received"} 1000',
    'body_bytes_total{leg="request",side="sent"} 900',
    'body_bytes_total{leg="response",side="received"} 2000',
    'body_bytes_total{leg="response",side="sent"} 4000',
  ];
  const ofStream = [
    'exchange_duration_seconds_sum{stream="true"} 2.0004',
    'exchange_duration_seconds_count{stream="true"} 1',
    'translation_seconds_sum{leg="request"} 0.002',
    'translation_seconds_count{leg="request"} 1',
  ];
  const requestOf = (model: string, errorType: string) => [
    `request_duration_seconds_sum{${genAi},gen_ai_request_model="${model}",error_type="${errorType}"} 2.0004`,
    `request_duration_seconds_count{${genAi},gen_ai_request_model="${model}",error_type="${errorType}"} 1`,
  ];
  const firstEvent = [
    'time_to_first_event_seconds_sum{profile="generic"} 0.2506',
    'time_to_first_event_seconds_count{profile="generic"} 1',
  ];
  const response = ['translation_seconds_sum{leg="response"} 0.005', 'translation_seconds_count{leg="response"} 1'];
  const firstToken = [
    `time_to_first_token_seconds_sum{${genAi},gen_ai_request_model="m"} 0.4004`,
    `time_to_first_token_seconds_count{${genAi},gen_ai_request_model="m"} 1`,
  ];
  const names = [
    'unknown_types_total{kind="item",type="memo"} 1',
    'repaired_answers_total{kind="usage"} 1',
    'dropped_total{kind="tool"} 1',
    'dropped_total{kind="field"} 1',
  ];
  const streamOf = (outcome: string) => [
    `exchanges_total{outcome="${outcome}",profile="generic"} 1`,
    ...[...firstEvent, ...ofStream, ...response, ...bytes],
    'events_total 9',
  ];
  const tokensOf = (output: number) => [
    'tokens_total{model="m",type="input"} 100',
    `tokens_total{model="m",type="output"} ${output}`,
    'tokens_total{model="m",type="cached_input"} 40',
    'tokens_total{model="m",type="reasoning_output"} 5',
  ];
  const estimate = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
  const uncounted = { dropped: [], repairs: [], unknownTypes: [], tokens: null } as const;

  it.each<[string, EndedCall, readonly string[]]>([
    [
      'a stream',
      endedCall(streamed),
      [
        ...streamOf('completed'),
        ...tokensOf(21),
        ...requestOf('m', ''),
        ...firstToken,
        `time_per_output_token_seconds_sum{${genAi},gen_ai_request_model="m"} 0.08`,
        `time_per_output_token_seconds_count{${genAi},gen_ai_request_model="m"} 1`,
        ...names,
      ],
    ],
    [
      'an answer of JSON, whose time says nothing of tokens',
      endedCall({ ...streamed, ...uncounted, stream: false, events: 0, upstreamModel: null }),
      [
        'exchanges_total{outcome="completed",profile="generic"} 1',
        'exchange_duration_seconds_sum{stream="false"} 2.0004',
        'exchange_duration_seconds_count{stream="false"} 1',
        ...ofStream.slice(2),
        ...response,
        ...bytes,
        ...requestOf('other', ''),
      ],
    ],
    [
      'a stream of two tokens, the second of which took all the time after the first',
      endedCall({ ...streamed, ...uncounted, tokens: { ...streamed.tokens, output_tokens: 2 } }),
      [
        ...streamOf('completed'),
        ...tokensOf(2),
        ...requestOf('m', ''),
        ...firstToken,
        `time_per_output_token_seconds_sum{${genAi},gen_ai_request_model="m"} 1.6`,
        `time_per_output_token_seconds_count{${genAi},gen_ai_request_model="m"} 1`,
      ],
    ],
    [
      'a stream of one event, whose tokens were not counted, of a model that has named itself',
      endedCall({ ...streamed, ...uncounted, events: 1 }),
      [...streamOf('completed').with(-1, 'events_total 1'), ...requestOf('m', ''), ...firstToken],
    ],
    [
      'a stream without an event',
      endedCall({ ...streamed, ...uncounted, events: 0 }),
      [
        'exchanges_total{outcome="completed",profile="generic"} 1',
        ...[...ofStream, ...response, ...bytes],
        ...requestOf('m', ''),
        ...firstToken,
      ],
    ],
    [
      'a stream of one token, and one that broke off, which have no time per token',
      endedCall({ ...streamed, ...uncounted, tokens: { ...streamed.tokens, output_tokens: 1 } }),
      [...streamOf('completed'), ...tokensOf(1), ...requestOf('m', ''), ...firstToken],
    ],
    [
      'a stream that the client left, with what it may have cost',
      endedCall({ ...streamed, ...uncounted, outcome: 'open', estimate }, { how: 'aborted' }),
      [
        ...streamOf('aborted'),
        'estimated_tokens_total{model="m",type="input",outcome="aborted"} 7',
        'estimated_tokens_total{model="m",type="output",outcome="aborted"} 3',
        ...requestOf('m', 'aborted'),
        ...firstToken,
      ],
    ],
    [
      'one that was left after it had been counted, but before its call had ended well',
      endedCall({ ...streamed, dropped: [], repairs: [], unknownTypes: [] }, { how: 'crashed' }),
      [...streamOf('crashed'), ...tokensOf(21), ...requestOf('m', 'crashed'), ...firstToken],
    ],
    [
      'a request that was left before an answer, under no name that its client made up',
      endedCall(
        { ...streamed, ...uncounted, outcome: 'open', estimate, upstreamModel: null, upstreamStatus: null, events: 0 },
        { how: 'aborted', times: { ...times, firstByte: null, firstToken: null } },
      ),
      [
        'exchanges_total{outcome="aborted",profile="generic"} 1',
        ...ofStream,
        ...bytes,
        'estimated_tokens_total{model="other",type="input",outcome="aborted"} 7',
        'estimated_tokens_total{model="other",type="output",outcome="aborted"} 3',
        ...requestOf('other', 'aborted'),
      ],
    ],
    [
      'a refusal',
      endedCall({
        ...{ outcome: 'refused', profile: 'vllm', status: 400, errorCode: 'unsupported_value' },
        bytes: streamed.bytes,
      }),
      [
        'exchanges_total{outcome="refused",profile="vllm"} 1',
        'refusals_total{code="unsupported_value",profile="vllm"} 1',
        ...bytes,
      ],
    ],
    [
      'a refusal without a code',
      endedCall({ outcome: 'refused' }),
      ['exchanges_total{outcome="refused",profile="generic"} 1', 'refusals_total{code="unknown",profile="generic"} 1'],
    ],
    [
      'an error of the upstream',
      endedCall({ outcome: 'upstream_error', upstreamStatus: 429, status: 429, profile: 'vllm' }),
      [
        'exchanges_total{outcome="upstream_error",profile="vllm"} 1',
        'upstream_errors_total{status="429",profile="vllm"} 1',
      ],
    ],
    [
      'an upstream that cannot be reached',
      endedCall({ outcome: 'upstream_error', status: 503 }),
      [
        'exchanges_total{outcome="upstream_error",profile="generic"} 1',
        'upstream_errors_total{status="none",profile="generic"} 1',
      ],
    ],
    [
      'an answer that no upstream was asked for, which is no model’s',
      endedCall({ ...streamed, ...uncounted, upstreamStatus: null, stream: false, events: 0 }),
      [
        'exchanges_total{outcome="completed",profile="generic"} 1',
        'exchange_duration_seconds_sum{stream="false"} 2.0004',
        'exchange_duration_seconds_count{stream="false"} 1',
        ...ofStream.slice(2),
        ...bytes,
      ],
    ],
    [
      'what was only passed',
      endedCall({ ...streamed, outcome: 'passed' }),
      ['exchanges_total{outcome="passed",profile="generic"} 1'],
    ],
    [
      'what Envoy answered by itself',
      endedCall({ ...streamed, outcome: 'local_reply' }),
      ['exchanges_total{outcome="local_reply",profile="generic"} 1'],
    ],
  ])('are, of %s, these and no others', async (_, call, expected) => {
    expect((await samplesOf(call)).toSorted()).toEqual(expected.toSorted());
  });

  it('are counted in the buckets that dashboards know', async () => {
    const { observe, lines } = metricsFor();
    observe(endedCall(streamed));
    const found = (await lines())
      .filter((line) => !line.includes('leg="request"'))
      .flatMap((line) => [...line.matchAll(/^(\w+)_bucket\{(?:.*,)?le="([^"]+)".*\} (\d)$/g)])
      .map(([, name = '', least = '', value]) => ({ name, least: value === '0' ? least : `${least}:` }));
    const buckets = Object.entries(Object.groupBy(found, ({ name }) => name)).map(([name, own = []]) => [
      name,
      own.map(({ least }) => least),
    ]);
    const of = (below: string, above: string) => [...below.split(' '), ...above.split(' ').map((least) => `${least}:`)];
    expect(Object.fromEntries(buckets)).toEqual({
      responses_extproc_time_to_first_event_seconds: of('0.01 0.05 0.1 0.25', '0.5 1 2.5 5 10 30 60 120 300 600 +Inf'),
      responses_extproc_exchange_duration_seconds: of('0.01 0.05 0.1 0.25 0.5 1', '2.5 5 10 30 60 120 300 600 +Inf'),
      responses_extproc_translation_seconds: of(
        '0.00005 0.0001 0.00025 0.0005 0.001 0.0025',
        '0.005 0.01 0.025 0.05 0.1 0.5 1 +Inf',
      ),
      gen_ai_server_request_duration_seconds: of(
        '0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28',
        '2.56 5.12 10.24 20.48 40.96 81.92 +Inf',
      ),
      gen_ai_server_time_to_first_token_seconds: of(
        '0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25',
        '0.5 0.75 1 2.5 5 7.5 10 +Inf',
      ),
      gen_ai_server_time_per_output_token_seconds: of(
        '0.01 0.025 0.05 0.075',
        '0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 +Inf',
      ),
    });
  });

  it('are there from the start where a rate is to be seen from the first', async () => {
    const { lines } = metricsFor();
    const zeros = (await lines()).filter((line) => line.endsWith(' 0')).map((line) => line.slice(0, -2));
    const ofValues = (name: string, label: string, values: string, more = '') =>
      values.split(' ').map((value) => `responses_extproc_${name}_total{${label}="${value}"${more}}`);
    expect(zeros.filter((line) => line.includes('{')).toSorted()).toEqual(
      [
        ...ofValues(
          'exchanges',
          'outcome',
          'completed incomplete failed passed refused local_reply upstream_error aborted protocol_error crashed',
          ',profile="generic"',
        ),
        ...ofValues('overload', 'limit', 'exchanges buffered_bytes memory waiting'),
        ...ofValues(
          'repaired_answers',
          'kind',
          'skipped_data repeated_call arguments whole_number usage service_tier tool_choice_ignored parallel_tool_calls_ignored reasoning_alone',
        ),
        ...ofValues('dropped', 'kind', 'content reasoning tool field'),
        ...ofValues('websocket_turns', 'outcome', 'completed incomplete failed error aborted'),
        ...ofValues('profile_reloads', 'result', 'taken rejected'),
        ...ofValues('tls_reloads', 'result', 'taken rejected'),
      ].toSorted(),
    );
  });

  it('keep a bounded number of names that clients make up, until an hour later', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const { observe, lines } = metricsFor();
      const see = (type: string) => observe(endedCall({ stream: true, unknownTypes: [{ kind: 'item', type }] }));
      const shown = async () => (await lines()).filter((line) => line.startsWith('responses_extproc_unknown')).length;
      for (let n = 0; n < 66; n++) see(`t${n}`);
      expect(await shown(), '64 of their own, and `other`').toBe(65);
      for (let n = 0; n < 66; n++) observe(endedCall({ outcome: 'refused', errorCode: `c${n}` }));
      expect((await lines()).filter((line) => line.includes('_refusals_total{'))).toHaveLength(65);
      vi.advanceTimersByTime(labelIdleMs);
      see('late');
      await new Promise(setImmediate);
      expect(await shown()).toBe(65);
      expect((await lines()).join('\n')).not.toContain('"t0"');
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('the line of a call that has ended', () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22), toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  function linesOf(call: EndedCall, level: 'trace' | 'info' = 'trace'): Record<string, unknown>[] {
    const lines: Record<string, unknown>[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    createExchangeLog(createLog(level, destination), destination)(call);
    return lines;
  }
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

  it('has all that is known of a stream', () => {
    expect(linesOf(endedCall({ ...streamed, traceParent: `00-${traceId}-00f067aa0ba902b7-01` }))).toEqual([
      {
        level: 'info',
        time: '2026-11-22T00:00:00.000Z',
        request_id: 'request-1',
        trace_id: traceId,
        outcome: 'completed',
        status: 200,
        upstream_status: 200,
        code: null,
        method: 'POST',
        path: '/v1/responses',
        profile: 'generic',
        model: 'm',
        upstream_model: 'm-2026',
        stream: true,
        modes: 'BUFFERED/FULL_DUPLEX_STREAMED',
        finish_reason: 'stop',
        input_tokens: 100,
        output_tokens: 21,
        events: 9,
        dropped: ['tools[0].web_search', 'user'],
        repairs: ['usage'],
        request_bytes: [1000, 900],
        response_bytes: [2000, 4000],
        duration_ms: 2000,
        first_byte_ms: 251,
        msg: 'exchange',
      },
    ]);
  });

  it('has null for what is not known', () => {
    const call = endedCall({ outcome: 'refused', errorCode: 'invalid_json' }, { times: { ...times, firstByte: null } });
    const [line = {}] = linesOf(call);
    expect(Object.keys(line).filter((name) => line[name] === null)).toEqual([
      ...['request_id', 'trace_id', 'status', 'upstream_status', 'model', 'upstream_model', 'stream'],
      ...['finish_reason', 'input_tokens', 'output_tokens', 'first_byte_ms'],
    ]);
  });

  it('cuts what may be of any length: names after 200 characters, lists after 20 entries', () => {
    const [exact, long] = ['m'.repeat(200), 'm'.repeat(201)];
    const cut = `${exact}…`;
    const names = { requestId: long, method: long, path: long, model: long, upstreamModel: long, finishReason: long };
    const [line] = linesOf(endedCall({ ...names, dropped: Array.from({ length: 21 }, (_, n) => `f${n}`) }));
    expect(line).toMatchObject({
      ...{ request_id: cut, method: cut, path: cut, model: cut, upstream_model: cut, finish_reason: cut },
      dropped: Array.from({ length: 20 }, (_, n) => `f${n}`),
    });
    expect(linesOf(endedCall({ model: exact }))).toMatchObject([{ model: exact }]);
    expect(linesOf(endedCall({ asked: { model: 'asked', stream: false } }))).toMatchObject([
      { model: 'asked', stream: false },
    ]);
  });

  it.each<[level: string, outcome: string, EndedCall]>([
    ['debug', 'passed', endedCall({ outcome: 'passed' })],
    ['info', 'refused', endedCall({ outcome: 'refused', errorCode: 'invalid_json' })],
    ['error', 'refused', endedCall({ outcome: 'refused', errorCode: 'proxy_misconfigured' })],
    ['info', 'aborted', endedCall({}, { how: 'aborted' })],
    ['warn', 'protocol_error', endedCall({ outcome: 'passed' }, { how: 'protocol_error' })],
    ['error', 'crashed', endedCall({ outcome: 'passed' }, { how: 'crashed' })],
  ])('is at the level %s for what ends as %s', (level, outcome, call) => {
    expect(linesOf(call)).toMatchObject([{ level, outcome }]);
    expect(linesOf(call, 'info')).toHaveLength(level === 'debug' ? 0 : 1);
  });

  it('has the class and the stack of an error, without its words', () => {
    const cause = Object.assign(new TypeError('a secret'), {
      stack: `TypeError: a secret\n    at b\n${Array.from({ length: 6 }, (_, n) => `    at f${n} (x.ts:1:1)`).join('\n')}`,
    });
    const places = ['at b', ...Array.from({ length: 4 }, (_, n) => `at f${n} (x.ts:1:1)`)];
    expect(linesOf(endedCall({}, { how: 'crashed', cause }))).toMatchObject([{ cause: 'TypeError', at: places }]);
    expect(linesOf(endedCall({ errorCause: cause }))).toMatchObject([{ cause: 'TypeError', at: places }]);
    for (const thrown of ['a secret', { stack: 'a secret' }, undefined])
      expect(Object.keys(linesOf(endedCall({}, { cause: thrown }))[0] ?? {})).not.toContain('cause');
    const bare = Object.assign(new Error('a secret'), { stack: undefined });
    expect(linesOf(endedCall({}, { cause: bare }))).toMatchObject([{ cause: 'Error', at: [] }]);
  });
});
