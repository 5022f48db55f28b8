import { isJsonObject } from '../../../../formats/json/exact.ts';
import { profileForModel } from '../../../upstream/profile.ts';
import { maxModelLength } from '../../shared/request-fields.ts';
import type { TranslationSettings } from '../../shared/settings.ts';

/** The settings with the profile’s flags for the model. A name too long, which is refused later, matches no rule. */
export function settingsForModel(settings: TranslationSettings, body: unknown): TranslationSettings {
  if (settings.profile.models.length === 0) return settings;
  const named = isJsonObject(body) ? body['model'] : null;
  const model = typeof named === 'string' && named !== '' ? named : (settings.defaultModel ?? '');
  if (model.length > maxModelLength) return settings;
  const profile = profileForModel(settings.profile, model);
  return profile === settings.profile ? settings : { ...settings, profile };
}
