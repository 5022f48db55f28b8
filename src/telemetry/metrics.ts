import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface MetricsOptions {
  readonly version: string;
  /** Models with their own label; later ones count as `other`. */
  readonly maxModels: number;
  /** The worker's number, a label on all of its series, so that counters reset per worker; null without workers. */
  readonly worker: number | null;
  /** Read at each scrape. */
  readonly state: () => {
    readonly ready: boolean;
    readonly exchanges: number;
    readonly bufferedBytes: number;
    readonly lostLogLines: number;
  };
}

/** All metrics; each name and its labels are described in `docs/operating.md`. */
export type Metrics = ReturnType<typeof createMetrics>;

/** From an answer on the same machine to an agent that thinks for ten minutes. */
const secondsOfAnswers = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const secondsOfWork = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

/** OpenTelemetry's conventions for metrics of generative AI, in Prometheus' spelling: names, labels and buckets. */
const genAiLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;
const secondsPerToken = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const secondsToFirstToken = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const secondsOfRequests = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/** Some servers accept any model name, however long. */
const MAX_LABEL_LENGTH = 120;

/** How exchanges end: their own outcome, or how the call was broken off. */
const outcomes = [
  ...['completed', 'incomplete', 'failed', 'passed', 'refused', 'upstream_error'],
  ...['aborted', 'protocol_error', 'crashed'],
];

/** The metrics of one process, including Node's own. */
export function createMetrics({ version, maxModels, worker, state }: MetricsOptions) {
  const registry = new Registry();
  if (worker !== null) registry.setDefaultLabels({ worker: String(worker) });
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const build = new Gauge({
    name: 'responses_extproc_build_info',
    help: 'Always 1; the labels say what is running.',
    labelNames: ['version', 'node'],
    registers,
  });
  build.set({ version, node: process.versions.node }, 1);
  const now = (name: string, help: string, value: (current: ReturnType<typeof state>) => number) =>
    new Gauge({
      name: `responses_extproc_${name}`,
      help,
      registers,
      collect() {
        this.set(value(state()));
      },
    });
  now('ready', '1 while new exchanges are accepted.', ({ ready }) => Number(ready));
  now('active_exchanges', 'Exchanges in progress.', ({ exchanges }) => exchanges);
  now('buffered_bytes', 'Bytes of bodies buffered until they are complete.', ({ bufferedBytes }) => bufferedBytes);

  countLostLogLines(registry, () => state().lostLogLines);

  const exchanges = new Counter({
    name: 'responses_extproc_exchanges_total',
    help: 'Finished exchanges, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const overload = new Counter({
    name: 'responses_extproc_overload_total',
    help: 'Requests refused with 503, by the limit that was reached.',
    labelNames: ['limit'],
    registers,
  });
  const certificateReloads = new Counter({
    name: 'responses_extproc_tls_reloads_total',
    help: 'Changed certificate files, taken or rejected.',
    labelNames: ['result'],
    registers,
  });
  const profileReloads = new Counter({
    name: 'responses_extproc_profile_reloads_total',
    help: 'Changes of the profiles file, taken or rejected.',
    labelNames: ['result'],
    registers,
  });
  // A series that first appears with the value 1 shows no rate for its first event.
  for (const outcome of outcomes) exchanges.inc({ outcome }, 0);
  for (const limit of ['exchanges', 'buffered_bytes', 'memory']) overload.inc({ limit }, 0);
  for (const result of ['taken', 'rejected']) {
    certificateReloads.inc({ result }, 0);
    profileReloads.inc({ result }, 0);
  }

  return {
    registry,
    exchanges,
    overload,
    certificateReloads,
    profileReloads,
    /** The label of a model. */
    modelLabel: createBoundedLabel(maxModels),
    refusals: new Counter({
      name: 'responses_extproc_refusals_total',
      help: 'Requests answered with an error before the upstream was called, by error code.',
      labelNames: ['code'],
      registers,
    }),
    upstreamErrors: new Counter({
      name: 'responses_extproc_upstream_errors_total',
      help: 'Upstream responses that became an HTTP error, by the upstream’s status.',
      labelNames: ['status'],
      registers,
    }),
    exchangeSeconds: new Histogram({
      name: 'responses_extproc_exchange_duration_seconds',
      help: 'From the request’s headers to the end of the exchange.',
      labelNames: ['stream'],
      buckets: secondsOfAnswers,
      registers,
    }),
    firstEventSeconds: new Histogram({
      name: 'responses_extproc_time_to_first_event_seconds',
      help: 'From the request’s headers to the first bytes of a streamed response, including the upstream’s time.',
      buckets: secondsOfAnswers,
      registers,
    }),
    translationSeconds: new Histogram({
      name: 'responses_extproc_translation_seconds',
      help: 'Time this service itself spent on one exchange, all messages together.',
      labelNames: ['leg'],
      buckets: secondsOfWork,
      registers,
    }),
    bodyBytes: new Counter({
      name: 'responses_extproc_body_bytes_total',
      help: 'Bytes of bodies, as received and as sent.',
      labelNames: ['leg', 'side'],
      registers,
    }),
    events: new Counter({
      name: 'responses_extproc_events_total',
      help: 'Server-sent events written.',
      registers,
    }),
    tokens: new Counter({
      name: 'responses_extproc_tokens_total',
      help: 'Tokens, as counted by the upstream.',
      labelNames: ['model', 'type'],
      registers,
    }),
    unknownTypes: new Counter({
      name: 'responses_extproc_unknown_types_total',
      help: 'Items, parts and tools of a type this version does not know, by type; a request counts once.',
      labelNames: ['kind', 'type'],
      registers,
    }),
    dropped: new Counter({
      name: 'responses_extproc_dropped_total',
      help: 'Parts of requests dropped because the upstream has no equivalent (x-responses-dropped).',
      registers,
    }),
    spansLost: new Counter({
      name: 'responses_extproc_spans_lost_total',
      help: 'Spans that did not reach the collector.',
      registers,
    }),
    tlsHandshakeFailures: new Counter({
      name: 'responses_extproc_tls_handshake_failures_total',
      help: 'Connections to the gRPC port whose TLS handshake failed.',
      registers,
    }),
    tokenSeconds: new Histogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      help: 'Time per output token after the first, of streamed responses, by model.',
      labelNames: genAiLabels,
      buckets: secondsPerToken,
      registers,
    }),
    firstTokenSeconds: new Histogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'From the request’s headers to the first delta of a streamed response, by model.',
      labelNames: genAiLabels,
      buckets: secondsToFirstToken,
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'gen_ai_server_request_duration_seconds',
      help: 'From the request’s headers to the end of the response, by model.',
      labelNames: [...genAiLabels, 'error_type'],
      buckets: secondsOfRequests,
      registers,
    }),
    certificateExpiry: new Gauge({
      name: 'responses_extproc_tls_certificate_not_after_seconds',
      help: 'Unix time at which the certificate in use expires; 0 without TLS.',
      registers,
    }),
  };
}

/** The supervisor's own metrics, in addition to its workers'. */
export function createSupervisorMetrics(
  state: () => { readonly readyWorkers: number; readonly restarts: number; readonly lostLogLines: number },
) {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'responses_extproc_ready_workers',
    help: 'Workers that accept new exchanges.',
    registers,
    collect() {
      this.set(state().readyWorkers);
    },
  });
  const restarts = new Counter({
    name: 'responses_extproc_worker_restarts_total',
    help: 'Workers that exited and were restarted.',
    registers,
    collect() {
      restarts.reset();
      restarts.inc(state().restarts);
    },
  });
  countLostLogLines(registry, () => state().lostLogLines);
  return registry;
}

function countLostLogLines(registry: Registry, lost: () => number): void {
  new Counter({
    name: 'responses_extproc_log_lines_lost_total',
    help: 'Log lines that could not be written: the reader of standard output is gone or too slow, or a disk is full.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(lost());
    },
  });
}

/**
 * Labels for at most `most` names; every later name is `other`. Names come from clients, and a time series is never
 * freed.
 */
export function createBoundedLabel(most: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    const label = name.slice(0, MAX_LABEL_LENGTH);
    if (known.has(label)) return label;
    if (known.size >= most) return 'other';
    known.add(label);
    return label;
  };
}
