import type { ExchangeSummary } from '../../filter/exchange/summary.ts';
import { otelNameOf } from '../../filter/upstream/profiles.ts';
import { errorTypeOf } from './error-codes.ts';
import type { CallEnd, ExchangeObserver } from './observer.ts';
import { parentOf } from './trace-parent.ts';
import type { Tracing } from './tracing.ts';

/**
 * One span per translated exchange, named and described by OpenTelemetry's conventions for generative AI
 * (open-telemetry/semantic-conventions-genai). Contents are never recorded.
 */
export function createExchangeTrace(tracing: Tracing): ExchangeObserver {
  return ({ how, summary, times, metadata }) => {
    // Without headers there was no request.
    if (summary.outcome === 'passed' || summary.method === '') return;
    const wait = times.firstByte === null || summary.events === 0 ? null : times.firstByte / 1000;
    const error = errorTypeOf(summary, how);
    tracing.record({
      name: summary.model === null ? 'chat' : `chat ${summary.model.slice(0, 120)}`,
      parent: parentOf(metadata, summary),
      traceState: summary.traceState,
      startTime: Date.now() - times.duration,
      attributes: { ...attributesOf(summary, how, wait), ...(error === null ? {} : { 'error.type': error }) },
      error,
    });
  };
}

function attributesOf(summary: ExchangeSummary, how: CallEnd, secondsToFirstChunk: number | null) {
  const { tokens } = summary;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': otelNameOf(summary.profile),
    ...given({
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
      'gen_ai.usage.input_tokens': tokens?.input_tokens ?? null,
      'gen_ai.usage.output_tokens': tokens?.output_tokens ?? null,
      'gen_ai.usage.cache_read.input_tokens': tokens?.cached_tokens ?? null,
      'gen_ai.usage.cache_write.input_tokens': tokens?.cache_write_tokens ?? null,
      'gen_ai.usage.reasoning.output_tokens': tokens?.reasoning_tokens ?? null,
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
function serverOf(authority: string | null): Record<string, string | number | null> {
  const [, six, host, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(authority ?? '') ?? [];
  return { 'server.address': six ?? host ?? null, 'server.port': port === undefined ? null : Number(port) };
}

function given<Value>(attributes: Readonly<Record<string, Value | null>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(attributes).filter((entry): entry is [string, Value] => entry[1] !== null));
}
