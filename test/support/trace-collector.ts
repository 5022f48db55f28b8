import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly traceState: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** `STATUS_CODE_…` */
  readonly status: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly durationMs: number;
  /** The trace’s, and from bit 8 on whether its parent is known to be in another process. */
  readonly flags: number;
}

/** Accepts what an OTLP/HTTP exporter sends, as a collector would. */
export interface TraceCollector {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Headers of the last export. */
  readonly headers: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}
type AnyValue = Readonly<Record<string, unknown>> & { readonly array_value?: { readonly values: readonly AnyValue[] } };
interface Export {
  readonly resource_spans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scope_spans: readonly { readonly scope: ReceivedSpan['scope']; readonly spans: readonly WireSpan[] }[];
  }[];
}
interface WireSpan {
  readonly trace_id: Buffer;
  readonly trace_state: string;
  readonly parent_span_id: Buffer;
  readonly name: string;
  readonly kind: string;
  readonly start_time_unix_nano: string;
  readonly end_time_unix_nano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code: string } | null;
  readonly flags: number;
}

const definitions = loadSync(join(import.meta.dirname, 'otlp-traces.proto'), {
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
});
const { Export: method } = definitions['test.otlp.TraceService'] as ServiceDefinition;

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: ReceivedSpan[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    headers = request.headers;
    if (request.url !== '/v1/traces' || method === undefined) return response.writeHead(404).end();
    const { resource_spans } = method.requestDeserialize(Buffer.concat(pieces)) as Export;
    for (const { resource, scope_spans } of resource_spans)
      for (const { scope, span } of scope_spans.flatMap(({ scope, spans }) => spans.map((span) => ({ scope, span }))))
        spans.push({
          traceId: span.trace_id.toString('hex'),
          traceState: span.trace_state,
          parentSpanId: span.parent_span_id.toString('hex'),
          name: span.name,
          kind: span.kind,
          attributes: attributesOf(span.attributes),
          status: span.status?.code ?? 'STATUS_CODE_UNSET',
          resource: attributesOf(resource.attributes),
          scope,
          durationMs: Number(BigInt(span.end_time_unix_nano) - BigInt(span.start_time_unix_nano)) / 1e6,
          flags: span.flags,
        });
    return response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get headers() {
      return headers;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function attributesOf(list: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: AnyValue): unknown {
  if (value.array_value) return value.array_value.values.map(plain);
  const [kind, content] = Object.entries(value).find(([, inner]) => inner !== null && inner !== undefined) ?? [];
  return kind === 'int_value' ? Number(content) : content;
}
