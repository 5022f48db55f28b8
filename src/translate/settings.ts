import type { ValuesOf } from '../settings/setting.ts';
import type { settings } from '../settings/settings.ts';
import type { Profile } from '../upstream/profile.ts';
import type { Trace } from './request/trace.ts';

/** The operator's settings; `src/settings/settings.ts` describes them. */
export type TranslationSettings = ValuesOf<typeof settings.translation> & {
  readonly profile: Profile;
  /** Set while items before the user's latest messages are read: their media are no wish of now. */
  readonly isHistory?: true;
  /** Set only by `explain`. */
  readonly trace?: Trace;
};

export type CompactionSettings = TranslationSettings['compaction'];
export type CatalogSettings = TranslationSettings['catalog'];

/** Where the upstream's reasoning text goes: see `docs/mapping.md`, choice D2. */
export type ReasoningCarrier = TranslationSettings['reasoningEvents'];
