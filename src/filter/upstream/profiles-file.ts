import { RE2JS } from 're2js';
import { parseDocument } from 'yaml';
import * as z from 'zod/mini';
import { isJsonObject } from '../../formats/json/exact.ts';
import { type FlagName, type ModelRule, type Profile, type ProfileFlags, pattern, profileFlags } from './profile.ts';
import { builtInProfiles } from './profiles.ts';

/** The profiles of an operator's file cannot be used. The message names file, profile and flag, one problem a line. */
export class ProfilesFileError extends Error {
  constructor(file: string, problems: readonly string[]) {
    super(problems.map((problem) => `${file}: ${problem}`).join('\n'));
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** The profiles of an operator's file, YAML or JSON, by name. Throws `ProfilesFileError`. */
export function readProfilesFile(text: string, file: string): ReadonlyMap<string, Profile> {
  const content = parseFile(text, file);
  const { profiles: entries, $schema = '', ...others } = isJsonObject(content) ? content : {};
  const problems = Object.keys(others).map((key) => `unknown key '${key}'; profiles belong under 'profiles'`);
  const profiles = new Map<string, Profile>();
  if (typeof $schema !== 'string') problems.push(`'$schema' must be text${describeFound($schema)}`);
  if (entries === undefined) problems.push("the file must have the key 'profiles' with a profile for each name");
  else if (!isJsonObject(entries)) problems.push("'profiles' must be an object with a profile for each name");
  else for (const [name, entry] of Object.entries(entries)) parseProfile(name, entry);

  function parseProfile(name: string, entry: unknown): void {
    const where = `profile '${name}'`;
    if (!profileName.test(name))
      problems.push(`${where}: a name is 1 to 64 letters, digits, dots, dashes and underscores`);
    if (builtInProfiles.has(name)) problems.push(`${where} has the name of a built-in profile`);
    if (!isJsonObject(entry)) {
      problems.push(`${where} must be an object of flags`);
      return;
    }
    const { extends: baseName, models = {}, ...given } = entry;
    const base = builtInProfiles.get(String(baseName))?.profile;
    if (base === undefined)
      problems.push(
        `${where}: 'extends' must be one of ${[...builtInProfiles.keys()].join(', ')}${describeFound(baseName)}`,
      );
    if (!isJsonObject(models))
      problems.push(
        `${where}: 'models' must have an object of flags for each regular expression${describeFound(models)}`,
      );
    const own = parseFlags(given, where, flags);
    const rules = Object.entries(isJsonObject(models) ? models : {}).flatMap(([match, rule]) =>
      parseRule(match, rule, where),
    );
    if (base === undefined) return;
    // The operator's own flags are for all models, also for those that a rule of the base names.
    const inherited = base.models.map((rule) => ({ ...rule, flags: without(rule.flags, own) }));
    profiles.set(name, { ...base, ...own, name, models: [...inherited, ...rules] });
  }

  function parseRule(match: string, rule: unknown, where: string): ModelRule[] {
    const ofRule = `${where}, models '${match}'`;
    const flags = isJsonObject(rule) ? parseFlags(rule, ofRule, modelFlags) : {};
    if (!isJsonObject(rule)) problems.push(`${ofRule} must be an object of flags`);
    const read = pattern.safeParse(match);
    if (read.success) return [{ match: linear(read.data, `${where}, models:`) as RegExp, flags }];
    problems.push(`${where}, models: '${match}' ${read.error.issues[0]?.message}`);
    return [];
  }

  /** Flags with a wrong value become problems, and are left out. */
  function parseFlags(
    given: Fields,
    where: string,
    known: Readonly<Record<string, z.ZodMiniType>>,
  ): Partial<ProfileFlags> {
    const entries = Object.entries(given).flatMap(([flag, value]) => {
      const read = Object.hasOwn(known, flag) ? known[flag]?.safeParse(value) : undefined;
      if (read?.success === true) return [[flag, linear(read.data, `${where}: flag '${flag}':`)]];
      problems.push(
        read === undefined
          ? `${where}: ${unknownFlag(flag)}`
          : `${where}: flag '${flag}' takes ${takenBy(flag as FlagName)}${describeFound(value, read.error.issues[0]?.path)}`,
      );
      return [];
    });
    return Object.fromEntries(entries);
  }

  /** The value, with each regular expression in it matched in linear time. A regular expression that cannot be is a problem. */
  function linear(value: unknown, where: string): unknown {
    if (Array.isArray(value)) return value.map((one) => linear(one, where));
    if (isJsonObject(value) && !(value instanceof RegExp))
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, linear(one, where)]));
    try {
      return value instanceof RegExp ? new LinearRegExp(value) : value;
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      problems.push(`${where} ${String(value)} cannot be matched in linear time (${why})`);
      return value;
    }
  }

  if (problems.length > 0) throw new ProfilesFileError(file, problems);
  return profiles;
}

function without(flags: ModelRule['flags'], others: object): ModelRule['flags'] {
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !(name in others)));
}

const flags = Object.fromEntries(Object.entries(profileFlags).map(([name, { schema }]) => [name, schema]));
const { path: _path, tokenizePath: _tokenizePath, ...modelFlags } = flags;
const profileName = /^[\w.-]{1,64}$/;

/**
 * The JSON schema of the file, for editors.
 * @public `profilesFile` gives it.
 */
export function profilesFileJsonSchema() {
  const models = z
    .optional(
      z.record(
        z.string().check(z.describe('A regular expression that RE2 can match, such as /qwen3/i.')),
        z.partial(z.strictObject(modelFlags)),
      ),
    )
    .check(z.describe('Flags for some models of the server only; every rule that matches counts, later ones win.'));
  const profile = z
    .strictObject({
      extends: z
        .enum([...builtInProfiles.keys()] as [string, ...string[]])
        .check(z.describe('The built-in profile it is a variation of.')),
      models,
      ...z.partial(z.strictObject(flags)).shape,
    })
    .check(
      z.describe(
        'A profile of your own: what it extends, and the flags in which it differs. They count for all models; those under ‘models’ come last.',
      ),
    );
  const profiles = z.record(z.string().check(z.regex(profileName)), profile);
  const file = z.strictObject({ $schema: z.optional(z.string()), profiles });
  return z.toJSONSchema(file, { io: 'input', target: 'draft-7' });
}

function parseFile(text: string, file: string): unknown {
  // Aliases can turn a small file into a huge value.
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) throw new ProfilesFileError(file, [error.message.replace(/:?(?:\n.*)?$/s, '')]);
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw new ProfilesFileError(file, [cause instanceof Error ? cause.message : String(cause)]);
  }
}

function unknownFlag(key: string): string {
  if (key === 'path' || key === 'tokenizePath') return `'${key}' cannot depend on the model`;
  const close = Object.keys(flags).find((name) => name.toLowerCase() === key.replace(/[_-]/g, '').toLowerCase());
  return `unknown flag '${key}'${close === undefined ? '' : `; did you mean '${close}'?`}`;
}

/** The values that a flag takes, for messages. */
export function takenBy(flag: FlagName): string {
  return describeSchema(z.toJSONSchema(profileFlags[flag].schema, { io: 'input' }) as JsonSchema);
}

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function describeSchema(schema: JsonSchema): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(describeSchema).join(', or ');
  switch (schema.type) {
    case 'boolean':
      return 'true, false';
    case 'null':
      return 'null';
    case 'array':
      return `a list of ${describeSchema(schema.items ?? {})}`;
    case 'object': {
      const keys = Object.entries(schema.properties ?? {}).map(([key, inner]) => `${key}: ${describeSchema(inner)}`);
      return keys.length === 0 ? 'an object of text' : `{ ${keys.join('; ')} }`;
    }
    default:
      if (schema.pattern === undefined) return 'text';
      return schema.pattern.startsWith('^\\/.+')
        ? 'a regular expression such as "/qwen3/i"'
        : 'text that starts with /';
  }
}

/** The value that was found, or the place in it that is wrong, for messages. */
function describeFound(found: unknown, path: readonly PropertyKey[] = []): string {
  let value = found;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return value === undefined ? '' : ` (got ${(JSON.stringify(value) ?? String(value)).slice(0, 100)})`;
}

/**
 * An operator's regular expression over what an upstream or a client wrote. It runs in RE2, whose time is linear in the text
 * for any pattern; JavaScript's own engine would take minutes for some. The constructor throws, with the reason, for what RE2 cannot match:
 * back-references and lookaround.
 */
export class LinearRegExp extends RegExp {
  readonly #matcher: RE2JS;

  constructor(pattern: RegExp) {
    super(pattern);
    const { source, flags } = pattern;
    let options = 0;
    if (flags.includes('i')) options |= RE2JS.CASE_INSENSITIVE;
    if (flags.includes('m')) options |= RE2JS.MULTILINE;
    if (flags.includes('s')) options |= RE2JS.DOTALL;
    this.#matcher = RE2JS.compile(RE2JS.translateRegExp(source), options);
  }

  override test(text: string): boolean {
    return this.#matcher.matcher(text).find();
  }

  override exec(): never {
    throw new Error('A LinearRegExp can only be tested.');
  }
}
