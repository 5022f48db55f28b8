import { useEffect, useState } from 'preact/hooks';
import { type ExplainedBodies, type ExplanationFile, explainedBodies } from '../view/explained.ts';
import type { ExchangeDetail } from '../view/join-parts.ts';
import { reasonOf } from './format.ts';
import type { Model } from './model.ts';

/** The explanation of each field: nothing yet, why there is none, or the explanation. */
export type Explanation = ExplainedBodies | 'asked' | { readonly problem: string } | null;

/** Exchanges that are only passed while scrolling down the list are not explained. */
const askAfterMs = 300;

/** Asks the service to explain the request's fields once its exchange has been shown for a moment; null if there is nothing to ask. */
export function useExplanation({ row, omitted, file }: ExchangeDetail, model: Model): Explanation {
  const [answer, setAnswer] = useState<ExplainedBodies | { readonly problem: string } | null>(null);
  const isRead = file.chat_request !== null || row.outcome !== 'running';
  const canAsk = row.endpoint !== null && omitted.client_request === 0 && isRead;
  useEffect(() => {
    if (!canAsk) return;
    const left = new AbortController();
    const timer = setTimeout(() => {
      model.ask<ExplanationFile>(`exchanges/${row.id}/explanation`, { signal: left.signal }).then(
        (explanation) => setAnswer(explainedBodies(explanation)),
        (error) => left.signal.aborted || setAnswer({ problem: reasonOf(error) }),
      );
    }, askAfterMs);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [canAsk, row.id]);
  return answer ?? (canAsk ? 'asked' : null);
}
