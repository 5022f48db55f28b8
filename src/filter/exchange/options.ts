import type { Clock } from '../translate/shared/context.ts';
import type { TranslationSettings } from '../translate/shared/settings.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply, Hold, Replies } from './types.ts';

/** The settings of an exchange, and its dependencies. Times are in milliseconds; 0 turns a timer off. */
export interface ExchangeOptions extends ExchangeSettings {
  readonly settings: TranslationSettings;
  /** Refuses every request that would be translated: overload, or a route with an unknown profile. */
  readonly refusal: ApiError | null;
  /** Counts what this exchange holds; an error refuses the exchange. */
  readonly hold: Hold;
  readonly clock: Clock;
  readonly tap?: ExchangeTap | undefined;
}

/** The settings of an exchange that an operator may change; the table of settings has a row for each. */
export interface ExchangeSettings {
  readonly upstreamPath: string | null;
  /** The request header that is set from `prompt_cache_key`. */
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

/** Observes what an exchange receives and sends. Its methods may neither throw nor wait. */
export interface ExchangeTap {
  /** Called with each message of Envoy's, before it is handled. */
  onEvent(event: ExchangeEvent): void;
  /** Called for each message of the upstream's stream, with the number of the client's events that it became. */
  onMessage(events: number): void;
  /** Called with replies in order, with one at a time of a long answer; `event` is null where time has passed or memory is low. */
  onReplies(replies: readonly ExchangeReply[], event: ExchangeEvent | null): void;
}

/** Returns the same replies, and shows them to the tap as they are sent. */
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
