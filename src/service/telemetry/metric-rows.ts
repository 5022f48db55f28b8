import type { Counter, Gauge, Histogram } from 'prom-client';
import { repairKinds } from '../../filter/index.ts';

/** The row of a metric, here and in `docs/watching.md`. With buckets it is a histogram. */
export interface MetricRow {
  /** By Prometheus' conventions, the name of a counter ends in `_total`, and no gauge's does. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Further text for the documentation, in Markdown. */
  readonly more?: string;
  readonly buckets?: readonly number[];
  /** Values of the first label that have a series of 0 from the start: one that begins with 1 shows no rate for its first event. */
  readonly values?: readonly string[];
}

/** Metrics that are read at each scrape, by their names in the state. */
export type ReadRows = Readonly<Record<string, Pick<MetricRow, 'name' | 'help' | 'more'>>>;

export type MetricOf<Row extends MetricRow> = Row extends { readonly buckets: readonly number[] }
  ? Histogram<LabelsOf<Row>>
  : Row['name'] extends `${string}_total`
    ? Counter<LabelsOf<Row>>
    : Gauge<LabelsOf<Row>>;

export function readType({ name, buckets }: MetricRow): 'counter' | 'gauge' | 'histogram' {
  if (buckets !== undefined) return 'histogram';
  return name.endsWith('_total') ? 'counter' : 'gauge';
}

type LabelsOf<Row> = Row extends { readonly labels: readonly (infer Label extends string)[] } ? Label : never;

/** Buckets from an answer on the same machine to an agent that thinks for ten minutes. */
const secondsOfAnswers = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const secondsOfWork = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

/** OpenTelemetry's conventions for metrics of generative AI, in Prometheus' spelling: names, labels and buckets. */
const genAiLabels = ['gen_ai_request_model', 'gen_ai_provider_name', 'gen_ai_operation_name'] as const;
const secondsPerToken = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const secondsToFirstToken = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const secondsOfRequests = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

const reloadResults = ['taken', 'rejected'];

/** Kinds of names in `x-responses-dropped`, as the counter's label: docs/mapping.md, "Reading x-responses-dropped". */
export const droppedKinds = ['content', 'reasoning', 'tool', 'field'] as const;

/** The metrics that are updated as things happen, in the order of the documentation. */
export const metricRows = {
  exchanges: {
    name: 'responses_extproc_exchanges_total',
    help: 'Finished exchanges, by outcome and profile.',
    labels: ['outcome', 'profile'],
    values: [
      'completed',
      'incomplete',
      'failed',
      'passed',
      'refused',
      'local_reply',
      'upstream_error',
      'aborted',
      'protocol_error',
      'crashed',
    ],
    more: '`completed`, `incomplete` and `failed` are the Response’s status. A call that was cut because memory is short has `failed`, too. `refused`: the service rejected the request. `local_reply`: Envoy answered by itself, for example to a missing key. `upstream_error`: the Chat server answered with an error. `passed`: the request was not translated. `aborted`: the client disconnected or the Chat server reset the connection; Envoy’s response flags (`DC`, `UC`, `UR`) say which. `protocol_error` and `crashed` are defects.',
  },
  refusals: {
    name: 'responses_extproc_refusals_total',
    help: 'Requests answered with an error before the upstream was called, by error code.',
    labels: ['code', 'profile'],
  },
  upstreamErrors: {
    name: 'responses_extproc_upstream_errors_total',
    help: 'Upstream responses that became an HTTP error, by the upstream’s status.',
    labels: ['status', 'profile'],
    more: '`none`: it could not be reached or did not answer in time.',
  },
  overload: {
    name: 'responses_extproc_overload_total',
    help: 'Requests refused with 503, by the limit that was reached.',
    labels: ['limit'],
    values: ['exchanges', 'buffered_bytes', 'memory', 'waiting'],
    more: '`exchanges`: `MAX_EXCHANGES`. `buffered_bytes`: `MAX_BUFFERED_BYTES`. `memory`: the memory of the process. `waiting`: a large body waited too long to be translated.',
  },
  firstEventSeconds: {
    name: 'responses_extproc_time_to_first_event_seconds',
    help: 'From the request’s headers to the first bytes of a streamed response.',
    labels: ['profile'],
    buckets: secondsOfAnswers,
  },
  exchangeSeconds: {
    name: 'responses_extproc_exchange_duration_seconds',
    help: 'From the request’s headers to the end of the exchange.',
    labels: ['stream'],
    buckets: secondsOfAnswers,
  },
  translationSeconds: {
    name: 'responses_extproc_translation_seconds',
    help: 'Time this service itself spent on one exchange.',
    labels: ['leg'],
    buckets: secondsOfWork,
  },
  bodyBytes: {
    name: 'responses_extproc_body_bytes_total',
    help: 'Bytes of bodies, as received and as sent.',
    labels: ['leg', 'side'],
  },
  events: {
    name: 'responses_extproc_events_total',
    help: 'Server-sent events written.',
  },
  tokens: {
    name: 'responses_extproc_tokens_total',
    help: 'Tokens, as counted by the upstream.',
    labels: ['model', 'type'],
    more: 'Types: `input` and `output`. `cached_input` is part of `input`, `reasoning_output` is part of `output`. Fifty models have a label of their own, the rest count as `other`. A model that was not used for an hour makes room for another.',
  },
  estimatedTokens: {
    name: 'responses_extproc_estimated_tokens_total',
    help: 'Estimated tokens of answers that the upstream did not count, by outcome.',
    labels: ['model', 'type', 'outcome'],
    more: 'A model that has not answered yet counts as `other`.',
  },
  requestSeconds: {
    name: 'gen_ai_server_request_duration_seconds',
    help: 'From the request’s headers to the end of the response, by model.',
    labels: [...genAiLabels, 'error_type'],
    buckets: secondsOfRequests,
    more: 'The three metrics `gen_ai_…` follow OpenTelemetry’s conventions. `error_type` is the error’s code, or empty. A model that has not answered yet counts as `other`.',
  },
  firstTokenSeconds: {
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'From the request’s headers to the first delta of a streamed response, by model.',
    labels: genAiLabels,
    buckets: secondsToFirstToken,
  },
  tokenSeconds: {
    name: 'gen_ai_server_time_per_output_token_seconds',
    help: 'Time per output token after the first, of streamed responses, by model.',
    labels: genAiLabels,
    buckets: secondsPerToken,
  },
  unknownTypes: {
    name: 'responses_extproc_unknown_types_total',
    help: 'Unknown types of items, parts and tools, and unread events and fields of upstreams, by kind and name.',
    labels: ['kind', 'type'],
    more: 'An exchange counts each type once. Events are those with a provider’s name (`provider:type`). Beyond 64 types the rest count as `other`. A type that was not seen for an hour makes room for another.',
  },
  repairs: {
    name: 'responses_extproc_repaired_answers_total',
    help: 'Answers in which something was repaired or left out, by kind.',
    labels: ['kind'],
    values: repairKinds,
    more: 'An exchange counts each kind once. `skipped_data`: data that is not JSON. `repeated_call`: a call that came twice under one id. `arguments`: arguments that are `null`, a text of the object, or an object with something behind it. `whole_number`: `120000.0` for `120000`. `usage`: counts that contradict each other. `service_tier`: a tier that the API has no word for. `tool_choice_ignored`: text where a call was required. `parallel_tool_calls_ignored`: several calls where one was allowed. `reasoning_alone`: [reasoning and nothing else](settings.md#the-translation).',
  },
  dropped: {
    name: 'responses_extproc_dropped_total',
    help: 'What was dropped from requests (x-responses-dropped), by kind.',
    labels: ['kind'],
    values: droppedKinds,
    more: 'Kinds: `content`, `reasoning`, `tool`, `field` ([how to read them](mapping.md#reading-x-responses-dropped)).',
  },
  webSocketTurns: {
    name: 'responses_extproc_websocket_turns_total',
    help: 'Turns on WebSockets, by outcome.',
    labels: ['outcome'],
    values: ['completed', 'incomplete', 'failed', 'error', 'aborted'],
    more: 'Messages that are not a turn count as `error`.',
  },
  webSocketCloses: {
    name: 'responses_extproc_websocket_closes_total',
    help: 'Closed WebSockets, by close code. 1006: without a closing handshake.',
    labels: ['code'],
  },
  webSocketRefusals: {
    name: 'responses_extproc_websocket_refusals_total',
    help: 'Handshakes, messages and turns of WebSockets refused before the proxy was asked, by error code.',
    labels: ['code'],
  },
  build: {
    name: 'responses_extproc_build_info',
    help: 'Always 1; the labels say what is running.',
    labels: ['version', 'node'],
  },
  certificateExpiry: {
    name: 'responses_extproc_tls_certificate_not_after_seconds',
    help: 'Unix time at which the certificate in use expires; 0 without TLS.',
  },
  profileReloads: {
    name: 'responses_extproc_profile_reloads_total',
    help: 'Changes of the profiles file, taken or rejected.',
    labels: ['result'],
    values: reloadResults,
  },
  certificateReloads: {
    name: 'responses_extproc_tls_reloads_total',
    help: 'Changed certificate files, taken or rejected.',
    labels: ['result'],
    values: reloadResults,
  },
  tlsHandshakeFailures: {
    name: 'responses_extproc_tls_handshake_failures_total',
    help: 'Connections to the gRPC port whose TLS handshake failed.',
  },
  spansLost: {
    name: 'responses_extproc_spans_lost_total',
    help: 'Spans that did not reach the collector.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

const lostLogLines = {
  name: 'responses_extproc_log_lines_lost_total',
  help: 'Log lines that could not be written.',
} as const;

export const stateRows = {
  ready: {
    name: 'responses_extproc_ready',
    help: '1 while new exchanges are accepted.',
  },
  exchanges: {
    name: 'responses_extproc_active_exchanges',
    help: 'Exchanges in progress.',
  },
  bufferedBytes: {
    name: 'responses_extproc_buffered_bytes',
    help: 'Bytes that exchanges hold: bodies, the state of streams, what the proxy has not read.',
  },
  profilesRejected: {
    name: 'responses_extproc_profiles_rejected',
    help: '1 while the profiles file cannot be used, and the profiles of an earlier version are in force.',
  },
  lostLogLines,
} as const satisfies ReadRows;

/** Metrics of the listener for WebSockets, where it is on. */
export const webSocketRows = {
  connections: {
    name: 'responses_extproc_websocket_connections',
    help: 'Open WebSockets.',
  },
  keptBytes: {
    name: 'responses_extproc_websocket_kept_bytes',
    help: 'Bytes of conversations kept for continuations.',
  },
  evictions: {
    name: 'responses_extproc_websocket_evictions_total',
    help: 'Conversations forgotten because requests needed the memory.',
  },
} as const satisfies ReadRows;

export const supervisorRows = {
  readyWorkers: {
    name: 'responses_extproc_ready_workers',
    help: 'Workers that accept new exchanges.',
  },
  restarts: {
    name: 'responses_extproc_worker_restarts_total',
    help: 'Workers that exited and were restarted.',
  },
  lostLogLines,
} as const satisfies ReadRows;

type DroppedKind = (typeof droppedKinds)[number];

/** Reads the kind of a dropped name: a part that the model does not see, earlier reasoning, a tool that is not offered, or a field. */
export function readDroppedKind(name: string): DroppedKind {
  const ofTool = /\btools\[\d+\]\.(?!tools\[)(strict$|parameters\.)?/.exec(name);
  if (ofTool !== null) return ofTool[1] === undefined ? 'tool' : 'field';
  if (name === 'input[].reasoning' || name.endsWith('.item_reference')) return 'reasoning';
  return name === 'input[].content' || /^input\[\d+\]\./.test(name) ? 'content' : 'field';
}
