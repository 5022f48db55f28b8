import { describeProfiles, type openProfiles } from '../service/server/profile-source.ts';
import { type Config, redactConfig } from '../service/settings/config.ts';
import { version } from '../service/telemetry/version.ts';

/** The configuration in use, as the admin port shows it at `/config`. */
export function describeConfig(config: Config, profiles: ReturnType<typeof openProfiles>) {
  return { version, ...redactConfig(config), ...describeProfiles(profiles) };
}
