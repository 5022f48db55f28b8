import type { ApiError } from '../schema/api-error.ts';
import type { ValuesOf } from '../settings/setting.ts';
import type { settings } from '../settings/settings.ts';
import type { NewId } from '../translate/context.ts';
import type { TranslationSettings } from '../translate/settings.ts';
import type { Hold } from './types.ts';

/** The settings of an exchange, and its dependencies. Times are milliseconds; 0 turns a timer off. */
export interface ExchangeOptions extends ExchangeSettings {
  readonly settings: TranslationSettings;
  /** Refuses every request that would be translated: overload, or a route with an unknown profile. */
  readonly refusal: ApiError | null;
  /** Counts what this exchange holds; an error refuses the exchange. */
  readonly hold: Hold;
  /** `now` in Unix seconds. */
  readonly clock: { now(): number; readonly newId: NewId };
  /** Called for each message of an upstream's stream, with the number of client events it became. */
  readonly onMessage?: ((events: number) => void) | undefined;
}

type ExchangeSettings = ValuesOf<typeof settings.exchange>;
