import type { OperatorFiles } from '../../src/service/server/operator-files.ts';
import { type Config, readConfig } from '../../src/service/settings/config.ts';
import { isSetting, type SettingTable } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import type { Setup } from '../../src/tools/explain/run-request.ts';
import { createTestSettings, type SettingsOverrides } from './settings.ts';

/** What `explain` runs a request under, with these settings. */
export function explainSetupOf(overrides: SettingsOverrides): Setup {
  const { profile, ...values } = createTestSettings(overrides);
  const defaults = readConfig({});
  const config: Record<string, unknown> = { ...defaults, UPSTREAM_PROFILE: profile.name };
  const files: Record<string, unknown> = {};
  addValues(settings.translation, values, config, files);
  return { config: config as Config, profile, files };
}

/** The inverse of `readValues`: adds each value, and the content of each file, by its variable. */
function addValues(
  table: SettingTable,
  values: object,
  config: Record<string, unknown>,
  files: Record<string, unknown>,
): OperatorFiles {
  for (const [name, entry] of Object.entries(table)) {
    const value = (values as Readonly<Record<string, unknown>>)[name];
    if (typeof entry !== 'object') continue;
    if (!isSetting(entry)) addValues(entry, value as object, config, files);
    else if (entry.file !== null) files[entry.variable] = value;
    else config[entry.variable] = value ?? entry.form.read(entry.fallback);
  }
  return files;
}
