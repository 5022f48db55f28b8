import type { TranslationSettings } from '../../src/filter/translate/shared/settings.ts';
import type { Profile } from '../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';
import { readProfilesFile } from '../../src/filter/upstream/profiles-file.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { readValues } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';

type Nested = 'limits' | 'compaction' | 'catalog';

/** Settings that differ from the defaults, as JSON. */
export type SettingsOverrides = Partial<Omit<TranslationSettings, 'profile' | Nested>> & {
  /** The name of a built-in profile, or one as a profiles file has it. */
  readonly profile?: string | object;
} & { readonly [Name in Nested]?: Partial<TranslationSettings[Name]> };

const config = readConfig({});
const defaults = readValues(settings.translation, config);

/** The default settings of an exchange. */
export const defaultExchangeSettings = readValues(settings.exchange, config);

/** The defaults of the configuration, with these differences, and with short prompts. */
export function createTestSettings({
  profile: name = 'generic',
  limits,
  compaction,
  catalog,
  ...other
}: SettingsOverrides = {}): TranslationSettings {
  return {
    ...defaults,
    profile: profileFor(name),
    limits: { ...defaults.limits, ...limits },
    compaction: { ...defaults.compaction, prompt: 'Sum up.', ...compaction },
    catalog: { ...defaults.catalog, instructions: 'Work.', ...catalog },
    ...other,
  };
}

function profileFor(given: string | object): Profile {
  const profile =
    typeof given === 'string'
      ? builtInProfiles.get(given)?.profile
      : readProfilesFile(JSON.stringify({ profiles: { test: given } }), 'settings').get('test');
  if (profile === undefined) throw new Error(`no profile is called ${given}`);
  return profile;
}
