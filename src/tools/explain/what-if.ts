import { builtInProfiles, type Profile, type ProfileFlags, profileFlags, profileForModel } from '../../filter/index.ts';
import { jsonWithPatterns } from '../../formats/json/loose.ts';
import { settingsIn } from '../../service/settings/setting.ts';
import { settings } from '../../service/settings/settings-table.ts';
import { isSameJson } from './fields.ts';
import { type ExplainOptions, type RequestRun, replaceBody, runRequest, type Setup } from './run-request.ts';

/** A flag of the profile or a variable of the environment whose value decided something. */
export interface Cause {
  readonly kind: 'flag' | 'variable';
  readonly name: string;
  readonly value: unknown;
  readonly meaning: string;
  /** The reason why this server or model has the value, with its source; null if no reason is recorded. */
  readonly reason: string | null;
}

export interface VariedRun {
  readonly cause: Cause;
  readonly run: RequestRun;
}

export type WhatIf = ReturnType<typeof createWhatIf>;

/** The default takes a few seconds: 256 MiB at the speed that docs/decisions/0006-cpu-of-a-request.md gives. */
const defaultProbedBytes = 2 ** 28;

const tooLarge = 'The request is too large to find out which flags and variables decided.';

/** Runs a request, with this body, under the other values of each flag and variable. The rules for `model` count. */
export function createWhatIf(options: ExplainOptions, whole: unknown, model: string) {
  const { setup, request, now, probedBytes = defaultProbedBytes } = options;
  const variations = listVariations(setup, model, whole);
  const notes: string[] = [];

  /**
   * Runs the request with this body under every variation, and returns the runs that differ from `usual`. A body too
   * large for that many runs gets none, and a note says so.
   */
  function runs(body: unknown, usual: RequestRun, times = 1): readonly VariedRun[] {
    const affordable = variations.length * request.body.length * times <= probedBytes;
    if (!affordable && notes.length === 0) notes.push(tooLarge);
    if (!affordable || body === undefined) return [];
    const same = replaceBody(request, body);
    const settled = runAndNoteFlags(setup, model, (changed) => runRequest(changed, same, now));
    // A body without its model may be translated by another rule of the profile.
    const isTheUsual = isSameRun(usual, settled.run);
    return variations.flatMap(({ cause, setup: changed }) => {
      if (isTheUsual && cause.kind === 'flag' && !settled.flags.has(cause.name)) return [];
      const run = runRequest(changed, same, now);
      return isSameRun(usual, run) ? [] : [{ cause, run }];
    });
  }

  return { runs, notes };
}

/** The causes of those runs that differ in the way that `isOtherwise` asks about. Each cause comes once. */
export function listCauses(
  runs: readonly VariedRun[],
  isOtherwise: (run: RequestRun, cause: Cause) => boolean,
): readonly Cause[] {
  const found = new Map<string, Cause>();
  for (const { cause, run } of runs)
    if (!found.has(cause.name) && isOtherwise(run, cause)) found.set(cause.name, cause);
  return [...found.values()];
}

/** The setup with one flag or variable changed: every other choice of a variable, and every other value that a flag has in some built-in profile. */
export function listVariations(setup: Setup, model: string, body: unknown) {
  const { config, profile } = setup;
  const settled = settleProfile(profile, model);
  const values: Readonly<Record<string, unknown>> = config;
  const variables = requestSettings.flatMap(({ variable: name, meaning, others, file }) => {
    const value = values[name];
    const cause: Cause = { kind: 'variable', name, value, meaning, reason: null };
    const ofValue = others(value, body)
      .filter((other) => !isSameJson(other, value))
      .map((other) => ({ cause, setup: { ...setup, config: { ...config, [name]: other } } }));
    const ofContent = (file?.others ?? []).map((other) => ({
      cause,
      setup: { ...setup, files: { ...setup.files, [name]: other } },
    }));
    return [...ofValue, ...ofContent];
  });
  const flags = flagNames.flatMap((name) => {
    const own = jsonWithPatterns(settled[name]);
    const { meaning: about, meanings } = profileFlags[name];
    const ofValue = meanings?.[String(settled[name])];
    const meaning = ofValue === undefined ? about : `${about} Here: ${ofValue}.`;
    const reason = findReason(profile, model, name);
    const cause: Cause = { kind: 'flag', name, value: JSON.parse(own), meaning, reason };
    return [...(knownValues.get(name) ?? [])]
      .filter(([json]) => json !== own)
      .map(([, value]) => ({ cause, setup: { ...setup, profile: { ...settled, [name]: value } } }));
  });
  return [...variables, ...flags];
}

/** Settings that the translation of a request may depend on. */
const requestSettings = settingsIn({ exchange: settings.exchange, translation: settings.translation });

const flagNames = Object.keys(profileFlags) as (keyof ProfileFlags)[];

/** All values that a flag has in built-in profiles. The key of a value is its JSON. */
const knownValues: ReadonlyMap<keyof ProfileFlags, ReadonlyMap<string, unknown>> = new Map(
  flagNames.map((name) => {
    const values: unknown[] = [...builtInProfiles.values()].map(({ profile }) => profile[name]);
    // A flag that no built-in profile sets can be set by an operator's.
    if (typeof values[0] === 'boolean') values.push(true, false);
    return [name, new Map(values.map((value) => [jsonWithPatterns(value), value]))];
  }),
);

/** Resolves a profile's rules for this model, and removes its rules for all other models. */
function settleProfile(profile: Profile, model: string): Profile {
  return { ...profileForModel(profile, model), models: [] };
}

/**
 * Runs a request under the profile for this model, and returns the flags that it read, about a quarter of all. A change
 * to any other flag changes nothing.
 */
function runAndNoteFlags(setup: Setup, model: string, run: (setup: Setup) => RequestRun) {
  const flags = new Set<string>();
  const profile = new Proxy(settleProfile(setup.profile, model), {
    get(target, name) {
      flags.add(String(name));
      return Reflect.get(target, name);
    },
    // Reads of a copied profile are not traced: all flags count as read.
    ownKeys(target) {
      for (const name of flagNames) flags.add(name);
      return Reflect.ownKeys(target);
    },
  });
  return { run: run({ ...setup, profile }), flags };
}

/** Whether two runs led to the same request and the same echo, or to the same refusal. */
function isSameRun(one: RequestRun, other: RequestRun): boolean {
  if (one.type === 'refused' && other.type === 'refused') return isSameJson(one.error, other.error);
  if (one.type !== 'sent' || other.type !== 'sent') return one.type === other.type;
  if (one.path !== other.path || !isSameJson(one.dropped, other.dropped)) return false;
  if (!isSameJson(one.headerChanges, other.headerChanges)) return false;
  if (!isSameJson(one.provenance.result?.echo, other.provenance.result?.echo)) return false;
  // For nearly all variations the bodies are equal.
  return one.body.equals(other.body) || isSameJson(one.chat(), other.chat());
}

/** The rule for the model that sets the flag, or the built-in profile's own reason; an operator's profile has none. */
function findReason(profile: Profile, model: string, name: keyof ProfileFlags): string | null {
  const rule = profile.models.findLast(({ match, flags }) => match.test(model) && name in flags);
  if (rule !== undefined) return `Models ${rule.match}: ${rule.reason ?? 'a rule of the profile.'}`;
  let builtIn = builtInProfiles.get(profile.name) ?? null;
  while (builtIn !== null) {
    const reason = builtIn.reasons[name];
    if (reason !== undefined) return reason;
    builtIn = builtIn.base;
  }
  return null;
}
