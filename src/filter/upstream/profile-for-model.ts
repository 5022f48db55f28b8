import type { Profile } from './profile.ts';

/** The profile for that model: itself, or a copy with the flags of the rules that match. */
export function profileForModel(profile: Profile, model: string): Profile {
  if (profile.models.length === 0) return profile;
  const matching = profile.models.filter(({ match }) => match.test(model));
  if (matching.length === 0) return profile;
  const key = matching.map((rule) => profile.models.indexOf(rule)).join();
  const variants = variantsOf.get(profile) ?? new Map<string, Profile>();
  variantsOf.set(profile, variants);
  const known = variants.get(key);
  if (known !== undefined) return known;
  const variant: Profile = Object.assign({ ...profile }, ...matching.map(({ flags }) => flags));
  variants.set(key, variant);
  return variant;
}

/** One entry for each combination of rules, not for each model: clients choose the names of models. */
const variantsOf = new WeakMap<Profile, Map<string, Profile>>();
