import type { ExchangeSummary } from '../exchange/exchange.ts';
import { createBoundedLabel, type Metrics } from '../telemetry/metrics.ts';
import type { CallEnd, ExchangeObserver } from './observer.ts';

/** Codes are ours and few, but a series is for ever. */
const MAX_CODES = 64;

/** Feeds the metrics; all but the clock's readings happen once, when an exchange ends. */
export function createExchangeMetrics(metrics: Metrics): ExchangeObserver {
  const codeLabel = createBoundedLabel(MAX_CODES);
  return {
    started(exchange) {
      const startedAt = performance.now();
      const workedMs = { request: 0, response: 0 };
      let leg: 'request' | 'response' = 'request';
      let heardAt: number | null = null;
      let firstEventAt: number | null = null;
      return {
        heard(event) {
          leg = event.type.startsWith('request_') ? 'request' : 'response';
          heardAt = performance.now();
        },
        replied(reply) {
          const repliedAt = performance.now();
          if (heardAt !== null) workedMs[leg] += repliedAt - heardAt;
          heardAt = null;
          if (reply.type === 'response_body' && (reply.body?.length ?? 0) > 0) firstEventAt ??= repliedAt;
        },
        ended(how) {
          const summary = exchange.summary();
          const outcome = outcomeOf(summary, how);
          metrics.exchanges.inc({ outcome });
          if (outcome === 'passed') return;
          if (outcome === 'refused') metrics.refusals.inc({ code: codeLabel(summary.errorCode ?? 'unknown') });
          if (outcome === 'upstream_error')
            metrics.upstreamErrors.inc({ status: String(summary.upstreamStatus ?? 'none') });
          countBytes(summary);
          if (summary.stream === null) return; // never translated: its times would only blur those of the others
          metrics.exchangeSeconds.observe({ stream: String(summary.stream) }, (performance.now() - startedAt) / 1000);
          if (summary.stream && firstEventAt !== null)
            metrics.firstEventSeconds.observe((firstEventAt - startedAt) / 1000);
          metrics.translationSeconds.observe({ leg: 'request' }, workedMs.request / 1000);
          if (summary.upstreamStatus !== null)
            metrics.translationSeconds.observe({ leg: 'response' }, workedMs.response / 1000);
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

  /** Only models that have answered get a label: those that clients make up never do. */
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
