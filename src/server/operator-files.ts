import { readFileSync } from 'node:fs';
import { type Config, ConfigError } from '../config.ts';
import { defaultCompactionPrompt } from '../translate/request/compaction.ts';

/** Texts of the operator's, as the configuration names them. */
export interface OperatorFiles {
  readonly compactionPrompt: string;
}

const maxPromptBytes = 64 * 1024;

/** Reads the files. Throws `ConfigError` for one that is missing, too large, empty, or not UTF-8. */
export function readOperatorFiles(config: Config): OperatorFiles {
  return { compactionPrompt: textOf(config, 'COMPACTION_PROMPT_FILE', maxPromptBytes) ?? defaultCompactionPrompt };
}

/** The file's text; null where the variable is not set. */
function textOf(config: Config, name: 'COMPACTION_PROMPT_FILE', maxBytes: number): string | null {
  const file = config[name];
  if (file === '') return null;
  let text: string;
  try {
    const bytes = readFileSync(file);
    if (bytes.length > maxBytes) throw new Error(`${file} is larger than ${maxBytes} bytes`);
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ConfigError([`${name}: cannot be read: ${error instanceof Error ? error.message : String(error)}`]);
  }
  if (text.trim() === '') throw new ConfigError([`${name}: ${file} is empty`]);
  return text;
}
