import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/tools/cli/terminal.ts';
import { parseDoctorOptions } from '../../../../src/tools/doctor/doctor-options.ts';

const url = 'http://x.test/v1';

/** What the options say, with the address as text. */
function read(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = parseDoctorOptions([url, ...args], env);
  return options && { ...options, chatUrl: options.chatUrl.href };
}

it('what no option says', () => {
  expect(read([])).toEqual({
    chatUrl: `${url}/chat/completions`,
    key: null,
    model: '',
    json: false,
    save: null,
    limits: { requests: 80, tokensPerRequest: 512, tokens: 60_000, seconds: 900 },
    timeout: 120,
    keepGoing: false,
  });
});

it('what options say', () => {
  const counts = ['--max-requests=1', '--max-tokens=9999999', '--max-total-tokens=3', '--max-time=4', '--timeout=5'];
  expect(read(['-m', 'a', '--key', 'sk~!', '-s', 'f.yaml', '--json', '--keep-going', ...counts])).toEqual({
    chatUrl: `${url}/chat/completions`,
    key: 'sk~!',
    model: 'a',
    json: true,
    save: 'f.yaml',
    limits: { requests: 1, tokensPerRequest: 9_999_999, tokens: 3, seconds: 4 },
    timeout: 5,
    keepGoing: true,
  });
  expect(read(['-h'])).toBeNull();
});

describe('the key', () => {
  const env = { UPSTREAM_API_KEY: 'usual', OTHER: 'other', EMPTY: '' };
  it.each([
    [[], 'usual'],
    [['--key-env', 'OTHER'], 'other'],
    [['--key-env', 'NONE'], null],
    [['--key-env', 'EMPTY'], null],
    [['--key', 'given'], 'given'],
    [['--key', ''], null],
  ])('of %j is %j', (args, key) => {
    expect(read(args, env)?.key).toBe(key);
  });

  it.each(['a b', 'a\u007f', 'é', '\u0000'])('is none with white space or other characters: %j', (key) => {
    expect(() => read(['--key', key])).toThrow('The key contains characters');
  });
});

it.each(['max-requests', 'max-tokens', 'max-total-tokens', 'max-time', 'timeout'])('--%s is a count', (name) => {
  for (const text of ['0', '-1', '1.5', '1e3', '', ' 1', '10000000', 'soon'])
    expect(() => read([`--${name}=${text}`]), text).toThrow(
      new UsageError(`--${name} must be a whole number of at least 1 (got '${text}').`),
    );
});

it.each([
  ['http://x.test', 'http://x.test/v1/chat/completions'],
  ['https://x.test:81//', 'https://x.test:81/v1/chat/completions'],
  ['http://x.test/a/', 'http://x.test/a/chat/completions'],
  ['http://x.test/a/chat/completions//', 'http://x.test/a/chat/completions'],
  ['http://x.test/v1?key=1#part', 'http://x.test/v1/chat/completions?key=1'],
])('%s is asked at %s', (given, asked) => {
  expect(parseDoctorOptions([given], {})?.chatUrl.href).toBe(asked);
});

it.each(['http://me@x.test', 'http://:secret@x.test'])('nobody is named in %s', (given) => {
  expect(() => parseDoctorOptions([given], {})).toThrow('A name or password in the URL is not sent');
});
