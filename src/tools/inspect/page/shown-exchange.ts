import type { ExchangeFilePiece } from '../../../filter/wire/schema/exchange-file.ts';
import type { ExchangeDetail, ExchangeRow } from '../exchange-json.ts';
import { isStream } from '../view/final-response.ts';
import { createTimeline, type Timeline } from '../view/timeline.ts';

export interface ShownExchange {
  readonly detail: ExchangeDetail;
  readonly timeline: Timeline;
  /** Counts what was added, since the timeline grows in place. */
  readonly version: number;
}

/** Who is told of an exchange that is followed. */
export interface Follower {
  /** It arrived, or grew. */
  onExchange(shown: ShownExchange): void;
  /** It is no longer in memory. */
  onEvicted(): void;
  /** The service follows no more pages. */
  onRefused(): void;
}

interface PiecesMessage {
  readonly row: ExchangeRow;
  readonly chat_response: readonly ExchangeFilePiece[];
  readonly client_response: readonly ExchangeFilePiece[];
}

/** Fetches an exchange, and its pieces while they arrive. The function that it returns ends that. */
export function followExchange(id: number, { onExchange, onEvicted, onRefused }: Follower): () => void {
  let shown: ShownExchange | null = null;
  const show = (now: ShownExchange) => {
    shown = now;
    onExchange(now);
  };
  const source = new EventSource(`/inspect/exchanges/${id}/events`);
  source.addEventListener('exchange', (event) => {
    const detail = JSON.parse(event.data) as ExchangeDetail;
    const { chat_response, client_response } = detail.file;
    const timeline = createTimeline({
      upstreamIsStream: isStream(chat_response),
      clientIsStream: isStream(client_response),
    });
    timeline.add(chat_response?.pieces ?? [], client_response?.pieces ?? []);
    show({ detail, timeline, version: 0 });
  });
  source.addEventListener('pieces', (event) => {
    if (shown === null) return;
    const { row, chat_response, client_response } = JSON.parse(event.data) as PiecesMessage;
    const { detail, timeline, version } = shown;
    timeline.add(chat_response, client_response);
    // In place: there may be many, and each update has a few.
    detail.file.chat_response?.pieces.push(...chat_response);
    detail.file.client_response?.pieces.push(...client_response);
    show({ detail: { ...detail, row }, timeline, version: version + 1 });
  });
  source.addEventListener('end', () => source.close());
  source.addEventListener('evicted', () => {
    source.close();
    onEvicted();
  });
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED && shown === null) onRefused();
  });
  return () => source.close();
}
