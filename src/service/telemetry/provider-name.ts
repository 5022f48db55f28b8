import { builtInProfiles } from '../../filter/index.ts';

/** `gen_ai.provider.name` for a profile: OpenTelemetry’s word for a built-in one, else the profile’s own name. */
export function providerNameOf(profile: string): string {
  return builtInProfiles.get(profile)?.otelName ?? profile;
}
