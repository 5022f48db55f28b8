import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseCommandNames, parseMeshOptions, writeUsageText } from '../../../mesh/options.ts';
import { builtInProfiles } from '../../../src/filter/index.ts';

const profileNames = [...builtInProfiles.keys()];
const none = {
  ...{ port: undefined, upstream: undefined, upstreamKey: undefined, profile: undefined },
  printEnvoyConfig: false,
};
const server = 'https://chat.example:8443/api/v1';

describe('the command line of npm start', () => {
  it.each([
    [[], {}, {}],
    [['--port', '1'], {}, { port: 1 }],
    [['--port=65535'], {}, { port: 65_535 }],
    [['--upstream', server], {}, { upstream: server }],
    [['--upstream', `${server}/chat/completions`], {}, { upstream: server }],
    [['--upstream', `${server}/chat/completions/`], {}, { upstream: server }],
    [['--upstream', `${server}/chat/completions/x`], {}, { upstream: `${server}/chat/completions/x` }],
    [
      ['--upstream', 'http://localhost'],
      { UPSTREAM_KEY: 'sk-1' },
      { upstream: 'http://localhost/', upstreamKey: 'sk-1' },
    ],
    [['--upstream', server], { UPSTREAM_KEY: '' }, { upstream: server }],
    [
      ['--upstream', server, '--upstream-key', 'sk-2'],
      { UPSTREAM_KEY: 'sk-1' },
      { upstream: server, upstreamKey: 'sk-2' },
    ],
    // The variable may be there for something else.
    [[], { UPSTREAM_KEY: 'sk-1' }, {}],
    [['--profile', 'vllm'], {}, { profile: 'vllm' }],
    [['--print-envoy-config'], {}, { printEnvoyConfig: true }],
    [['--profile', 'vllm'], { UPSTREAM_PROFILES_FILE: '' }, { profile: 'vllm' }],
  ])('%j %j', (args, environment, expected) => {
    const read = parseMeshOptions(args, environment);
    expect({ ...read, upstream: read?.upstream?.href }).toEqual({ ...none, ...expected });
  });

  it('takes the name of a profile in UPSTREAM_PROFILES_FILE', () => {
    const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
    const file = join(folder, 'profiles.yaml');
    writeFileSync(file, 'profiles: { mine: { extends: vllm, image: omit } }');
    const environment = { UPSTREAM_PROFILES_FILE: file };
    expect(parseMeshOptions(['--profile', 'mine'], environment)).toEqual({ ...none, profile: 'mine' });
    expect(() => parseMeshOptions(['--profile', 'mime'], environment)).toThrow(
      `There is no profile mime. Did you mean mine? --profile must be one of: ${profileNames.join(', ')}, mine.`,
    );
    rmSync(folder, { recursive: true });
  });

  it.each([['--help'], ['-h']])('gives nothing but the text for %s', (flag) => {
    expect(parseMeshOptions([flag, '--port', 'x'], {})).toBeNull();
  });

  const noPort = (text: string) => `--port must be from 1 to 65535, not "${text}".`;
  const noUrl = (text: string) => `--upstream must be a URL such as http://127.0.0.1:8000/v1, not "${text}".`;
  const tooMuch = '--upstream takes no user name, query or fragment; use --upstream-key for a key.';
  it.each<readonly [args: readonly string[], message: string]>([
    ...['high', '0', '65536', '1.5', '-0', ''].map((port) => [[`--port=${port}`], noPort(port)] as const),
    ...['localhost:8000', 'x', 'file:///v1'].map((url) => [['--upstream', url], noUrl(url)] as const),
    ...['u@', 'u:p@'].map((user) => [['--upstream', `http://${user}x/v1`], tooMuch] as const),
    ...['?key=1', '#a'].map((end) => [['--upstream', `http://x/v1${end}`], tooMuch] as const),
    [['--upstream-key', 'k'], '--upstream-key needs --upstream.'],
    ...['yaml', 'yml', 'json'].map(
      (type) =>
        [
          ['--profile', `a/profiles.${type}`],
          `--profile takes the name of a profile; its file goes into a variable: UPSTREAM_PROFILES_FILE=a/profiles.${type} npm start -- … --profile NAME`,
        ] as const,
    ),
    [
      ['--profile', 'llamacpp'],
      `There is no profile llamacpp. Did you mean llama.cpp? --profile must be one of: ${profileNames.join(', ')}.`,
    ],
    [['--prot', '1'], "Unknown option '--prot'. Did you mean --port? --help shows the options."],
  ])('refuses %j', (args, message) => {
    expect(() => parseMeshOptions(args, {})).toThrow(new Error(message));
  });

  it.each([
    [{ npm_config_port: '1' }, 'npm kept --port for itself. Put -- before the options: npm start -- --port …'],
    [
      { npm_config_upstream: 'u', npm_config_upstream_key: 'k', npm_config_profile: 'p' },
      'npm kept --upstream and --upstream-key and --profile for itself. Put -- before the options: npm start -- --upstream …',
    ],
  ])('says what npm took as its own: %j', (environment, message) => {
    expect(() => parseMeshOptions([], environment)).toThrow(new Error(message));
  });

  it('is told by --help, with the command that was typed and each profile', () => {
    const usage = writeUsageText(chooseCommandNames('/somewhere/mesh/main.ts', {}));
    expect(usage).toMatch(/^Usage: npm start -- \[options\]\n/);
    expect(usage).toContain('too: LOG_LEVEL=debug npm start\n');
    const installed = writeUsageText(chooseCommandNames('/usr/bin/responses-extproc', {}));
    expect(installed).toMatch(/^Usage: responses-extproc try \[options\]\n/);
    expect(installed).toContain('too: LOG_LEVEL=debug responses-extproc try\n');
    const [, list = ''] =
      /what kind of server it is: (.*?),\n {24}or a profile of UPSTREAM_PROFILES_FILE\n/s.exec(usage) ?? [];
    const lines = list.split(`,\n${' '.repeat(24)}`);
    expect(lines.join(', ')).toBe(profileNames.join(', '));
    for (const [index, line] of lines.entries()) {
      const [next] = lines[index + 1]?.split(', ') ?? [];
      expect(line.length).toBeLessThanOrEqual(57);
      if (next !== undefined) expect(line.length + next.length).toBeGreaterThan(55);
    }
  });
});
