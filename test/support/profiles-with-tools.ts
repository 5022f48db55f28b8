import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';

/** The built-in profiles whose servers accept tools: the others cannot be sent a conversation with tools. */
export const profilesWithTools: readonly string[] = [...builtInProfiles].flatMap(([name, { profile }]) =>
  profile.tools ? name : [],
);
