import type { ExchangeSummary } from '../../src/filter/exchange/summary.ts';
import { Exchange } from '../../src/filter/index.ts';
import type { EndedCall } from '../../src/service/telemetry/observer.ts';
import { exchangeOptions } from './exchange-options.ts';

const nothing: ExchangeSummary = {
  requestId: null,
  method: 'POST',
  path: '/v1/responses',
  authority: null,
  traceParent: null,
  traceState: null,
  asked: { model: null, stream: null },
  upstreamStatus: null,
  finishReason: null,
  events: 0,
  outcome: 'open',
  modes: { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' },
  profile: 'generic',
  model: null,
  upstreamModel: null,
  stream: null,
  responseId: null,
  parameters: { temperature: null, topP: null, maxOutputTokens: null },
  status: null,
  errorCode: null,
  errorCause: null,
  tokens: null,
  estimate: null,
  dropped: [],
  unknownTypes: [],
  repairs: [],
  bytes: { requestIn: 0, requestOut: 0, responseIn: 0, responseOut: 0 },
};

/** A stream that went well, with each of its facts. */
export const streamed = {
  outcome: 'completed',
  requestId: 'request-1',
  authority: 'gateway.example:8443',
  asked: { model: 'm', stream: true },
  model: 'm',
  upstreamModel: 'm-2026',
  stream: true,
  responseId: 'resp_1',
  parameters: { temperature: 0.5, topP: 0.9, maxOutputTokens: 64 },
  status: 200,
  upstreamStatus: 200,
  finishReason: 'stop',
  events: 9,
  tokens: {
    input_tokens: 100,
    output_tokens: 21,
    total_tokens: 121,
    cached_tokens: 40,
    cache_write_tokens: 30,
    reasoning_tokens: 5,
  },
  dropped: ['tools[0].web_search', 'user'],
  repairs: ['usage'],
  unknownTypes: [{ kind: 'item', type: 'memo' }],
  bytes: { requestIn: 1000, requestOut: 900, responseIn: 2000, responseOut: 4000 },
} as const satisfies Partial<ExchangeSummary>;

/** Times of a call that took two seconds, in milliseconds. */
export const times: EndedCall['times'] = {
  duration: 2000.4,
  firstByte: 250.6,
  firstToken: 400.4,
  work: { request: 2, response: 5 },
};

/** A call as observers are told of it: of a request of which nothing is known but what is given. */
export function endedCall(summary: Partial<ExchangeSummary>, call: Partial<EndedCall> = {}): EndedCall {
  return {
    exchange: new Exchange(exchangeOptions()),
    metadata: {},
    how: 'done',
    summary: { ...nothing, ...summary },
    times,
    cause: undefined,
    ...call,
  };
}
