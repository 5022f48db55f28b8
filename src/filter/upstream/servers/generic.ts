import { templateRules } from '../chat-templates.ts';
import { type FlagName, type ModelRule, type Profile, type ProfileFlags, profileFlags } from '../profile.ts';
import { claudeRule } from './common.ts';

/** Everything known about one kind of server: what it accepts and sends, and how it is recognised and named. */
export interface BuiltInProfile {
  readonly profile: Profile;
  /** The profile that this one is a set of differences from; null for the first. */
  readonly base: BuiltInProfile | null;
  /** The kind of server it is for, in Markdown. */
  readonly about: string;
  /** Why each flag differs from the base: the source, or † where none was found. */
  readonly reasons: Partial<Readonly<Record<FlagName, string>>>;
  readonly recognisedBy: RecognisedBy;
  /** `gen_ai.provider.name` in OpenTelemetry’s conventions; without one the profile’s own name is reported. */
  readonly otelName?: string | undefined;
}

/** How `doctor` knows the server: by its host (`*` for any part), by what an engine says of itself, or why it cannot. */
export type RecognisedBy =
  | { readonly hosts: readonly string[] }
  | { readonly engine: Engine }
  | { readonly not: string };

/** Where an engine says what it is; null where it does not. */
export interface Engine {
  /** The server's name as the `owned_by` of a model in `/v1/models`. */
  readonly ownedBy: string | null;
  /** A path that only this engine has; `doctor` knows how to read the answer. */
  readonly path: '/props' | '/api/version' | '/metrics' | null;
  /** The form of `system_fingerprint` in this engine's answers, where no other engine has it. */
  readonly fingerprint?: RegExp;
}

const usual = Object.fromEntries(Object.entries(profileFlags).map(([name, flag]) => [name, flag.usual]));

/** The profile that nearly every server understands. */
export const generic: BuiltInProfile = {
  base: null,
  recognisedBy: { not: 'It is every server that matches no other.' },
  about: 'Any server. What nearly every Chat server understands: [the values below](#flags).',
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
