import { profileNames, profileOf } from '../../src/filter/upstream/profiles.ts';

/** The built-in profiles whose servers accept tools: the others cannot be sent a conversation with tools. */
export const profilesWithTools: readonly string[] = profileNames.filter((name) => profileOf(name)?.tools);
