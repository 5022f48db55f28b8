import { isJsonObject } from '../../../schema/create-response.ts';
import { profileForModel } from '../../../upstream/profile-for-model.ts';
import type { TranslationSettings } from '../../settings.ts';

/** The settings with the flags the profile has for the request's model, which even reading the request depends on. */
export function settingsForModel(settings: TranslationSettings, body: unknown): TranslationSettings {
  if (settings.profile.models.length === 0) return settings;
  const named = isJsonObject(body) ? body['model'] : null;
  const model = typeof named === 'string' && named !== '' ? named : (settings.defaultModel ?? '');
  return { ...settings, profile: profileForModel(settings.profile, model) };
}
