import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Setup } from '../../src/explain/run-request.ts';
import { readOperatorFiles } from '../../src/server/operator-files.ts';
import { type Config, readConfig } from '../../src/settings/config.ts';
import { createTestSettings, type SettingsOverrides } from './settings.ts';

/** The service's configuration that gives these settings: what a case says of settings, as environment variables say it. */
export function configOf(overrides: SettingsOverrides): Config {
  const { limits, compaction, ...settings } = createTestSettings(overrides);
  return {
    ...readConfig({}),
    UPSTREAM_PROFILE: settings.profile.name,
    MAX_INPUT_ITEMS: limits.maxItems,
    MAX_TEXT_BYTES: limits.maxTextBytes,
    MAX_IMAGE_URL_BYTES: limits.maxImageUrlBytes,
    MAX_FILE_BYTES: limits.maxFileBytes,
    MAX_TOOLS: limits.maxTools,
    MAX_NESTING: limits.maxNesting,
    MAX_REQUEST_VALUES: limits.maxValues,
    DEFAULT_MODEL: settings.defaultModel ?? '',
    OMITTED_STORE: settings.omittedStore,
    REASONING_EVENTS: settings.reasoningEvents,
    DROPPED_TOOLS: [...settings.droppedTools],
    UNSUPPORTED_ITEMS: settings.unsupportedItems,
    UNKNOWN_ITEMS: settings.unknownItems,
    CONTEXT_MANAGEMENT: settings.contextManagement,
    ORPHAN_OUTPUTS: settings.orphanOutputs,
    MISSING_OUTPUTS: settings.missingOutputs,
    UNKNOWN_FIELDS: settings.unknownFields,
    STRICT_ECHO: settings.strictEcho,
    COMPACTION_PROMPT_FILE: promptFile(compaction.prompt),
    COMPACTION_MAX_TOKENS: compaction.maxTokens,
    MODEL_CONTEXT_WINDOW: compaction.contextWindow ?? 0,
    FOREIGN_COMPACTION: compaction.foreignItems,
  };
}

/** What `explain` runs a request under, with these settings. */
export function explainSetupOf(overrides: SettingsOverrides): Setup {
  const config = configOf(overrides);
  return { config, profile: createTestSettings(overrides).profile, files: readOperatorFiles(config) };
}

const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-prompt-'));

/** A file for each text: another case may still read its own. */
function promptFile(prompt: string): string {
  const file = files.get(prompt) ?? join(folder, `${files.size}.txt`);
  if (!files.has(prompt)) writeFileSync(file, prompt);
  files.set(prompt, file);
  return file;
}

const files = new Map<string, string>();
