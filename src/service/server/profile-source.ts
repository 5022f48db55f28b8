import { builtInProfiles, type Profile, profilesFile } from '../../filter/index.ts';
import { jsonWithPatterns } from '../../formats/json/loose.ts';
import { type Config, ConfigError } from '../settings/config.ts';
import { messageOf } from '../settings/error-texts.ts';
import { type OnChanged, watchFiles } from './watched-files.ts';

/** The profiles that routes may name: built-in ones, and those of the operator's file, which may change. */
export type ProfileSource = ReturnType<typeof openProfiles>;

const maxFileBytes = 1024 * 1024;

/** Opens the profiles of a configuration. Throws `ConfigError` if their file cannot be used. */
export function openProfiles(
  { UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: required }: Config,
  onChanged: OnChanged = () => {},
  intervalMs?: number,
) {
  let profiles: ReadonlyMap<string, Profile> = new Map();
  const take = ([bytes]: readonly Buffer[]) => {
    if (bytes !== undefined) profiles = readProfiles(bytes, file, required);
  };
  let watched: ReturnType<typeof watchFiles>;
  try {
    watched = watchFiles(file === '' ? [] : [file], take, onChanged, intervalMs);
  } catch (error) {
    const problems = messageOf(error).split('\n');
    throw new ConfigError(problems.map((problem) => `UPSTREAM_PROFILES_FILE: ${problem}`));
  }
  return {
    ...watched,
    profileOf: (name: string) => builtInProfiles.get(name)?.profile ?? profiles.get(name),
    names: (): readonly string[] => [...builtInProfiles.keys(), ...profiles.keys()],
    ofFile: () => profiles,
  };
}

/** The file's profiles with every flag, for `/config` and `--print-config`, and what is wrong with the file, if anything. */
export function describeProfiles(source: ProfileSource): Readonly<Record<string, unknown>> {
  const problem = source.problem();
  return {
    profiles: JSON.parse(jsonWithPatterns(Object.fromEntries(source.ofFile()))),
    ...(problem !== null && { profilesProblem: problem }),
  };
}

function readProfiles(bytes: Buffer, file: string, required: string): ReadonlyMap<string, Profile> {
  const { ProfilesFileError, readProfilesFile } = profilesFile();
  if (bytes.length > maxFileBytes) throw new Error(`${file} is larger than ${maxFileBytes} bytes`);
  const profiles = readProfilesFile(bytes.toString('utf8'), file);
  if (!builtInProfiles.has(required) && !profiles.has(required))
    throw new ProfilesFileError(file, [`there is no profile '${required}', which UPSTREAM_PROFILE names`]);
  return profiles;
}
