import { builtInProfiles, type ExchangeSummary } from '../../filter/index.ts';
import { findErrorType } from './error-codes.ts';
import { readDroppedKind } from './metric-rows.ts';
import { createBoundedLabel, forgetSeries, type Metrics } from './metrics.ts';
import type { CallEnd, CallTimes, ExchangeObserver } from './observer.ts';

/** The most codes or types with a label of their own: a time series lives as long as the process. */
const maxCodes = 64;

export function createExchangeMetrics(metrics: Metrics): ExchangeObserver {
  const codeLabel = createBoundedLabel(maxCodes);
  const typeLabel = createBoundedLabel(maxCodes, (type) => void forgetSeries(metrics.unknownTypes, 'type', type));
  return ({ how, summary, times }) => {
    const outcome = how === 'done' ? summary.outcome : how;
    const { profile } = summary;
    metrics.exchanges.inc({ outcome, profile });
    if (outcome === 'passed' || outcome === 'local_reply') return;
    if (outcome === 'refused') metrics.refusals.inc({ code: codeLabel(summary.errorCode ?? 'unknown'), profile });
    if (outcome === 'upstream_error')
      metrics.upstreamErrors.inc({ status: String(summary.upstreamStatus ?? 'none'), profile });
    countBytes(summary);
    if (summary.stream === null) return; // the times of untranslated exchanges would distort those of others
    metrics.exchangeSeconds.observe({ stream: String(summary.stream) }, times.duration / 1000);
    if (summary.stream && summary.events > 0 && times.firstByte !== null)
      metrics.firstEventSeconds.observe({ profile }, times.firstByte / 1000);
    metrics.translationSeconds.observe({ leg: 'request' }, times.work.request / 1000);
    if (summary.upstreamStatus !== null)
      metrics.translationSeconds.observe({ leg: 'response' }, times.work.response / 1000);
    metrics.events.inc(summary.events);
    for (const name of summary.dropped) metrics.dropped.inc({ kind: readDroppedKind(name) });
    for (const { kind, type } of summary.unknownTypes) metrics.unknownTypes.inc({ kind, type: typeLabel(type) });
    for (const kind of summary.repairs) metrics.repairs.inc({ kind });
    countTokens(summary);
    countEstimate(summary, outcome);
    observeModel(summary, how, times);
  };

  function countBytes({ bytes }: ExchangeSummary): void {
    metrics.bodyBytes.inc({ leg: 'request', side: 'received' }, bytes.requestIn);
    metrics.bodyBytes.inc({ leg: 'request', side: 'sent' }, bytes.requestOut);
    metrics.bodyBytes.inc({ leg: 'response', side: 'received' }, bytes.responseIn);
    metrics.bodyBytes.inc({ leg: 'response', side: 'sent' }, bytes.responseOut);
  }

  /** Counts tokens of models that have answered: names that clients make up get no label. */
  function countTokens({ tokens, model }: ExchangeSummary): void {
    if (tokens === null || model === null) return;
    const label = metrics.modelLabel(model);
    metrics.tokens.inc({ model: label, type: 'input' }, tokens.input_tokens);
    metrics.tokens.inc({ model: label, type: 'output' }, tokens.output_tokens);
    // These are parts of the input and the output.
    metrics.tokens.inc({ model: label, type: 'cached_input' }, tokens.cached_tokens);
    metrics.tokens.inc({ model: label, type: 'reasoning_output' }, tokens.reasoning_tokens);
  }

  function countEstimate({ estimate, model, upstreamModel }: ExchangeSummary, outcome: string): void {
    if (estimate === null || model === null) return;
    const label = metrics.modelLabel(model, upstreamModel !== null);
    metrics.estimatedTokens.inc({ model: label, type: 'input', outcome }, estimate.input_tokens);
    metrics.estimatedTokens.inc({ model: label, type: 'output', outcome }, estimate.output_tokens);
  }

  function observeModel(summary: ExchangeSummary, how: CallEnd, { duration, firstToken }: CallTimes): void {
    const { model, profile, stream, tokens, outcome, upstreamStatus, upstreamModel } = summary;
    // An answer of this service's own has no upstream.
    if (model === null || (outcome === 'completed' && upstreamStatus === null)) return;
    // A model that has never answered gets no label of its own, since clients may send any name.
    const hasAnswered = tokens !== null || upstreamModel !== null;
    const labels = {
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: providerNameOf(profile),
      gen_ai_request_model: metrics.modelLabel(model, hasAnswered),
    };
    metrics.requestSeconds.observe({ ...labels, error_type: findErrorType(summary, how) ?? '' }, duration / 1000);
    if (!stream || firstToken === null) return;
    metrics.firstTokenSeconds.observe(labels, firstToken / 1000);
    if (how !== 'done' || tokens === null || tokens.output_tokens < 2) return;
    metrics.tokenSeconds.observe(labels, (duration - firstToken) / 1000 / (tokens.output_tokens - 1));
  }
}

/** Returns the `gen_ai.provider.name` of a profile: OpenTelemetry’s word for a built-in one, else the profile’s own name. */
export function providerNameOf(profile: string): string {
  return builtInProfiles.get(profile)?.otelName ?? profile;
}
