import { readFileSync } from 'node:fs';
import { type Config, ConfigError } from '../settings/config.ts';
import { messageOf } from '../settings/error-texts.ts';
import { type FileForm, settingsIn } from '../settings/setting.ts';
import { settings } from '../settings/settings-table.ts';

/** The contents of the operator's files, by the variable that names the file; null for an unset variable. */
export type OperatorFiles = Readonly<Record<string, unknown>>;

/** Reads the operator's files. Throws `ConfigError` for a file that is missing, too large, empty, or invalid. */
export function readOperatorFiles(config: Config): OperatorFiles {
  const paths: Readonly<Record<string, unknown>> = config;
  return Object.fromEntries(
    settingsIn(settings).flatMap(({ variable, file }) => {
      if (file === null) return [];
      const path = String(paths[variable]);
      return [[variable, path === '' ? null : readOperatorFile(variable, path, file)]];
    }),
  );
}

function readOperatorFile(variable: string, path: string, { maxBytes, takes, read }: FileForm<unknown>): unknown {
  let text: string;
  try {
    const bytes = readFileSync(path);
    if (bytes.length > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ConfigError([`${variable}: cannot be read: ${messageOf(error)}`]);
  }
  if (text.trim() === '') throw new ConfigError([`${variable}: ${path} is empty`]);
  try {
    return read(text);
  } catch (error) {
    throw new ConfigError([`${variable}: ${path} must be ${takes}: ${messageOf(error)}`]);
  }
}
