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
    ['TLS_CLIENT_CA_FILE', 'ca.pem', /needs TLS_CERT_FILE and TLS_KEY_FILE/],
  ];
  test.each(bad)('%s=%s stops the start and is named', (variable, value, message) => {
    const text = messageOf({ [variable]: value });
    expect(text).toMatch(message);
    expect(text).toContain(`Configuration: ${variable}: `);
    expect(text).toContain(JSON.stringify(value));
  });

  test.each<[Record<string, string>, string]>([
    [
      { UPSTREAM_PROFILE: 'vlm' },
      'UPSTREAM_PROFILE: must be one of %PROFILES, or a profile of UPSTREAM_PROFILES_FILE (got "vlm") Did you mean vllm?',
    ],
    [{ UPSTREAM_PROFILE: 'mine', UPSTREAM_PROFILES_FILE: '/p.yaml' }, ''],
    [{ TLS_CERT_FILE: '/a' }, 'TLS_CERT_FILE and TLS_KEY_FILE: set both or neither'],
    [{ TLS_KEY_FILE: '/a' }, 'TLS_CERT_FILE and TLS_KEY_FILE: set both or neither'],
    [{ TLS_CERT_FILE: '/a', TLS_KEY_FILE: '/b', TLS_CLIENT_CA_FILE: '/c' }, ''],
    [{ TLS_CLIENT_CA_FILE: '/c' }, 'TLS_CLIENT_CA_FILE: needs TLS_CERT_FILE and TLS_KEY_FILE (got "/c")'],
    [{ WEBSOCKET_LISTEN: '127.0.0.1:1' }, 'WEBSOCKET_LISTEN: needs WEBSOCKET_FORWARD_TO, the URL of the proxy'],
    [{ WEBSOCKET_FORWARD_TO: 'http://proxy' }, ''],
    [{ WEBSOCKET_LISTEN: '127.0.0.1:1', WEBSOCKET_FORWARD_TO: 'http://proxy' }, ''],
    [
      { INSPECT: 'on', ADMIN_LISTEN: 'off' },
      'INSPECT: is a page of the admin port, which ADMIN_LISTEN disables (got "on")',
    ],
    [
      { INSPECT: 'on', WORKERS: '2' },
      'INSPECT: shows the exchanges of one process; use it with WORKERS=1 (got "on" and WORKERS=2)',
    ],
    [{ INSPECT: 'on', WORKERS: '1' }, ''],
    [{ INSPECT: 'off', WORKERS: '2', ADMIN_LISTEN: 'off' }, ''],
    [{ WORKERS: 'a@b' }, 'WORKERS: must be a whole number from 1 to 256'],
    [{ MAX_TOOLS: 'x', TLS_CERT_FILE: '/a' }, 'MAX_TOOLS: must be %TOOLS (got "x")'],
  ])('%j contradicts itself, or not', (environment, problem) => {
    const said = messageOf(environment).replace(/one of generic, .* or a profile/, 'one of %PROFILES, or a profile');
    const expected = problem === '' ? 'accepted' : `Configuration: ${problem}`;
    expect(said).toBe(
      expected.replace(
        '%TOOLS',
        String(settingsIn(settings).find(({ variable }) => variable === 'MAX_TOOLS')?.form.takes),
      ),
    );
  });

  test.each<[string, readonly string[], readonly string[]]>([
    [
      'OTEL_TRACES_SAMPLER_ARG',
      ['0', '1', '.5', '0.25', '1.0', '1.000'],
      ['1.01', '2', '-1', '01', '1e-1', '0.', 'x0.5', '0.5x'],
    ],
    ['MAX_TOOLS', ['1'], ['1.0', ' 1', '0x1', '1x', 'x1']],
    ['WORKERS', ['1', '256', '007'], ['0', '257']],
    ['STRICT_ECHO', ['true', 'false'], ['TRUE', 'yes', 'toString']],
    ['UPSTREAM_PATH', ['/', '/a/b'], ['a/', 'http://x/']],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ['http://a', 'HTTPS://a:1/b'], ['ftp://a', 'http://', 'xhttp://a', 'http//a']],
    [
      'LISTEN',
      ['[::1]:1', 'a:0', 'a:65535', 'unix:/x', 'a:1, b:2', 'unix:x', 'a:{worker}'],
      ['a', ':1', 'a:65536', '[::1', 'unix:', 'a:1,', 'a b:1', 'a:123456', 'a:1:2', '[::1]x:1'],
    ],
    ['ADMIN_LISTEN', ['off', '[::1]:1', 'a:65535'], ['on', 'unix:/x', 'a:{worker}', 'a:65536', 'xoff']],
    ['ADMIN_HOSTS', ['a', 'A.b-c_d, x', '_a', 'a1'], ['-a', 'a-', 'a:1', '.a', 'a b']],
  ])('%s may be %j, and not %j', (variable, good, bad) => {
    for (const value of good) expect(messageOf({ [variable]: value }), value).toBe('accepted');
    for (const value of bad)
      expect(messageOf({ [variable]: value }), value).toMatch(`Configuration: ${variable}: must be `);
  });

  test('takes names of hosts in any case, and lists as words', () => {
    expect(readConfig({ ADMIN_HOSTS: ' A.Example , b' }).ADMIN_HOSTS).toEqual(['a.example', 'b']);
    expect(readConfig({ DROPPED_TOOLS: 'a,, b ,' }).DROPPED_TOOLS).toEqual(['a', 'b']);
    expect(readConfig({ OTEL_TRACES_SAMPLER_ARG: '.25', STRICT_ECHO: 'true' })).toMatchObject({
      OTEL_TRACES_SAMPLER_ARG: 0.25,
      STRICT_ECHO: true,
    });
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
    expect(redactConfig(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT }))).toEqual({
      ...readConfig({}),
      OTEL_EXPORTER_OTLP_ENDPOINT: expect.not.stringContaining('hunter2'),
    });
    expect(messageOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http//user:hunter2@host' })).not.toContain('hunter2');
  });

  test('has a default that reads and a meaning for every variable', () => {
    for (const { variable, fallback, meaning } of settingsIn(settings)) {
      expect(messageOf({ [variable]: fallback })).toBe('accepted');
      expect(meaning, variable).toMatch(/\.$/);
    }
  });
});
