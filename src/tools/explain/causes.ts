import { type FlagName, type Profile, profileFlags } from '../../filter/upstream/profile.ts';
import { profileForModel } from '../../filter/upstream/profile-for-model.ts';
import { builtInProfiles } from '../../filter/upstream/profiles.ts';
import { settingsIn } from '../../service/settings/setting.ts';
import { settings } from '../../service/settings/settings-table.ts';
import { isSame } from './json-values.ts';
import type { RequestRun, Setup } from './run-request.ts';

/** A flag of the profile or a variable of the environment whose value decided something. */
export interface Cause {
  readonly kind: 'flag' | 'variable';
  readonly name: string;
  /** Its value. */
  readonly value: unknown;
  /** What it means. */
  readonly meaning: string;
  /** Why this server, or this model, has this value, with the source; null where nothing is recorded. */
  readonly reason: string | null;
}

/** The setup with one flag or variable changed. */
export interface Variation {
  readonly cause: Cause;
  readonly setup: Setup;
}

/** A variation, with the result of the same request under it. */
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
  const values: Readonly<Record<string, unknown>> = config;
  const variables = requestSettings.flatMap(({ variable: name, meaning, others, file }) => {
    const value = values[name];
    const cause: Cause = { kind: 'variable', name, value, meaning, reason: null };
    const ofValue = others(value, body)
      .filter((other) => !isSame(other, value))
      .map((other) => ({ cause, setup: { ...setup, config: { ...config, [name]: other } } }));
    const ofContent = (file?.others ?? []).map((other) => ({
      cause,
      setup: { ...setup, files: { ...setup.files, [name]: other } },
    }));
    return [...ofValue, ...ofContent];
  });
  return [...variables, ...flags];
}

/** The profile for this model, without the rules for others. */
function settledFor(profile: Profile, model: string): Profile {
  return { ...profileForModel(profile, model), models: [] };
}

/**
 * Runs a request under the profile for this model, and gives the flags that were read: changing any other flag changes
 * nothing. A request reads about a quarter of them.
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
    // Copies the profile: reads of the copy are not traced.
    ownKeys(target) {
      for (const name of flagNames) flags.add(name);
      return Reflect.ownKeys(target);
    },
  });
  return { run: run({ ...setup, profile }), flags };
}

/** The causes of all varied runs for which `isOtherwise` holds, each once. */
export function causesOf(
  runs: readonly VariedRun[],
  isOtherwise: (run: RequestRun, cause: Cause) => boolean,
): readonly Cause[] {
  const found = new Map<string, Cause>();
  for (const { cause, run } of runs)
    if (!found.has(cause.name) && isOtherwise(run, cause)) found.set(cause.name, cause);
  return [...found.values()];
}

/** Those that the translation of a request may depend on. */
const requestSettings = settingsIn({ exchange: settings.exchange, translation: settings.translation });

const flagNames = Object.keys(profileFlags) as FlagName[];

/** The flag's value as JSON, and the other values that some server has; in the order of the documentation. */
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

/** Every value that the flag has in some built-in profile, once, and as JSON. Every request needs all of them. */
function knownValuesOf(name: FlagName): readonly KnownValue[] {
  const found = knownValues.get(name) ?? [];
  if (found.length === 0) {
    const values: unknown[] = builtInProfiles.map(({ profile }) => profile[name]);
    // A flag that no built-in profile sets can be set by an operator's.
    if (typeof values[0] === 'boolean') values.push(true, false);
    for (const value of values) {
      const json = asJson(value);
      if (!found.some((one) => isSame(one.json, json))) found.push({ value, json });
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

/** Flags hold regular expressions, which JSON does not have. */
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
