import type { Clock } from '../translate/shared/context.ts';
import type { TranslationSettings } from '../translate/shared/settings.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply, Hold, Replies } from './types.ts';

/** The settings of an exchange, and its dependencies. Times are milliseconds; 0 turns a timer off. */
export interface ExchangeOptions extends ExchangeSettings {
  readonly settings: TranslationSettings;
  /** Refuses every request that would be translated: overload, or a route with an unknown profile. */
  readonly refusal: ApiError | null;
  /** Counts what this exchange holds; an error refuses the exchange. */
  readonly hold: Hold;
  readonly clock: Clock;
  readonly tap?: ExchangeTap | undefined;
}

/** Settings that an operator may choose about an exchange. The table of settings has a row for each. */
export interface ExchangeSettings {
  readonly upstreamPath: string | null;
  /** Name of the request header that is set from `prompt_cache_key`. */
  readonly sessionHeader: string | null;
  readonly sessionHashKey: string | null;
  readonly modes: BodyModes;
  readonly bodyLimits: {
    readonly maxRequestBytes: number;
    readonly maxResponseBytes: number;
    readonly maxErrorBytes: number;
    readonly maxSseEventBytes: number;
  };
  readonly stallTimeoutMs: number;
  readonly heartbeatMs: number;
}

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
