import type { ExchangeEvent, ExchangeReply, Replies } from './types.ts';

/** Sees what an exchange takes and gives, and changes nothing. Its methods may neither throw nor wait. */
export interface ExchangeTap {
  /** A message of Envoy's, before it is handled. */
  onEvent(event: ExchangeEvent): void;
  /** A message of the upstream's stream became that many events for the client. */
  onMessage(events: number): void;
  /** Replies in order, those of a long answer one at a time; without a message where time passed or memory is low. */
  onReplies(replies: readonly ExchangeReply[], event: ExchangeEvent | null): void;
}

/** These replies, which the tap sees as they are given. */
export function tapped(tap: ExchangeTap, replies: Replies, event: ExchangeEvent | null): Replies {
  if (!Array.isArray(replies)) return tappedEach(tap, replies, event);
  tap.onReplies(replies, event);
  return replies;
}

function* tappedEach(tap: ExchangeTap, replies: Iterable<ExchangeReply>, event: ExchangeEvent | null) {
  for (const reply of replies) {
    tap.onReplies([reply], event);
    yield reply;
  }
}
