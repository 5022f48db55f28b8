import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig, redactConfig } from '../../../../src/service/settings/config.ts';
import { settingsIn } from '../../../../src/service/settings/setting.ts';
import { settings } from '../../../../src/service/settings/settings-table.ts';

function messageOf(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('the configuration', () => {
  test('needs no variable at all', () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      LISTEN: '0.0.0.0:50051',
      REQUEST_BODY_MODE: 'BUFFERED',
      RESPONSE_BODY_MODE: 'FULL_DUPLEX_STREAMED',
      DROPPED_TOOLS: ['web_search', 'web_search_preview', 'image_generation'],
      MAX_REQUEST_BYTES: 64 * 1024 * 1024,
      STRICT_ECHO: false,
    });
  });

  test('takes an empty variable for one that is not set', () => {
    expect(readConfig({ LOG_LEVEL: '', MAX_TOOLS: '' })).toEqual(readConfig({}));
  });

  test('reads flags, counts and lists', () => {
    const config = readConfig({ STRICT_ECHO: 'true', MAX_TOOLS: '7', DROPPED_TOOLS: ' mcp , file_search,' });
    expect(config).toMatchObject({ STRICT_ECHO: true, MAX_TOOLS: 7, DROPPED_TOOLS: ['mcp', 'file_search'] });
  });

  test('does not look at variables of others', () => {
    expect(readConfig({ PATH: '/bin', HOME: '/root' })).toEqual(readConfig({}));
  });

  const bad: [variable: string, value: string, message: RegExp][] = [
    ['LISTEN', 'fifty', /must be HOST:PORT or unix:\/path/],
    ['LISTEN', '127.0.0.1:1,nowhere', /must be HOST:PORT or unix:\/path/],
    ['LISTEN', '127.0.0.1:99999', /port up to 65535/],
    ['ADMIN_HOSTS', 'http://metrics.example', /must be names of hosts without ports/],
    ['ADMIN_HOSTS', 'metrics.example:9090', /must be names of hosts without ports/],
    ['ADMIN_LISTEN', 'foo', /must be HOST:PORT with a port up to 65535, or off/],
    ['ADMIN_LISTEN', '127.0.0.1:99999', /port up to 65535/],
    ['LOG_LEVEL', 'loud', /must be (one of|true or false)/],
    ['UPSTREAM_PROFILE', 'skynet', /must be one of generic/],
    ['UPSTREAM_PATH', 'v1/chat', /must be a path|start with/i],
    ['SESSION_HEADER', 'X Session', /must be the name of a header/],
    ['SESSION_HEADER', 'x-envoy-original-path', /must be the name of a header/],
    ['REQUEST_BODY_MODE', 'buffered', /must be (one of|true or false)/],
    ['RESPONSE_BODY_MODE', 'GRPC', /must be (one of|true or false)/],
    ['OMITTED_STORE', 'maybe', /must be (one of|true or false)/],
    ['STRICT_ECHO', '1', /must be (one of|true or false)/],
    ['MAX_REQUEST_BYTES', '64M', /must be a whole number/],
    ['MAX_REQUEST_BYTES', '-1', /must be a whole number/],
    ['MAX_REQUEST_BYTES', '10', /must be a whole number from 1024 to /],
    ['WORKERS', '0', /must be a whole number from 1 to 256/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', /must be a URL such as http:/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /must be a URL such as http:/],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'localhost:4318/v1/traces', /with http:\/\/ or https:\/\//],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', /must be a number from 0 to 1/],
    ['INSPECT_PRICES', 'gpt-5', /must be MODEL=INPUT\/OUTPUT or/],
    ['INSPECT_PRICES', 'gpt*5=1/2', /must be MODEL=INPUT\/OUTPUT or/],
    ['INSPECT_PRICES', 'gpt-5=1/2,', /must be MODEL=INPUT\/OUTPUT or/],
    ['TLS_CLIENT_CA_FILE', 'ca.pem', /needs TLS_CERT_FILE and TLS_KEY_FILE/],
  ];
  test.each(bad)('%s=%s stops the start and is named', (variable, value, message) => {
    const text = messageOf({ [variable]: value });
    expect(text).toMatch(message);
    expect(text).toContain(`Configuration: ${variable}: `);
    expect(text).toContain(JSON.stringify(value));
  });

  test('says every mistake at once', () => {
    expect(messageOf({ LOG_LEVEL: 'loud', WORKERS: 'many' }).split('\n')).toHaveLength(2);
  });

  test('wants a certificate and its key together', () => {
    expect(messageOf({ TLS_CERT_FILE: 'cert.pem' })).toContain('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
    expect(messageOf({ TLS_KEY_FILE: 'key.pem' })).toContain('TLS_CERT_FILE and TLS_KEY_FILE: set both or neither');
    expect(messageOf({ TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'key.pem', TLS_CLIENT_CA_FILE: 'ca.pem' })).toBe(
      'accepted',
    );
  });

  test('takes several addresses, sockets and IPv6 among them', () => {
    for (const LISTEN of [
      '0.0.0.0:50051',
      '[::1]:50051',
      'localhost:0',
      'unix:/run/a.sock,127.0.0.1:1',
      '10.0.0.1:5005{worker}',
    ])
      expect(readConfig({ LISTEN }).LISTEN).toBe(LISTEN);
  });

  test('shows no password, neither printed nor in a message', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://user:hunter2@collector:4318';
    expect(JSON.stringify(redactConfig(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT })))).not.toContain('hunter2');
    expect(messageOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http//user:hunter2@host' })).not.toContain('hunter2');
  });

  test('has a default that reads and a meaning for every variable', () => {
    for (const { variable, fallback, meaning } of settingsIn(settings)) {
      expect(messageOf({ [variable]: fallback })).toBe('accepted');
      expect(meaning, variable).toMatch(/\.$/);
    }
  });
});
