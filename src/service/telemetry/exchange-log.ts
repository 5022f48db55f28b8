import type { DestinationStream } from 'pino';
import type { ExchangeSummary } from '../../filter/index.ts';
import { shownErrorCode } from './error-codes.ts';
import { createLineWriter, type Log } from './log.ts';
import type { CallEnd, CallMetadata, ExchangeObserver } from './observer.ts';

/** Logs one line per exchange: names, outcome, sizes and durations; never a body, a header, or a message that may repeat them. */
export function createExchangeLog(log: Log, destination: DestinationStream): ExchangeObserver {
  const write = createLineWriter(log, destination);
  return ({ how, summary, times, metadata, cause }) => {
    const level = chooseLevel(summary, how);
    if (!log.isLevelEnabled(level)) return;
    const line = {
      ...describeExchange(summary, readTraceParent(metadata, summary)?.traceId ?? null),
      // The end of the call says more than the outcome of an exchange that was still open.
      ...(how === 'done' ? {} : { outcome: how }),
      duration_ms: Math.round(times.duration),
      first_byte_ms: times.firstByte === null ? null : Math.round(times.firstByte),
      ...describeCause(cause ?? summary.errorCause),
    };
    write(level, line, 'exchange');
  };
}

function chooseLevel({ outcome, errorCode }: ExchangeSummary, how: CallEnd): 'error' | 'warn' | 'info' | 'debug' {
  if (how === 'crashed' || errorCode === 'proxy_misconfigured') return 'error';
  if (how === 'protocol_error') return 'warn';
  return outcome === 'passed' ? 'debug' : 'info';
}

function describeExchange(summary: ExchangeSummary, traceId: string | null): object {
  const { modes, tokens, bytes } = summary;
  return {
    request_id: short(summary.requestId),
    trace_id: traceId,
    outcome: summary.outcome,
    status: summary.status,
    upstream_status: summary.upstreamStatus,
    code: shownErrorCode(summary),
    method: short(summary.method),
    path: short(summary.path),
    profile: summary.profile,
    model: short(summary.model ?? summary.asked.model),
    upstream_model: short(summary.upstreamModel),
    stream: summary.stream ?? summary.asked.stream,
    modes: `${modes.request}/${modes.response}`,
    finish_reason: short(summary.finishReason),
    input_tokens: tokens?.input_tokens ?? null,
    output_tokens: tokens?.output_tokens ?? null,
    events: summary.events,
    dropped: summary.dropped.slice(0, maxDroppedNames),
    repairs: summary.repairs,
    request_bytes: [bytes.requestIn, bytes.requestOut],
    response_bytes: [bytes.responseIn, bytes.responseOut],
  };
}

/** A line lists at most so many dropped parts of a request; the counter has them all. */
const maxDroppedNames = 20;

/** Shortens a name, since clients and upstreams choose names of any length. */
function short(name: string | null): string | null {
  return name === null || name.length <= 200 ? name : `${name.slice(0, 200)}…`;
}

/** Describes an error by class and stack, without its message, which may hold what a client or an upstream wrote. */
export function describeCause(cause: unknown): object {
  if (!(cause instanceof Error)) return {};
  const stack = cause.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return { cause: cause.name, at: stack.slice(0, 5).map((line) => line.trim()) };
}

/** The caller's span (W3C Trace Context, level 1, §3.2). */
export type TraceParent = NonNullable<ReturnType<typeof readTraceParent>>;

/** A valid `traceparent`: not the version `ff`, and no id of zeros. */
const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** Reads the parent of an exchange's span: Envoy's span, in the call's metadata, if Envoy traces; else the client's `traceparent`. */
export function readTraceParent(metadata: CallMetadata, { traceParent }: Pick<ExchangeSummary, 'traceParent'>) {
  return readHeader(metadata['traceparent']?.toString()) ?? readHeader(traceParent);
}

function readHeader(value: string | null = null) {
  const match = pattern.exec(String(value));
  if (match === null) return null;
  const [, traceId = '', spanId = '', flags] = match;
  return { traceId, spanId, sampled: (Number.parseInt(String(flags), 16) & 1) === 1 };
}
