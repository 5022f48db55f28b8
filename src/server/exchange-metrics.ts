import type { ExchangeSummary } from '../exchange/exchange.ts';
import { createBoundedLabel, type Metrics } from '../telemetry/metrics.ts';
import type { CallEnd, ExchangeObserver } from './observer.ts';

/** Codes are ours and few, but a time series lives as long as the process. */
const MAX_CODES = 64;

/** Updates the metrics once, when an exchange ends. */
export function createExchangeMetrics(metrics: Metrics): ExchangeObserver {
  const codeLabel = createBoundedLabel(MAX_CODES);
  return {
    onStart() {
      return {
        onEnd({ how, summary, times }) {
          const outcome = outcomeOf(summary, how);
          metrics.exchanges.inc({ outcome });
          if (outcome === 'passed') return;
          if (outcome === 'refused') metrics.refusals.inc({ code: codeLabel(summary.errorCode ?? 'unknown') });
          if (outcome === 'upstream_error')
            metrics.upstreamErrors.inc({ status: String(summary.upstreamStatus ?? 'none') });
          countBytes(summary);
          if (summary.stream === null) return; // never translated: its times would distort those of translated exchanges
          metrics.exchangeSeconds.observe({ stream: String(summary.stream) }, times.duration / 1000);
          if (summary.stream && summary.events > 0 && times.firstByte !== null)
            metrics.firstEventSeconds.observe(times.firstByte / 1000);
          metrics.translationSeconds.observe({ leg: 'request' }, times.work.request / 1000);
          if (summary.upstreamStatus !== null)
            metrics.translationSeconds.observe({ leg: 'response' }, times.work.response / 1000);
          metrics.events.inc(summary.events);
          metrics.dropped.inc(summary.dropped.length);
          countTokens(summary);
        },
      };
    },
  };

  function countBytes({ bytes }: ExchangeSummary): void {
    metrics.bodyBytes.inc({ leg: 'request', side: 'received' }, bytes.requestIn);
    metrics.bodyBytes.inc({ leg: 'request', side: 'sent' }, bytes.requestOut);
    metrics.bodyBytes.inc({ leg: 'response', side: 'received' }, bytes.responseIn);
    metrics.bodyBytes.inc({ leg: 'response', side: 'sent' }, bytes.responseOut);
  }

  /** Only models that have answered get a label; names that clients make up never do. */
  function countTokens({ usage, model }: ExchangeSummary): void {
    if (usage === null || model === null) return;
    const label = metrics.modelLabel(model);
    metrics.tokens.inc({ model: label, type: 'input' }, usage.input_tokens);
    metrics.tokens.inc({ model: label, type: 'output' }, usage.output_tokens);
  }
}

function outcomeOf({ outcome }: ExchangeSummary, how: CallEnd): string {
  return how === 'done' ? outcome : how;
}
