import type { Profile } from './profile.ts';

/** The profile for that model: itself, or a copy with the flags of the rules that match. */
export function profileForModel(profile: Profile, model: string): Profile {
  const matching = profile.models.filter(({ match }) => match.test(model));
  return matching.length === 0 ? profile : Object.assign({ ...profile }, ...matching.map(({ flags }) => flags));
}
