import { parseDocument } from 'yaml';
import * as z from 'zod';
import { LinearRegExp } from './linear-regexp.ts';
import { type FlagName, type ModelRule, type Profile, pattern, profileFlags } from './profile.ts';
import { profileNames, profileOf } from './profiles.ts';

/** The profiles of an operator's file cannot be used. The message names file, profile and flag, one problem a line. */
export class ProfilesFileError extends Error {
  override readonly name = 'ProfilesFileError';
  constructor(file: string, problems: readonly string[]) {
    super(problems.map((problem) => `${file}: ${problem}`).join('\n'));
  }
}

const { path: _path, tokenizePath: _tokenizePath, ...modelFlags } = profileFlags; // a path is settled before the model is known
const modelRules = z.record(
  z.string().describe('A regular expression that RE2 can match, such as /qwen3/i.'),
  z.strictObject(modelFlags).partial(),
);

const profileEntry = z
  .strictObject({
    extends: z.enum(profileNames as [string, ...string[]]).describe('The built-in profile it is a variation of.'),
    models: modelRules
      .optional()
      .describe('Flags for some models of the server only; every rule that matches counts, later ones win.'),
    ...z.strictObject(profileFlags).partial().shape,
  })
  .describe('A profile of your own: what it extends, and the flags in which it differs.');

type PatternFlags = Partial<Pick<Profile, 'contextOverflow' | 'effortRules'>>;

const profileName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'a name is 1 to 64 letters, digits, dots, dashes and underscores');

const profilesFile = z.strictObject({
  $schema: z.string().optional(),
  profiles: z.record(profileName, profileEntry),
});

/**
 * The profiles of an operator's file, by name. `text` is YAML or JSON, `file` its name for messages. Throws
 * `ProfilesFileError`.
 */
export function readProfilesFile(text: string, file: string): ReadonlyMap<string, Profile> {
  const value = parseFile(text, file);
  const result = profilesFile.safeParse(value);
  if (!result.success) {
    const problems = result.error.issues.flatMap((issue) => problemsOf(issue, value));
    throw new ProfilesFileError(file, oncePerFlag(problems));
  }
  const problems: string[] = [];
  const profiles = new Map<string, Profile>();
  for (const [name, { extends: baseName, models = {}, ...flags }] of Object.entries(result.data.profiles)) {
    const base = profileOf(baseName);
    if (base === undefined) throw new Error(`The schema let the unknown base ${baseName} pass.`);
    if (profileOf(name) !== undefined) problems.push(`profile '${name}' has the name of a built-in profile`);
    const where = `profile '${name}'`;
    const rules = Object.entries(models).flatMap(([match, rule]): ModelRule[] => {
      const read = pattern.safeParse(match);
      if (read.success) {
        const ruleFlags = linearFlags(given(rule), `${where}, models '${match}'`);
        return linear(read.data, `${where}, models:`).map((it) => ({ match: it, flags: ruleFlags }));
      }
      problems.push(`${where}, models: '${match}' ${read.error.issues[0]?.message}`);
      return [];
    });
    profiles.set(name, { ...base, ...linearFlags(given(flags), where), name, models: [...base.models, ...rules] });
  }

  /** The flags, with regular expressions of linear time; any other is a problem. */
  function linearFlags<Flags extends PatternFlags>(flags: Flags, where: string): Flags {
    const { contextOverflow, effortRules } = flags;
    return {
      ...flags,
      ...(contextOverflow !== undefined && {
        contextOverflow: contextOverflow.flatMap((wording) => linear(wording, `${where}: flag 'contextOverflow':`)),
      }),
      ...(effortRules !== undefined && {
        effortRules: effortRules.flatMap(({ models: match, efforts }) =>
          linear(match, `${where}: flag 'effortRules':`).map((it) => ({ models: it, efforts })),
        ),
      }),
    };
  }

  /** The expression alone in a list; an empty list if it is a problem. */
  function linear(expression: RegExp, at: string): RegExp[] {
    try {
      return [new LinearRegExp(expression)];
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      problems.push(`${at} ${String(expression)} cannot be matched in linear time (${why})`);
      return [];
    }
  }
  if (problems.length > 0) throw new ProfilesFileError(file, problems);
  return profiles;
}

/** The JSON schema of the file, for editors. */
export function profilesFileJsonSchema() {
  return z.toJSONSchema(profilesFile, { io: 'input', target: 'draft-7' });
}

function parseFile(text: string, file: string): unknown {
  // Aliases can turn a small file into a huge value.
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined)
    throw new ProfilesFileError(file, [error.message.split('\n', 1)[0]?.replace(/:$/, '') ?? '']);
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw new ProfilesFileError(file, [cause instanceof Error ? cause.message : String(cause)]);
  }
}

/** Without the keys that are undefined: they would hide the base's. */
function given<Flags extends object>(flags: Flags): { [Name in keyof Flags]: Exclude<Flags[Name], undefined> } {
  const entries = Object.entries(flags).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Flags]: Exclude<Flags[Name], undefined> };
}

type Issue = z.core.$ZodIssue;

/** A flag that is wrong in several places is one problem; its messages differ only in what was found there. */
function oncePerFlag(problems: readonly string[]): string[] {
  const byFlag = new Map(problems.toReversed().map((problem) => [problem.replace(/ \(got .*\)$/s, ''), problem]));
  return [...byFlag.values()].toReversed();
}

/** One line for each thing that is wrong, with what the flag takes. */
function problemsOf(issue: Issue, file: unknown): string[] {
  const [top, profile, ...rest] = issue.path.map(String);
  if (top !== 'profiles') {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => `unknown key '${key}'; profiles belong under 'profiles'`);
    if (top === '$schema') return [`'$schema' must be text${gotOf(issue, file)}`];
    return ["the file must have the key 'profiles' with a profile for each name"];
  }
  if (profile === undefined) return [`'profiles' must be an object with a profile for each name`];
  const [rule, flag] = rest[0] === 'models' ? [rest[1], rest[2]] : [undefined, rest[0]];
  const where = `profile '${profile}'${rule === undefined ? '' : `, models '${rule}'`}`;
  if (issue.code === 'invalid_key')
    return [`profile '${profile}': ${issue.issues[0]?.message ?? 'the name is not valid'}`];
  if (issue.code === 'unrecognized_keys' && flag === undefined)
    return issue.keys.map((key) => `${where}: ${unknownFlag(key, rule !== undefined)}`);
  if (rest[0] === 'models' && rule === undefined)
    return [`${where}: 'models' must have an object of flags for each regular expression${gotOf(issue, file)}`];
  if (flag === undefined) return [`${where} must be an object of flags`];
  if (flag === 'extends') return [`${where}: 'extends' must be one of ${profileNames.join(', ')}${gotOf(issue, file)}`];
  const takes = flag in profileFlags ? `takes ${takenBy(flag as FlagName)}` : issue.message;
  return [`${where}: flag '${flag}' ${takes}${gotOf(issue, file)}`];
}

function unknownFlag(key: string, isRule: boolean): string {
  if (isRule && (key === 'path' || key === 'tokenizePath')) return `'${key}' cannot depend on the model`;
  const close = Object.keys(profileFlags).find((name) => name.toLowerCase() === key.replace(/[_-]/g, '').toLowerCase());
  return `unknown flag '${key}'${close === undefined ? '' : `; did you mean '${close}'?`}`;
}

/** The values a flag takes, for messages. */
export function takenBy(flag: FlagName): string {
  return wordsOf(z.toJSONSchema(profileFlags[flag], { io: 'input' }) as JsonSchema);
}

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function wordsOf(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(wordsOf).join(', or ');
  switch (schema.type) {
    case 'boolean':
      return 'true, false';
    case 'null':
      return 'null';
    case 'array':
      return `a list of ${wordsOf(schema.items ?? {})}`;
    case 'object': {
      const keys = Object.entries(schema.properties ?? {}).map(([key, inner]) => `${key}: ${wordsOf(inner)}`);
      return keys.length === 0 ? 'an object of text' : `{ ${keys.join('; ')} }`;
    }
    default:
      if (schema.pattern === undefined) return 'text';
      return schema.pattern.startsWith('^\\/.+')
        ? 'a regular expression such as "/qwen3/i"'
        : 'text that starts with /';
  }
}

function gotOf({ path }: Issue, file: unknown): string {
  let value = file;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return value === undefined ? '' : ` (got ${(JSON.stringify(value) ?? String(value)).slice(0, 100)})`;
}
