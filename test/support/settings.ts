import type { RequestLimits, TranslationSettings } from '../../src/translate/settings.ts';
import { profileOf } from '../../src/upstream/profiles.ts';

/** Settings that differ from the defaults, as JSON can say them. */
export type SettingsOverrides = Partial<Omit<TranslationSettings, 'profile' | 'limits'>> & {
  readonly profile?: string;
  readonly limits?: Partial<RequestLimits>;
};

const MiB = 1024 * 1024;

/** The defaults of the configuration, with these differences. */
export function createTestSettings({
  profile: name = 'generic',
  limits,
  ...other
}: SettingsOverrides = {}): TranslationSettings {
  const profile = profileOf(name);
  if (profile === undefined) throw new Error(`no profile is called ${name}`);
  return {
    profile,
    limits: {
      maxItems: 10_000,
      maxTextBytes: 10 * MiB,
      maxImageUrlBytes: 20 * MiB,
      maxFileBytes: 32 * MiB,
      maxTools: 512,
      maxNesting: 64,
      ...limits,
    },
    defaultModel: null,
    omittedStore: 'accept',
    reasoningEvents: 'summary',
    droppedTools: ['web_search', 'web_search_preview'],
    unsupportedItems: 'reject',
    orphanOutputs: 'reject',
    missingOutputs: 'reject',
    unknownFields: 'forward',
    strictEcho: false,
    ...other,
  };
}
