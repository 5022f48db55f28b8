import type { NewId } from '../translate/shared/context.ts';
import type { TranslationSettings } from '../translate/shared/settings.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import type { ExchangeTap } from './tap.ts';
import type { BodyModes, Hold } from './types.ts';

/** The settings of an exchange, and its dependencies. Times are milliseconds; 0 turns a timer off. */
export interface ExchangeOptions extends ExchangeSettings {
  readonly settings: TranslationSettings;
  /** Refuses every request that would be translated: overload, or a route with an unknown profile. */
  readonly refusal: ApiError | null;
  /** Counts what this exchange holds; an error refuses the exchange. */
  readonly hold: Hold;
  /** `now` in Unix seconds. */
  readonly clock: { now(): number; readonly newId: NewId };
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
