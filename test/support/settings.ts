import type { CompactionSettings, RequestLimits, TranslationSettings } from '../../src/translate/settings.ts';
import type { Profile } from '../../src/upstream/profile.ts';
import { profileOf } from '../../src/upstream/profiles.ts';
import { readProfilesFile } from '../../src/upstream/profiles-file.ts';

/** Settings that differ from the defaults, as JSON can say them. */
export type SettingsOverrides = Partial<Omit<TranslationSettings, 'profile' | 'limits' | 'compaction'>> & {
  /** The name of a built-in profile, or one as a profiles file has it. */
  readonly profile?: string | object;
  readonly limits?: Partial<RequestLimits>;
  readonly compaction?: Partial<CompactionSettings>;
};

const MiB = 1024 * 1024;

/** The defaults of the configuration, with these differences. */
export function createTestSettings({
  profile: name = 'generic',
  limits,
  compaction,
  ...other
}: SettingsOverrides = {}): TranslationSettings {
  return {
    profile: profileFor(name),
    limits: {
      maxItems: 10_000,
      maxTextBytes: 10 * MiB,
      maxImageUrlBytes: 20 * MiB,
      maxFileBytes: 32 * MiB,
      maxTools: 512,
      maxNesting: 64,
      maxValues: 100_000,
      ...limits,
    },
    defaultModel: null,
    omittedStore: 'accept',
    reasoningEvents: 'summary',
    droppedTools: ['web_search', 'web_search_preview', 'image_generation'],
    unsupportedItems: 'drop',
    unknownItems: 'text',
    contextManagement: 'accept',
    orphanOutputs: 'reject',
    missingOutputs: 'reject',
    unknownFields: 'forward',
    strictEcho: false,
    compaction: { prompt: 'Sum up.', maxTokens: 8192, contextWindow: null, foreignItems: 'drop', ...compaction },
    catalog: { instructions: 'Work.', contextWindow: null, overrides: new Map() },
    ...other,
  };
}

function profileFor(given: string | object): Profile {
  const profile =
    typeof given === 'string'
      ? profileOf(given)
      : readProfilesFile(JSON.stringify({ profiles: { test: given } }), 'settings').get('test');
  if (profile === undefined) throw new Error(`no profile is called ${given}`);
  return profile;
}
