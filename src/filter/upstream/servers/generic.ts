import { templateRules } from '../chat-templates.ts';
import {
  type FlagName,
  type ModelRule,
  type Profile,
  type ProfileFlags,
  profileFlags,
  type ToolChoiceSupport,
} from '../profile.ts';
import { effortTable } from './effort-table.ts';

/** What is known about one kind of server: what it accepts and sends, and how it is recognised and named. */
export interface BuiltInProfile {
  readonly profile: Profile;
  /** The profile from which this one differs; null for `generic`. */
  readonly base: BuiltInProfile | null;
  /** The kind of server it is for, in Markdown. */
  readonly about: string;
  /** Why each flag differs from the base: the source, or † where none was found. */
  readonly reasons: Partial<Readonly<Record<FlagName, string>>>;
  readonly recognisedBy: RecognisedBy;
  /** `gen_ai.provider.name` in OpenTelemetry's conventions; without one the profile's own name is reported. */
  readonly otelName?: string | undefined;
}

/** How `doctor` knows the server: by its host (`*` for any part), by what an engine says of itself; or why it cannot know. */
export type RecognisedBy =
  | { readonly hosts: readonly string[] }
  | { readonly engine: Engine }
  | { readonly not: string };

/** The places where an engine says what it is; null where it does not. */
export interface Engine {
  /** The server's name as the `owned_by` of a model in `/v1/models`. */
  readonly ownedBy: string | null;
  /** A path that only this engine has. */
  readonly path: '/props' | '/api/version' | '/metrics' | null;
  /** The form of `system_fingerprint` in this engine's answers, where no other engine has it. */
  readonly fingerprint?: RegExp;
}

const usual = Object.fromEntries(Object.entries(profileFlags).map(([name, flag]) => [name, flag.usual]));

/** Rules for Claude behind any API: gateways pass call ids and schemas on to Anthropic's. */
export const claudeRule: ModelRule = {
  match: /claude/i,
  reason:
    "“tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'” (bifrost#5097); “`tool_use` ids must be unique” (opencode#1279); “input_schema does not support oneOf, allOf, or anyOf at the top level” (opencode#35516).",
  flags: { callIdForm: 'word_64', toolSchemaRoot: 'plain_object' },
};

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

export interface ServerRow {
  readonly name: string;
  readonly base?: BuiltInProfile;
  readonly recognisedBy: RecognisedBy;
  readonly otelName?: string;
  readonly about: string;
  /** The flags in which it differs from the base, each with the reason. */
  readonly flags: { readonly [Name in FlagName]?: readonly [value: ProfileFlags[Name], reason: string] };
  readonly models?: readonly ModelRule[];
}

export function server({ name, base = generic, flags, models = [], ...row }: ServerRow): BuiltInProfile {
  const entries = Object.entries(flags) as [FlagName, readonly [unknown, string]][];
  const values = Object.fromEntries(entries.map(([flag, [value]]) => [flag, value])) as Partial<ProfileFlags>;
  const reasons = Object.fromEntries(entries.map(([flag, [, reason]]) => [flag, reason]));
  return { ...row, profile: { ...base.profile, ...values, name, models }, base, reasons };
}

/** Rows that several servers share: values of flags, with the reasons where these are the same too. */

const namedChoice: ToolChoiceSupport = { sent: true, required: 'required', named: true, allowed: false };
export const fullChoice: ToolChoiceSupport = { ...namedChoice, allowed: true };
export const modeChoice: ToolChoiceSupport = { ...namedChoice, named: false };
export const mistralChoice: ToolChoiceSupport = { ...modeChoice, required: 'any' };
export const dashscopeChoice: ToolChoiceSupport = { ...namedChoice, required: null };
export const ignoredChoice: ToolChoiceSupport = { sent: false, required: null, named: false, allowed: false };

export const threeEfforts = { minimal: 'low', xhigh: 'high', max: 'high' };
export const gptOssEfforts = { ...threeEfforts, none: 'low' };

export const voxtralRule: ModelRule = {
  match: /voxtral/i,
  reason: '`input_audio` gets a 200 (observed).',
  flags: { audio: true },
};

type Cell<Name extends keyof ProfileFlags> = readonly [value: ProfileFlags[Name], reason: string];

export const newerLimit: Cell<'maxTokensField'> = ['max_completion_tokens', 'The newer name of the limit.'];
export const noSound: Cell<'audio'> = [false, 'Its messages cannot carry audio.'];
export const noNull: Cell<'emptyAssistantContent'> = ['empty', 'It requires text, even if empty.'];
export const readsReasoningContent: Cell<'reasoningReplay'> = [
  'reasoning_content',
  'Reads earlier reasoning from this field.',
];

/** The efforts of the models that the table knows, then these rules for other models, with the reason for those. */
export function tabledEfforts(
  server: keyof typeof effortTable,
  others: ProfileFlags['effortRules'],
  reason: string,
): Cell<'effortRules'> {
  const tabled = effortTable[server].map(([names, efforts]) => ({ models: modelsNamed(names), efforts }));
  return [[...tabled, ...others], reason];
}

/** Models of these names, with a maker before the name or not, and their variants (`name-0101`, `name:free`); `name$` has none. */
export function modelsNamed(names: string): RegExp {
  const all = names.split(' ').map((name) => name.replace(/[^\w$-]/g, '\\$&'));
  const families = all.filter((name) => !name.endsWith('$'));
  const single = all.filter((name) => name.endsWith('$'));
  const ofFamilies = families.length === 0 ? [] : [`(?:${families.join('|')})(?:[-:@].*)?$`];
  return new RegExp(`(?:^|/)(?:${[...ofFamilies, ...single].join('|')})`, 'i');
}
