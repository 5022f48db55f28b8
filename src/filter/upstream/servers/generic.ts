import type { BuiltInProfile, RecognisedBy } from '../built-in-profile.ts';
import { templateRules } from '../chat-templates.ts';
import { aboutFlag, type FlagName, type ModelRule, type ProfileFlags, profileFlags } from '../profile.ts';
import { claudeRule } from './common.ts';

const usual = Object.fromEntries(
  Object.entries(profileFlags).map(([flag, values]) => [flag, aboutFlag.get(values)?.usual]),
);

/** What nearly every server understands. */
export const generic: BuiltInProfile = {
  base: null,
  recognisedBy: { not: 'It is the profile of every server that matches no other.' },
  about:
    'Any server. What nearly every Chat server understands: [the values below](#flags), from which every other profile lists its differences.',
  reasons: {},
  profile: {
    ...(usual as ProfileFlags),
    name: 'generic',
    models: [...templateRules, claudeRule],
  },
};

interface ServerRow {
  readonly name: string;
  /** `generic`, unless given. */
  readonly base?: BuiltInProfile;
  readonly recognisedBy: RecognisedBy;
  readonly otelName?: string;
  readonly about: string;
  /** The flags in which it differs from the base, each with the reason. */
  readonly flags: { readonly [Name in FlagName]?: readonly [value: ProfileFlags[Name], reason: string] };
  readonly models?: readonly ModelRule[];
}

/** The built-in profile of a row. */
export function server({ name, base = generic, flags, models = [], ...row }: ServerRow): BuiltInProfile {
  const entries = Object.entries(flags) as [FlagName, readonly [unknown, string]][];
  const values = Object.fromEntries(entries.map(([flag, [value]]) => [flag, value])) as Partial<ProfileFlags>;
  const reasons = Object.fromEntries(entries.map(([flag, [, reason]]) => [flag, reason]));
  return { ...row, profile: { ...base.profile, ...values, name, models }, base, reasons };
}
