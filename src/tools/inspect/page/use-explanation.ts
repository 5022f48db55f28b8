import { useEffect, useMemo, useState } from 'preact/hooks';
import { type ExplainedBodies, type ExplanationFile, explainedBodies } from '../view/explained.ts';
import { reasonOf } from './format.ts';
import type { ShownExchange } from './shown-exchange.ts';

/** The explanation of each field: nothing yet, why there is none, or the explanation. */
export type Explanation = ExplainedBodies | 'asked' | { readonly problem: string } | null;

/** Exchanges that are only passed while scrolling down the list are not explained. */
const askAfterMs = 300;

/** Asks the service to explain the request's fields once its exchange has been shown for a moment; null if there is nothing to ask. */
export function useExplanation({ detail }: ShownExchange): Explanation {
  const { row, omitted, file } = detail;
  const [answer, setAnswer] = useState<ExplanationFile | { readonly problem: string } | null>(null);
  const isRead = file.chat_request !== null || row.outcome !== 'running';
  const canAsk = row.endpoint !== null && omitted.client_request === 0 && isRead;
  useEffect(() => {
    if (!canAsk) return;
    const left = new AbortController();
    const timer = setTimeout(() => {
      ask(row.id, left.signal).then(setAnswer, (error: unknown) => {
        if (!left.signal.aborted) setAnswer({ problem: reasonOf(error) });
      });
    }, askAfterMs);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [canAsk, row.id]);
  return useMemo(() => {
    if (answer === null) return canAsk ? 'asked' : null;
    return 'problem' in answer ? answer : explainedBodies(answer);
  }, [answer, canAsk]);
}

async function ask(id: number, signal: AbortSignal): Promise<ExplanationFile> {
  const response = await fetch(`/inspect/exchanges/${id}/explanation`, { signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()) as ExplanationFile;
}
