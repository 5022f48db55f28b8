import { profileNames, profileOf } from '../../src/upstream/profiles.ts';

/** The built-in profiles whose servers take tools: to the others no conversation with tools can be sent. */
export const profilesWithTools: readonly string[] = profileNames.filter((name) => profileOf(name)?.tools);
