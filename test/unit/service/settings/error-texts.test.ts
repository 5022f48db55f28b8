import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../../src/service/settings/config.ts';
import { didYouMean, findMisspelt, messageOf } from '../../../../src/service/settings/error-texts.ts';
import { runs } from '../../../support/property-runs.ts';

test('what was thrown is told by its message, or as it is where it is no error', () => {
  expect([new TypeError('a message'), 'a text', undefined].map(messageOf)).toEqual([
    'a message',
    'a text',
    'undefined',
  ]);
});

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

/** What one edit makes of a word: a letter less, more or another, or two neighbours exchanged. */
function editsOf(word: string, letters: string): string[] {
  return Array.from({ length: word.length + 1 }, (_, at) => {
    const [before, after] = [word.slice(0, at), word.slice(at)];
    return [
      before + after.slice(1),
      ...(after.length > 1 ? [`${before}${after[1]}${after[0]}${after.slice(2)}`] : []),
      ...[...letters].flatMap((letter) => [before + letter + after, before + letter + after.slice(1)]),
    ];
  }).flat();
}

const wordOf = (minLength: number) =>
  fc.array(fc.constantFrom('A', 'B', 'C'), { minLength, maxLength: 7 }).map((letters) => letters.join(''));

test('a word is near another if an edit makes it of it, or two where it is long', () => {
  fc.assert(
    fc.property(wordOf(1), wordOf(3), (given, word) => {
      // One more letter than words have, for whatever is not among them.
      const near = new Set([word, ...editsOf(word, 'ABC')]);
      const isOneAway = near.has(given);
      const question = didYouMean(given, [word]);
      if (isOneAway) expect(question).toBe(` Did you mean ${word}?`);
      if (question !== '') {
        // Edits overlap in no letter: whatever is two edits away by the count is so by two of these.
        const away = word.length < 6 ? near : new Set([...near].flatMap((one) => editsOf(one, 'ABC')));
        expect(away).toContain(given);
      } else if (word.length >= 6 && given.length === word.length) {
        // Two letters that are others, at most, are two edits.
        const others = [...given].filter((letter, at) => letter !== word[at]);
        expect(others.length).toBeGreaterThan(2);
      }
    }),
    { numRuns: runs(2000) },
  );
});

test.each([
  ['two letters less', 'LISTENADDRES', ['LISTEN_ADDRESS'], true],
  ['exactly two edits of a long name', 'UPSTREAM_PROFILEXY', ['UPSTREAM_PROFILE'], true],
  ['three', 'UPSTREAM_PROFILEXYZ', ['UPSTREAM_PROFILE'], false],
  ['three of as many letters', 'UPSTREAM_XYZFILE', ['UPSTREAM_PROFILE'], false],
  ['of ten letters, one other', 'ABCDEFGHIX', ['ABCDEFGHIJ'], true],
  ['of nine, one other', 'ABCDEFGHX', ['ABCDEFGHI'], false],
  ['another first letter', 'XBCDEFGHIJ', ['ABCDEFGHIJ'], false],
  ['another case, and other underscores', 'a_bc', ['ABC'], true],
] as const)('a variable that is another: %s', (_, given, names, isMisspelt) => {
  expect(findMisspelt({ [given]: 'x' }, names)).toEqual(
    isMisspelt ? [`${given}: unknown variable; did you mean ${names[0]}?`] : [],
  );
  expect(findMisspelt({ [given]: undefined, [names[0]]: 'x' }, names)).toEqual([]);
});

test('of several words that are near, the nearest is asked about, and of these the first', () => {
  expect(didYouMean('abcdefg', ['abcdexx', 'abcdefx', 'abcdefy'])).toBe(' Did you mean abcdefx?');
  expect(didYouMean('abxxx', ['abcde', 'abxxy'])).toBe(' Did you mean abxxy?');
  for (const [given, word, isNear] of [
    ['abcxy', 'abcde', false],
    ['abcdx', 'abcde', true],
    ['abcdxy', 'abcdef', true],
    ['abcxyz', 'abcdef', false],
    ['bacde', 'abcde', true],
  ] as const)
    expect(didYouMean(given, [word]) !== '', given).toBe(isNear);
});
