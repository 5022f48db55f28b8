import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { flagJson } from '../../filter/upstream/flag-json.ts';
import type { Profile } from '../../filter/upstream/profile.ts';
import { profileNames, profileOf } from '../../filter/upstream/profiles.ts';
import { type Config, ConfigError } from '../settings/config.ts';

// YAML and a schema of every flag: loaded where there is a file to read.
const require = createRequire(import.meta.url);
let loaded: typeof import('../../filter/upstream/profiles-file.ts') | undefined;

function fileReader(): typeof import('../../filter/upstream/profiles-file.ts') {
  loaded ??=
    require('../../filter/upstream/profiles-file.ts') as typeof import('../../filter/upstream/profiles-file.ts');
  return loaded;
}

/** The profiles that routes may name: the built-in ones and those of the operator's file. */
export interface ProfileSource {
  /** The profile of that name as it is now, or undefined. */
  profileOf(name: string): Profile | undefined;
  names(): readonly string[];
  /** The profiles of the file, by name; for `/config` and `--print-config`. */
  ofFile(): ReadonlyMap<string, Profile>;
  /** Why the file as it is now cannot be used, so that older profiles are in force; null if it can. */
  problem(): string | null;
  /** Reads the file now; a valid change takes effect with the next exchange. */
  reload(): void;
  /** Stops watching the file. */
  close(): void;
}

export interface ProfileSourceObserver {
  reloaded(names: readonly string[]): void;
  /** The changed file cannot be used; the profiles in force stay. Called once for each change. */
  rejected(error: Error): void;
}

const maxFileBytes = 1024 * 1024;

/** The profiles that this configuration names. Throws `ConfigError` where the file cannot be used. */
export function openProfiles(config: Config, observer: ProfileSourceObserver = silent): ProfileSource {
  const { UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: required } = config;
  if (file === '') return builtInProfileSource;
  try {
    return createProfileSource(file, required, observer);
  } catch (error) {
    const problems = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new ConfigError(problems.map((problem) => `UPSTREAM_PROFILES_FILE: ${problem}`));
  }
}

const silent: ProfileSourceObserver = { reloaded() {}, rejected() {} };

/** Without a file: the built-in profiles alone. */
export const builtInProfileSource: ProfileSource = {
  profileOf,
  names: () => profileNames,
  ofFile: () => new Map(),
  problem: () => null,
  reload() {},
  close() {},
};

/**
 * The profiles of `file`, read again when its content changes (as `createTlsCredentials` does, and for the same reason:
 * Kubernetes replaces a mounted file by moving a symbolic link). `required` is the name of the profile that must be
 * there, since the configuration uses it. Throws `ProfilesFileError`, or what reading the file throws.
 */
export function createProfileSource(
  file: string,
  required: string,
  observer: ProfileSourceObserver,
  intervalMs = 10_000,
): ProfileSource {
  let text: string | null = readText(file);
  let profiles = readProfiles(text, file, required);
  let problem: string | null = null;

  function reload(): void {
    try {
      const next = readText(file);
      if (next === text) return;
      text = next; // also where it is not valid: one message for each change
      profiles = readProfiles(next, file, required);
      problem = null;
      observer.reloaded([...profiles.keys()]);
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (error instanceof fileReader().ProfilesFileError || error.message !== problem) observer.rejected(error);
      // A file that can be read again after a failure counts as changed, whatever is in it.
      if (!(error instanceof fileReader().ProfilesFileError)) text = null;
      problem = error.message;
    }
  }

  const timer = setInterval(reload, intervalMs).unref();
  return {
    profileOf: (name) => profileOf(name) ?? profiles.get(name),
    names: () => [...profileNames, ...profiles.keys()],
    ofFile: () => profiles,
    problem: () => problem,
    reload,
    close: () => clearInterval(timer),
  };
}

/** The profiles of the file with every flag, for JSON, and what is wrong with the file, if anything. */
export function describeProfiles(source: ProfileSource): Readonly<Record<string, unknown>> {
  const problem = source.problem();
  return {
    profiles: JSON.parse(flagJson(Object.fromEntries(source.ofFile()))),
    ...(problem !== null && { profilesProblem: problem }),
  };
}

function readText(file: string): string {
  const bytes = readFileSync(file);
  if (bytes.length > maxFileBytes) throw new Error(`${file} is larger than ${maxFileBytes} bytes`);
  return bytes.toString('utf8');
}

function readProfiles(text: string, file: string, required: string): ReadonlyMap<string, Profile> {
  const { ProfilesFileError, readProfilesFile } = fileReader();
  const profiles = readProfilesFile(text, file);
  if (profileOf(required) === undefined && !profiles.has(required))
    throw new ProfilesFileError(file, [`there is no profile '${required}', which UPSTREAM_PROFILE names`]);
  return profiles;
}
