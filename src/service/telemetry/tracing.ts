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
import { errorTypeOf } from './error-codes.ts';
import { parentOf, type TraceParent } from './exchange-log.ts';
import type { CallEnd, ExchangeObserver } from './observer.ts';

export interface TracingOptions {
  /** URL that takes traces by OTLP/HTTP. */
  readonly url: string;
  readonly serviceName: string;
  readonly version: string;
  /** Share, 0 to 1, of the traces that begin here which are recorded; a caller's own decision is kept. */
  readonly ratio: number;
  /** The provider's name for a profile. Given, since a bundle of its own would have all profiles a second time. */
  readonly providerOf: (profile: string) => string;
  /** Called with the number of spans that did not reach the collector. */
  readonly onLost: (spans: number, reason: string) => void;
}

/** Between two exports. */
const exportDelayMs = 1_000;
/** How long the end of the process waits for the collector. */
const closeTimeoutMs = 2_000;

/**
 * Spans by OpenTelemetry. This module is loaded only when an endpoint is set (`loadTracing` in `serve.ts`): without one,
 * none of its packages is loaded and exchanges pay nothing for tracing. The headers that the exporter sends come from
 * `OTEL_EXPORTER_OTLP_HEADERS`, which it reads itself.
 */
export function createTracing({ url, serviceName, version, ratio, providerOf, onLost }: TracingOptions) {
  const provider = new TracerProvider({
    // The operator's values (`OTEL_RESOURCE_ATTRIBUTES`) override the defaults made here.
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
  /**
   * One span per translated exchange, named and described by OpenTelemetry's conventions for generative AI
   * (open-telemetry/semantic-conventions-genai). Contents are never recorded.
   */
  const observer: ExchangeObserver = ({ how, summary, times, metadata }) => {
    // Without headers there was no request; of what Envoy answers by itself, its own span tells.
    if (summary.outcome === 'passed' || summary.outcome === 'local_reply' || summary.method === '') return;
    const wait = times.firstByte === null || summary.events === 0 ? null : times.firstByte / 1000;
    const error = errorTypeOf(summary, how);
    const span = tracer.startSpan(
      summary.model === null ? 'chat' : `chat ${summary.model.slice(0, 120)}`,
      {
        kind: SpanKind.CLIENT,
        startTime: Date.now() - times.duration,
        attributes: {
          'gen_ai.provider.name': providerOf(summary.profile),
          ...attributesOf(summary, how, wait, error),
        },
      },
      contextOf(parentOf(metadata, summary), summary.traceState),
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

function contextOf(parent: TraceParent | null, traceState: string | null): Context {
  if (parent === null) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(traceState === null ? {} : { traceState: createTraceState(traceState) }),
  });
}

function attributesOf(
  summary: ExchangeSummary,
  how: CallEnd,
  secondsToFirstChunk: number | null,
  error: string | null,
) {
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
      ...serverOf(summary.authority),
      'gen_ai.response.model': summary.upstreamModel,
      'gen_ai.response.finish_reasons': summary.finishReason === null ? null : [summary.finishReason],
      'gen_ai.response.time_to_first_chunk': summary.stream ? secondsToFirstChunk : null,
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

/** `host`, `host:port` or `[IPv6]:port` as attributes. */
function serverOf(authority: string | null): Record<string, string | number | undefined> {
  const [, six, host, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(authority ?? '') ?? [];
  return { 'server.address': six ?? host, 'server.port': port === undefined ? port : Number(port) };
}

/** The attributes that are known. */
function given<Value>(attributes: Readonly<Record<string, Value | null | undefined>>): Record<string, Value> {
  const isKnown = (entry: [string, unknown]): entry is [string, Value & {}] => (entry[1] ?? null) !== null;
  return Object.fromEntries(Object.entries(attributes).filter(isKnown));
}

/** The exporter itself does not report a collector that is gone, wrong, or refuses. */
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
