import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import { createAuthority } from './certificates.ts';

/** A legal value for each variable of the service that is not its default. */
export interface OtherValues {
  readonly values: Readonly<Record<string, string>>;
  remove(): void;
}

/** Throws for a variable whose form does not say what it takes, and that has no value here. */
export function createOtherValues(): OtherValues {
  const folder = mkdtempSync(join(tmpdir(), 'other-values-'));
  const authority = createAuthority('other-values');
  const { certFile, keyFile } = authority.issue('service');
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const given: Readonly<Record<string, string>> = {
    LISTEN: '127.0.0.1:0',
    WORKERS: '2',
    ADMIN_LISTEN: '127.0.0.1:0',
    ADMIN_HOSTS: 'metrics.example',
    INSPECT_SEND_TO: 'http://127.0.0.1:9/v1',
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    TLS_CLIENT_CA_FILE: authority.caFile,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/traces',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
    OTEL_SERVICE_NAME: 'another',
    WEBSOCKET_LISTEN: '127.0.0.1:0',
    WEBSOCKET_FORWARD_TO: 'http://127.0.0.1:9/v1',
    WEBSOCKET_ORIGINS: 'https://app.example',
    UPSTREAM_PROFILE: 'vllm',
    UPSTREAM_PROFILES_FILE: file('profiles.yaml', 'profiles: { mine: { extends: vllm } }'),
    UPSTREAM_PATH: '/elsewhere/chat/completions',
    SESSION_HEADER: 'x-session',
    SESSION_HASH_KEY_FILE: file('secret', 'a secret of many characters'),
    DEFAULT_MODEL: 'another',
    DROPPED_TOOLS: 'web_search',
    COMPACTION_PROMPT_FILE: file('prompt', 'Be brief.'),
    MODEL_CATALOG_FILE: file('catalog.json', '{"*":{"context_window":4096}}'),
  };
  const all = settingsIn(settings).map(({ variable, form, fallback }) => {
    const { enum: words = [], anyOf: [{ minimum = null, maximum = null } = {}] = [] } = form.json as JsonForm;
    const value = [given[variable], ...words, minimum, maximum].find(
      (one) => one !== undefined && one !== null && String(one) !== fallback,
    );
    if (value === undefined) throw new Error(`${variable} needs another value in test/support/other-values.ts`);
    return [variable, String(value)];
  });
  return {
    values: Object.fromEntries(all),
    remove() {
      rmSync(folder, { recursive: true });
      authority.remove();
    },
  };
}

/** What forms say of their values. */
interface JsonForm {
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly { readonly minimum?: number; readonly maximum?: number }[];
}
