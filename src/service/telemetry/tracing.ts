import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@opentelemetry/api';
import { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { ExchangeSummary } from '../../filter/index.ts';
import { findErrorType } from './error-codes.ts';
import { readTraceParent, type TraceParent } from './exchange-log.ts';
import type { CallEnd, ExchangeObserver } from './observer.ts';

export interface TracingOptions {
  readonly url: string;
  readonly serviceName: string;
  readonly version: string;
  /** The share, 0 to 1, of the traces that begin here to be recorded; a caller's own decision is kept. */
  readonly ratio: number;
  /** Returns the provider's name for a profile. An import would put all profiles into this module's bundle, too. */
  readonly providerOf: (profile: string) => string;
  readonly onLost: (spans: number, reason: string) => void;
}

const exportDelayMs = 1_000;
/** The end of the process waits for the collector for so long. */
const closeTimeoutMs = 2_000;

/** Creates spans by OpenTelemetry, whose packages are loaded with this module alone. The exporter reads `OTEL_EXPORTER_OTLP_HEADERS` itself. */
export function createTracing({ url, serviceName, version, ratio, providerOf, onLost }: TracingOptions) {
  const provider = new TracerProvider({
    // The operator's values (`OTEL_RESOURCE_ATTRIBUTES`) override these defaults.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.instance.id': randomUUID() }))
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.version': version })),
    // Names come from clients and upstreams, and may have any length.
    spanLimits: { attributeValueLengthLimit: 512 },
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportLosses(new OTLPTraceExporter({ url }), onLost),
        scheduledDelayMillis: exportDelayMs,
      }),
    ],
  });
  const tracer = provider.getTracer('responses-extproc', version);
  // One span per translated exchange, by OpenTelemetry's conventions for generative AI (open-telemetry/semantic-conventions-genai).
  const observer: ExchangeObserver = ({ how, summary, times, metadata }) => {
    // Without headers there was no request, and Envoy's own answers are in its own span.
    if (summary.outcome === 'passed' || summary.outcome === 'local_reply' || summary.method === '') return;
    const wait = times.firstByte === null || summary.events === 0 ? null : times.firstByte / 1000;
    const error = findErrorType(summary, how);
    const span = tracer.startSpan(
      summary.model === null ? 'chat' : `chat ${summary.model.slice(0, 120)}`,
      {
        kind: SpanKind.CLIENT,
        startTime: Date.now() - times.duration,
        attributes: {
          'gen_ai.provider.name': providerOf(summary.profile),
          ...writeAttributes(summary, how, wait, error),
        },
      },
      createContext(readTraceParent(metadata, summary), summary.traceState),
    );
    if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end();
  };
  return {
    observer,
    /** Exports the remaining spans, unless the collector takes too long. */
    async close(): Promise<void> {
      const deadline = new AbortController();
      await Promise.race([
        provider.shutdown().catch(() => {}),
        sleep(closeTimeoutMs, undefined, { signal: deadline.signal }).catch(() => {}),
      ]);
      deadline.abort();
    },
  };
}

function createContext(parent: TraceParent | null, traceState: string | null): Context {
  if (parent === null) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(traceState === null ? {} : { traceState: createTraceState(traceState) }),
  });
}

function writeAttributes(summary: ExchangeSummary, how: CallEnd, firstChunk: number | null, error: string | null) {
  const { tokens } = summary;
  return {
    'gen_ai.operation.name': 'chat',
    ...given({
      'error.type': error,
      'gen_ai.request.model': summary.model,
      'gen_ai.request.stream': summary.stream,
      'gen_ai.request.temperature': summary.parameters.temperature,
      'gen_ai.request.top_p': summary.parameters.topP,
      'gen_ai.request.max_tokens': summary.parameters.maxOutputTokens,
      'gen_ai.response.id': summary.responseId,
      ...readServer(summary.authority),
      'gen_ai.response.model': summary.upstreamModel,
      'gen_ai.response.finish_reasons': summary.finishReason === null ? null : [summary.finishReason],
      'gen_ai.response.time_to_first_chunk': summary.stream ? firstChunk : null,
      'gen_ai.usage.input_tokens': tokens?.input_tokens,
      'gen_ai.usage.output_tokens': tokens?.output_tokens,
      'gen_ai.usage.cache_read.input_tokens': tokens?.cached_tokens,
      'gen_ai.usage.cache_write.input_tokens': tokens?.cache_write_tokens,
      'gen_ai.usage.reasoning.output_tokens': tokens?.reasoning_tokens,
      'http.response.status_code': summary.status,
      'http.request.header.x-request-id': summary.requestId === null ? null : [summary.requestId],
    }),
    'http.request.method': summary.method,
    'url.path': summary.path,
    'responses_extproc.outcome': how === 'done' ? summary.outcome : how,
    'responses_extproc.dropped': summary.dropped.length,
  };
}

function readServer(authority: string | null): Record<string, string | number | undefined> {
  const [, six, host, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(authority ?? '') ?? [];
  return { 'server.address': six ?? host, 'server.port': port === undefined ? port : Number(port) };
}

function given<Value>(attributes: Readonly<Record<string, Value | null | undefined>>): Record<string, Value> {
  const isKnown = (entry: [string, unknown]): entry is [string, Value & {}] => (entry[1] ?? null) !== null;
  return Object.fromEntries(Object.entries(attributes).filter(isKnown));
}

/** Reports spans that are lost, because the collector is gone, wrong, or refuses: the exporter itself does not. */
function reportLosses(exporter: SpanExporter, onLost: TracingOptions['onLost']): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) onLost(spans.length, result.error.message);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
