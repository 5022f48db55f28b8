import { builtInProfiles } from '../../filter/index.ts';
import { redactUrls } from '../../formats/credentials/urls.ts';
import { didYouMean, findMisspelt } from './error-texts.ts';
import { type Setting, type SettingIn, settingsIn } from './setting.ts';
import { settings } from './settings-table.ts';

type AnySetting = SettingIn<typeof settings>;

export type Config = {
  readonly [One in AnySetting as One['variable']]: One extends Setting<string, infer Value> ? Value : never;
};

/** Parses the environment. Throws `ConfigError` that names every invalid or misspelt variable. */
export function readConfig(given: Readonly<Record<string, string | undefined>>): Config {
  const config: Record<string, unknown> = {};
  const all = settingsIn(settings);
  const names = all.map(({ variable }) => variable);
  const problems = findMisspelt(given, names);
  for (const { variable, form, fallback } of all) {
    const text = given[variable];
    const value = form.read(text === undefined || text === '' ? fallback : text);
    if (value === undefined) problems.push(`${variable}: must be ${form.takes}${quote(text)}`);
    config[variable] = value;
  }
  // Each value has been read by the form of its variable.
  const valid = config as Config;
  if (problems.length === 0) problems.push(...findContradictions(valid));
  if (problems.length > 0) throw new ConfigError(problems);
  return valid;
}

/** Finds what is wrong with variables that are valid one by one. */
function findContradictions(config: Config): string[] {
  const found: string[] = [];
  const builtIn = [...builtInProfiles.keys()];
  if (config.UPSTREAM_PROFILES_FILE === '' && !builtInProfiles.has(config.UPSTREAM_PROFILE))
    found.push(
      `UPSTREAM_PROFILE: must be one of ${builtIn.join(', ')}, or a profile of UPSTREAM_PROFILES_FILE${quote(config.UPSTREAM_PROFILE)}${didYouMean(config.UPSTREAM_PROFILE, builtIn)}`,
    );
  if ((config.TLS_CERT_FILE === '') !== (config.TLS_KEY_FILE === ''))
    found.push('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
  if (config.WEBSOCKET_LISTEN !== '' && config.WEBSOCKET_FORWARD_TO === '')
    found.push('WEBSOCKET_LISTEN: needs WEBSOCKET_FORWARD_TO, the URL of the proxy');
  if (config.INSPECT === 'on' && config.ADMIN_LISTEN === 'off')
    found.push('INSPECT: is a page of the admin port, which ADMIN_LISTEN disables (got "on")');
  if (config.INSPECT === 'on' && config.WORKERS > 1)
    found.push(
      `INSPECT: shows the exchanges of one process; use it with WORKERS=1 (got "on" and WORKERS=${config.WORKERS})`,
    );
  if (config.TLS_CLIENT_CA_FILE !== '' && config.TLS_CERT_FILE === '')
    found.push(`TLS_CLIENT_CA_FILE: needs TLS_CERT_FILE and TLS_KEY_FILE${quote(config.TLS_CLIENT_CA_FILE)}`);
  return found;
}

export function redactConfig(config: Config): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, typeof value === 'string' ? redactUrls(value) : value]),
  );
}

export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.map((problem) => `Configuration: ${problem}`).join('\n'));
  }
}

/** Quotes the given value for a message, unless it may contain a password. */
function quote(text: string | undefined): string {
  return text === undefined || text.includes('@') ? '' : ` (got ${JSON.stringify(text)})`;
}
