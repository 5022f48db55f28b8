import type { ExchangeSummary } from '../../filter/index.ts';
import type { CallMetadata } from './observer.ts';

/** The caller's span (W3C Trace Context, level 1, §3.2). */
export type TraceParent = NonNullable<ReturnType<typeof parentOf>>;

/** The version `ff`, and ids of zeros, are invalid. */
const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/**
 * The parent of an exchange's span. With tracing on, Envoy opens the call inside its own span and sends that in the
 * call's metadata; otherwise the client's `traceparent` header is used.
 */
export function parentOf(metadata: CallMetadata, { traceParent }: Pick<ExchangeSummary, 'traceParent'>) {
  return parseTraceParent(metadata['traceparent']?.toString()) ?? parseTraceParent(traceParent);
}

/** The value of a `traceparent` header, or null where it is missing or invalid. */
function parseTraceParent(value: string | null = null) {
  const match = pattern.exec(String(value));
  if (match === null) return null;
  const [, traceId = '', spanId = '', flags] = match;
  return { traceId, spanId, sampled: (Number.parseInt(String(flags), 16) & 1) === 1 };
}
