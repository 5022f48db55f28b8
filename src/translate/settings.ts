import type { ValuesOf } from '../settings/setting.ts';
import type { settings } from '../settings/settings.ts';
import type { Profile } from '../upstream/profile.ts';
import type { Trace } from './request/trace.ts';

/** What an operator chooses; each is described in `src/settings/settings.ts`. */
export type TranslationSettings = ValuesOf<typeof settings.translation> & {
  readonly profile: Profile;
  /** Given by `explain` alone. */
  readonly trace?: Trace;
};

export type CompactionSettings = TranslationSettings['compaction'];
export type CatalogSettings = TranslationSettings['catalog'];

/** Where the upstream's reasoning text goes: see `docs/mapping.md`, choice D2. */
export type ReasoningCarrier = TranslationSettings['reasoningEvents'];
