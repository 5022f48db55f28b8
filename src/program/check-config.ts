import { accessSync, constants } from 'node:fs';
import { isHostedTool } from '../filter/index.ts';
import { readOperatorFiles } from '../service/server/operator-files.ts';
import { describeProfiles, type openProfiles } from '../service/server/profile-source.ts';
import { readTlsFiles, readTlsSettings } from '../service/server/tls.ts';
import { type Config, ConfigError, redactConfig } from '../service/settings/config.ts';
import { messageOf } from '../service/settings/error-texts.ts';
import { version } from '../service/telemetry/version.ts';

/** Checks what needs more than a variable's text: files, and tools that exist. Throws `ConfigError` that names every wrong variable. */
export function checkConfig(config: Config): void {
  const files = readTlsSettings(config);
  const problems = tlsVariables.flatMap((name) =>
    config[name] === '' ? [] : tryUse(`${name}: cannot be read`, () => accessSync(config[name], constants.R_OK)),
  );
  const unknown = config.DROPPED_TOOLS.filter((name) => !isHostedTool(name) && !name.includes(':')); // `vendor:tool`
  if (unknown.length > 0) problems.push(`DROPPED_TOOLS: unknown hosted tool ${unknown.join(', ')}`);
  if (problems.length === 0 && files !== null) {
    const names = tlsVariables.slice(0, files.length).join(', ');
    problems.push(...tryUse(`${names}: cannot be used`, () => readTlsFiles(files)));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  readOperatorFiles(config);
}

const tlsVariables = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CLIENT_CA_FILE'] as const;

function tryUse(problem: string, use: () => void): string[] {
  try {
    use();
    return [];
  } catch (error) {
    return [`${problem}: ${messageOf(error)}`];
  }
}

/** The configuration in use, as the admin port shows it at `/config`. */
export function describeConfig(config: Config, profiles: ReturnType<typeof openProfiles>) {
  return { version, ...redactConfig(config), ...describeProfiles(profiles) };
}
