import { accessSync, constants } from 'node:fs';
import { isHostedTool } from '../../filter/translate/request/parse/parse-tools.ts';
import { readOperatorFiles } from '../server/operator-files.ts';
import { readTlsFiles, tlsFilesOf } from '../server/tls.ts';
import { type Config, ConfigError } from '../settings/config.ts';
import { messageOf } from '../settings/error-texts.ts';

/**
 * What a variable's own form cannot check: files that cannot be read or do not match, tools that do not exist. Throws
 * `ConfigError` naming every such variable.
 */
export function checkConfig(config: Config): void {
  const problems = [...unreadable(config), ...unknownTools(config)];
  if (problems.length === 0) problems.push(...mismatched(config));
  if (problems.length > 0) throw new ConfigError(problems);
  readOperatorFiles(config);
}

const tlsVariables = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CLIENT_CA_FILE'] as const;

function unreadable(config: Config): string[] {
  return tlsVariables.flatMap((name) =>
    config[name] === '' ? [] : problemOf(`${name}: cannot be read`, () => accessSync(config[name], constants.R_OK)),
  );
}

function mismatched(config: Config): string[] {
  const files = tlsFilesOf(config);
  if (files === null) return [];
  return problemOf(`${tlsVariables.slice(0, files.length).join(', ')}: cannot be used`, () => readTlsFiles(files));
}

function problemOf(problem: string, use: () => void): string[] {
  try {
    use();
    return [];
  } catch (error) {
    return [`${problem}: ${messageOf(error)}`];
  }
}

function unknownTools({ DROPPED_TOOLS: names }: Config): string[] {
  const unknown = names.filter((name) => !isHostedTool(name) && !name.includes(':')); // `vendor:tool`
  return unknown.length === 0 ? [] : [`DROPPED_TOOLS: unknown hosted tool ${unknown.join(', ')}`];
}
