import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../../src/service/settings/config.ts';
import { didYouMean } from '../../../../src/service/settings/unknown-names.ts';

test.each([
  ['UPSTREAM_PROFLE', 'UPSTREAM_PROFILE'],
  ['UPSTREAM_PROFILE_FILE', 'UPSTREAM_PROFILES_FILE'],
  ['UPSTREAM_PORFILE', 'UPSTREAM_PROFILE'],
  ['DEFAULT_MODELS', 'DEFAULT_MODEL'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['Listen', 'LISTEN'],
  ['OTEL_EXPORTER_OTLP_ENDPONT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  ['MAX_REQUEST_BYTE', 'MAX_REQUEST_BYTES'],
])('%s stops the start, and %s is named', (given, meant) => {
  expect(() => readConfig({ [given]: 'vllm' })).toThrow(ConfigError);
  expect(() => readConfig({ [given]: 'vllm' })).toThrow(
    `Configuration: ${given}: unknown variable; did you mean ${meant}?`,
  );
});

test.each([
  ['llamacpp', ' Did you mean llama.cpp?'],
  ['lm-studio', ' Did you mean lmstudio?'],
  ['VLLM', ' Did you mean vllm?'],
  ['abacus', ''],
  ['tei', ' Did you mean tgi?'],
  ['xyz', ''],
])('%s is asked about where a name is nearly the same', (given, question) => {
  expect(didYouMean(given, ['generic', 'llama.cpp', 'lmstudio', 'tgi', 'vllm'])).toBe(question);
});

test.each([
  // A shell's, systemd's, Kubernetes' and npm's own.
  ...['PATH', 'HOME', 'LISTEN_FDS', 'LISTEN_PID', 'WORKER', 'HOSTNAME', 'INVOCATION_ID', 'NOTIFY_SOCKET'],
  ...['LLM_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT', 'npm_config_loglevel', 'NODE_OPTIONS', 'MAX_TOKENS', 'LOG_FORMAT'],
  // OpenTelemetry's, which the service does not read or its exporter reads by itself.
  ...['OTEL_TRACES_SAMPLER', 'OTEL_BLRP_SCHEDULE_DELAY', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES'],
  ...['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', 'OTEL_BSP_EXPORT_TIMEOUT'],
  ...['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'OTEL_BSP_MAX_QUEUE_SIZE', 'OTEL_LOG_LEVEL', 'OTEL_SDK_DISABLED'],
  // OpenSSL's.
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR'],
  // Of the local mesh and of `doctor`.
  ...['UPSTREAM_KEY', 'UPSTREAM_API_KEY', 'ENVOY_BIN'],
])('%s is none of our business', (name) => {
  expect(readConfig({ [name]: 'x' })).toEqual(readConfig({}));
});

test('a name that is misspelt is said together with what else is wrong', () => {
  expect(() => readConfig({ UPSTREAM_PROFLE: 'vllm', WORKERS: 'many' })).toThrow(/UPSTREAM_PROFLE.*\n.*WORKERS/);
});
