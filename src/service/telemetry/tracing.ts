import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Attributes,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceParent } from './trace-parent.ts';

/**
 * Spans by OpenTelemetry. This module is loaded only when an endpoint is set (`loadTracing` in `serve.ts`): without one,
 * none of its packages is loaded and exchanges pay nothing for tracing.
 */
export interface Tracing {
  /** A span that ends now. */
  record(span: RecordedSpan): void;
  /** Exports the remaining spans, unless the collector takes too long. */
  close(): Promise<void>;
}

export interface RecordedSpan {
  readonly name: string;
  /** Unix milliseconds. */
  readonly startTime: number;
  readonly parent: TraceParent | null;
  readonly traceState: string | null;
  readonly attributes: Attributes;
  /** Its `error.type`. */
  readonly error: string | null;
}

export interface TracingOptions {
  /** URL that takes traces by OTLP/HTTP. */
  readonly url: string;
  readonly serviceName: string;
  readonly version: string;
  /** Share, 0 to 1, of the traces that begin here which are recorded; a caller's own decision is kept. */
  readonly ratio: number;
  /** Milliseconds between two exports. */
  readonly delayMs: number;
  /** Called with the number of spans that did not reach the collector. */
  readonly onLost: (spans: number, reason: string) => void;
}

/** How long the end of the process waits for the collector. */
const closeTimeoutMs = 2_000;

/** Starts the exporter. The headers it sends come from `OTEL_EXPORTER_OTLP_HEADERS`, which the exporter reads itself. */
export function createTracing({ url, serviceName, version, ratio, delayMs, onLost }: TracingOptions): Tracing {
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
        scheduledDelayMillis: delayMs,
      }),
    ],
  });
  const tracer = provider.getTracer('responses-extproc', version);
  return {
    record({ name, startTime, parent, traceState, attributes, error }) {
      const context =
        parent === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
              isRemote: true,
              ...(traceState === null ? {} : { traceState: createTraceState(traceState) }),
            });
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, context);
      if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
    async close() {
      const deadline = new AbortController();
      await Promise.race([
        provider.shutdown().catch(() => {}),
        sleep(closeTimeoutMs, undefined, { signal: deadline.signal }).catch(() => {}),
      ]);
      deadline.abort();
    },
  };
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
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
