import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { type Config, ConfigError } from '../settings/config.ts';
import { defaultCatalogInstructions } from '../translate/operations/catalog.ts';
import { defaultCompactionPrompt } from '../translate/request/compaction.ts';
import type { CatalogSettings } from '../translate/settings.ts';

/** Texts of the operator's, as the configuration names them. */
export interface OperatorFiles {
  readonly compactionPrompt: string;
  readonly catalogInstructions: string;
  readonly catalogOverrides: CatalogSettings['overrides'];
}

const maxTextBytes = 64 * 1024;
const maxCatalogBytes = 1024 * 1024;

/** Reads the files. Throws `ConfigError` for one that is missing, too large, empty, or not what it should be. */
export function readOperatorFiles(config: Config): OperatorFiles {
  return {
    compactionPrompt: textOf(config, 'COMPACTION_PROMPT_FILE', maxTextBytes) ?? defaultCompactionPrompt,
    catalogInstructions: textOf(config, 'CATALOG_INSTRUCTIONS_FILE', maxTextBytes) ?? defaultCatalogInstructions,
    catalogOverrides: overridesOf(textOf(config, 'MODEL_CATALOG_FILE', maxCatalogBytes) ?? '{}'),
  };
}

type FileVariable = 'COMPACTION_PROMPT_FILE' | 'CATALOG_INSTRUCTIONS_FILE' | 'MODEL_CATALOG_FILE';

/** The file's text; null where the variable is not set. */
function textOf(config: Config, name: FileVariable, maxBytes: number): string | null {
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

/** `slug` is the model's name, by which Codex finds the entry: it stays. */
const catalogFile = z.record(
  z.string(),
  z.object({ slug: z.never().optional(), context_window: z.int().positive().optional() }).catchall(z.unknown()),
);

function overridesOf(text: string): CatalogSettings['overrides'] {
  try {
    return new Map(Object.entries(catalogFile.parse(JSON.parse(text))));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new ConfigError([`MODEL_CATALOG_FILE: must be a JSON object of models and their fields: ${reason}`]);
  }
}
