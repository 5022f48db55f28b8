import type { OperatorFiles } from '../server/operator-files.ts';
import { type Config, describeVariables } from '../settings/config.ts';
import { type FlagName, type Profile, profileFlags } from '../upstream/profile.ts';
import { profileForModel } from '../upstream/profile-for-model.ts';
import { builtInProfiles } from '../upstream/profiles.ts';
import { isSame } from './differences.ts';
import { valueAt } from './fields.ts';
import type { RequestRun, Setup } from './run-request.ts';

/** A flag of the profile or a variable of the environment without whose value something would have been otherwise. */
export interface Cause {
  readonly kind: 'flag' | 'variable';
  readonly name: string;
  /** As it is. */
  readonly value: unknown;
  /** What it says. */
  readonly meaning: string;
  /** Why this server, or this model, has this value, with the source; null where nothing is recorded. */
  readonly reason: string | null;
}

/** The setup with one flag or variable changed. */
export interface Variation {
  readonly cause: Cause;
  readonly setup: Setup;
}

/** A variation with what became of the same request under it. */
export interface VariedRun {
  readonly cause: Cause;
  readonly run: RequestRun;
}

/**
 * Every other value that a flag has in some built-in profile, and every other choice of a variable. `model` decides which
 * rules of the profile count.
 */
export function variationsOf(setup: Setup, model: string, body: unknown): readonly Variation[] {
  const { config, profile } = setup;
  const settled = settledFor(profile, model);
  const flags = flagNames.flatMap((name) => {
    const { json, others } = alternativesTo(name, settled[name]);
    const cause: Cause = {
      kind: 'flag',
      name,
      value: json,
      meaning: profileFlags[name].description ?? '',
      reason: reasonOf(profile, model, name),
    };
    return others.map(({ value }) => ({ cause, setup: { ...setup, profile: { ...settled, [name]: value } } }));
  });
  const variables = Object.entries(choicesFor(config, body)).flatMap(([name, values]) => {
    const cause = variableCause(name as keyof Config, config);
    return values
      .filter((other) => !isSame(other, cause.value))
      .map((other) => ({ cause, setup: { ...setup, config: { ...config, [name]: other } } }));
  });
  const files = Object.entries(otherFiles(setup.files)).map(([name, other]) => ({
    cause: variableCause(name as FileVariable, config),
    setup: { ...setup, files: { ...setup.files, ...other } },
  }));
  return [...variables, ...files, ...flags];
}

function variableCause(name: keyof Config, config: Config): Cause {
  return { kind: 'variable', name, value: config[name], meaning: meaningOf.get(name) ?? '', reason: null };
}

/** The profile as it is for this model, with no rules left for others. */
function settledFor(profile: Profile, model: string): Profile {
  return { ...profileForModel(profile, model), models: [] };
}

/**
 * Runs a request under the profile as it is for this model, and gives the flags that were read: another value of any other
 * flag leads to the same. A request reads about a quarter of them.
 */
export function runAndFlagsRead(
  setup: Setup,
  model: string,
  run: (setup: Setup) => RequestRun,
): { readonly run: RequestRun; readonly flags: ReadonlySet<string> } {
  const flags = new Set<string>();
  const profile = new Proxy(settledFor(setup.profile, model), {
    get(target, name) {
      flags.add(String(name));
      return Reflect.get(target, name);
    },
    // A copy of the profile: what is read of it is not seen.
    ownKeys(target) {
      for (const name of flagNames) flags.add(name);
      return Reflect.ownKeys(target);
    },
  });
  return { run: run({ ...setup, profile }), flags };
}

/** The causes of all varied runs for which `isOtherwise`, each once. */
export function causesOf(runs: readonly VariedRun[], isOtherwise: (run: RequestRun) => boolean): readonly Cause[] {
  const found = new Map<string, Cause>();
  for (const { cause, run } of runs) if (!found.has(cause.name) && isOtherwise(run)) found.set(cause.name, cause);
  return [...found.values()];
}

const meaningOf = new Map(describeVariables().map(({ name, meaning }) => [name, meaning]));

const flagNames = Object.keys(profileFlags) as FlagName[];

/** The flag's value as JSON, and the other values that some server has; the order is that of the documentation. */
function alternativesTo(
  name: FlagName,
  value: unknown,
): { readonly json: unknown; readonly others: readonly KnownValue[] } {
  const known = knownValuesOf(name);
  const own = known.find((one) => one.value === value);
  if (own !== undefined) return { json: own.json, others: known.filter((one) => one !== own) };
  const json = asJson(value);
  return { json, others: known.filter((one) => !isSame(one.json, json)) };
}

/** Every value that the flag has in some built-in profile, once, and as JSON. Each request asks for all of them. */
function knownValuesOf(name: FlagName): readonly KnownValue[] {
  const found = knownValues.get(name) ?? [];
  if (found.length === 0) {
    for (const { profile } of builtInProfiles) {
      const json = asJson(profile[name]);
      if (!found.some((one) => isSame(one.json, json))) found.push({ value: profile[name], json });
    }
    knownValues.set(name, found);
  }
  return found;
}

interface KnownValue {
  readonly value: unknown;
  readonly json: unknown;
}

const knownValues = new Map<FlagName, KnownValue[]>();

/** Flags hold regular expressions, which JSON has not. */
function asJson(value: unknown): unknown {
  const asText = (_key: string, inner: unknown) => (inner instanceof RegExp ? String(inner) : inner);
  return JSON.parse(JSON.stringify(value, asText));
}

/** The rule for the model that sets the flag, or the built-in profile's own reason; an operator's profile has none. */
function reasonOf(profile: Profile, model: string, name: FlagName): string | null {
  const rule = profile.models.findLast(({ match, flags }) => match.test(model) && name in flags);
  if (rule !== undefined) return `Models ${rule.match}: ${rule.reason ?? 'a rule of the profile.'}`;
  let builtIn = builtInProfiles.find((one) => one.profile.name === profile.name) ?? null;
  while (builtIn !== null) {
    const reason = builtIn.reasons[name];
    if (reason !== undefined) return reason;
    builtIn = builtIn.base;
  }
  return null;
}

/** Larger than what any request needs. */
const enough = 2 ** 31 - 1;

/** The values worth trying of each variable that the translation of a request reads. */
function choicesFor(config: Config, body: unknown): { readonly [Name in keyof Config]?: readonly Config[Name][] } {
  const tools = valueAt(body, ['tools']);
  const types = (Array.isArray(tools) ? tools : [])
    .map((tool) => valueAt(tool, ['type']))
    .filter((type) => typeof type === 'string');
  return {
    DEFAULT_MODEL: ['a-model'],
    OMITTED_STORE: ['accept', 'reject'],
    DROPPED_TOOLS: [[], [...config.DROPPED_TOOLS, ...types]],
    UNSUPPORTED_ITEMS: ['drop', 'reject'],
    UNKNOWN_ITEMS: ['text', 'drop', 'reject'],
    CONTEXT_MANAGEMENT: ['accept', 'reject'],
    ORPHAN_OUTPUTS: ['reject', 'synthesize'],
    MISSING_OUTPUTS: ['reject', 'synthesize'],
    FOREIGN_COMPACTION: ['drop', 'reject'],
    UNKNOWN_FIELDS: ['forward', 'reject', 'ignore'],
    STRICT_ECHO: [true, false],
    SESSION_HEADER: ['', 'x-session-id'],
    REASONING_EVENTS: ['summary', 'reasoning_text', 'reasoning'],
    COMPACTION_MAX_TOKENS: [config.COMPACTION_MAX_TOKENS + 1],
    MODEL_CONTEXT_WINDOW: [0, 1_000_000_000],
    MAX_REQUEST_BYTES: [enough],
    MAX_REQUEST_VALUES: [100_000_000],
    MAX_INPUT_ITEMS: [enough],
    MAX_TEXT_BYTES: [enough],
    MAX_IMAGE_URL_BYTES: [enough],
    MAX_FILE_BYTES: [enough],
    MAX_TOOLS: [enough],
    MAX_NESTING: [1000],
    // A route's own path.
    UPSTREAM_PATH: config.UPSTREAM_PATH === '' ? [] : [''],
  };
}

type FileVariable = 'COMPACTION_PROMPT_FILE' | 'CATALOG_INSTRUCTIONS_FILE' | 'MODEL_CATALOG_FILE';

/** What each file could say instead. */
function otherFiles(files: OperatorFiles): { readonly [Name in FileVariable]: Partial<OperatorFiles> } {
  return {
    COMPACTION_PROMPT_FILE: { compactionPrompt: `${files.compactionPrompt} …` },
    CATALOG_INSTRUCTIONS_FILE: { catalogInstructions: `${files.catalogInstructions} …` },
    MODEL_CATALOG_FILE: { catalogOverrides: new Map([['*', { description: '…' }]]) },
  };
}
