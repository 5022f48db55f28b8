import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { builtInProfiles, Exchange, type ExchangeOptions } from '../../../../src/filter/index.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { createExchangeFactory } from '../../../../src/service/server/exchanges.ts';
import { describeProfiles, openProfiles } from '../../../../src/service/server/profile-source.ts';
import { ConfigError, readConfig } from '../../../../src/service/settings/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'profiles-'));
const own = join(folder, 'own.yaml');
const ownProfile = 'profiles:\n  own:\n    extends: vllm\n';
writeFileSync(own, ownProfile);

function sourceOf(environment: Record<string, string>) {
  const config = readConfig(environment);
  const profiles = openProfiles(config);
  onTestFinished(() => profiles.close());
  return { config, profiles };
}

/** What the exchange of such a call is made of, and what is said of its route. */
function opened(
  metadata: Record<string, string>,
  { environment = {}, admission = null }: { environment?: Record<string, string>; admission?: ApiError | null } = {},
  modes: ExchangeOptions['modes'] | null = null,
) {
  const { config, profiles } = sourceOf(environment);
  const problems: string[] = [];
  const made: ExchangeOptions[] = [];
  const createExchange = (options: ExchangeOptions) => {
    made.push(options);
    return new Exchange(options);
  };
  const factory = createExchangeFactory(config, profiles, (problem) => problems.push(problem), { createExchange });
  const call = factory.open(metadata, modes, admission);
  const [options] = made;
  if (options === undefined) throw new Error('no exchange was made');
  const { upstreamPath, refusal } = options;
  const profile = [...builtInProfiles].find(([, { profile: one }]) => one === options.settings.profile)?.[0] ?? null;
  return { problems, options, call, seen: { profile, upstreamPath, refusal: refusal?.message ?? null } };
}

const refusal = 'The route is not configured correctly. The log of responses-extproc has the reason.';

describe('a call', () => {
  it.each<[string, Record<string, string>, Record<string, string>, object]>([
    ['of a plain route', {}, {}, { profile: 'generic', upstreamPath: null, refusal: null }],
    [
      'has the configuration’s profile and path',
      {},
      { UPSTREAM_PROFILE: 'vllm', UPSTREAM_PATH: '/chat' },
      { profile: 'vllm', upstreamPath: '/chat', refusal: null },
    ],
    [
      'has its route’s profile, whose path is not the configured one',
      { 'x-upstream-profile': 'ollama' },
      { UPSTREAM_PROFILE: 'vllm', UPSTREAM_PATH: '/chat' },
      { profile: 'ollama', upstreamPath: null, refusal: null },
    ],
    [
      'has its route’s path',
      { 'x-upstream-path': '/own' },
      { UPSTREAM_PATH: '/chat' },
      { profile: 'generic', upstreamPath: '/own', refusal: null },
    ],
    [
      'whose route names nothing',
      { 'x-upstream-profile': '', 'x-upstream-path': '' },
      { UPSTREAM_PATH: '/chat' },
      { profile: 'generic', upstreamPath: '/chat', refusal: null },
    ],
    [
      'has a profile of the operator’s file',
      { 'x-upstream-profile': 'own' },
      { UPSTREAM_PROFILES_FILE: own },
      { profile: null, upstreamPath: null, refusal: null },
    ],
  ])('%s', (_, metadata, environment, expected) => {
    const { seen, problems } = opened(metadata, { environment });
    expect([seen, problems]).toEqual([expected, []]);
  });

  it('of a route that is wrong is refused, and the log is told why', () => {
    const unknown = opened({ 'x-upstream-profile': 'vlm' }, { environment: { UPSTREAM_PROFILE: 'vllm' } });
    expect([unknown.seen, unknown.problems]).toEqual([
      { profile: 'vllm', upstreamPath: null, refusal },
      [`x-upstream-profile is "vlm"; it must be one of ${[...builtInProfiles.keys()].join(', ')}`],
    ]);
    for (const path of ['chat', '/a b'])
      expect(opened({ 'x-upstream-path': path })).toMatchObject({
        seen: { refusal },
        problems: [`x-upstream-path is ${JSON.stringify(path)}; it must be a path that starts with /`],
      });
  });

  it('that is not admitted is refused so, and has no admission', () => {
    const overload = new ApiError('Too much.', { status: 503, code: 'server_overloaded' });
    const { seen, call, options } = opened({}, { admission: overload });
    expect([seen.refusal, call.admission, options.hold(5, 5)]).toEqual(['Too much.', null, null]);
  });

  it('has the body modes that Envoy gives, or else the configured ones, and the time in seconds', () => {
    const environment = { REQUEST_BODY_MODE: 'BUFFERED', RESPONSE_BODY_MODE: 'STREAMED' };
    const configured = { request: 'BUFFERED', response: 'STREAMED' };
    const { options, call } = opened({}, { environment });
    expect([options.modes, call.modes]).toEqual([configured, configured]);
    const given = { request: 'NONE', response: 'NONE' } as const;
    expect(opened({}, { environment }, given).call.modes).toEqual(given);
    vi.useFakeTimers({ now: 1_800_000_000_999, toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(options.clock.now()).toBe(1_800_000_000);
  });

  it('whose exchange cannot be made gives its admission back', () => {
    const { config, profiles } = sourceOf({});
    const defect = new Error('a defect');
    const createExchange = () => {
      throw defect;
    };
    const release = vi.fn();
    const admission = { hold: () => null, setUnsent() {}, release };
    const factory = createExchangeFactory(config, profiles, () => {}, { createExchange });
    expect(() => factory.open({}, null, admission)).toThrow(defect);
    expect(release).toHaveBeenCalledOnce();
  });
});

describe('profiles', () => {
  it('are the built-in ones and the file’s, and those of the file are shown', () => {
    const { profiles } = sourceOf({ UPSTREAM_PROFILES_FILE: own, UPSTREAM_PROFILE: 'own' });
    expect(profiles.names()).toEqual([...builtInProfiles.keys(), 'own']);
    expect(profiles.profileOf('vllm')).toBe(builtInProfiles.get('vllm')?.profile);
    expect(profiles.profileOf('own')?.path).toBe('/v1/chat/completions');
    expect(profiles.profileOf('other')).toBeUndefined();
    expect(describeProfiles(profiles)).toEqual({ profiles: { own: expect.any(Object) } });
    expect(describeProfiles({ ...profiles, problem: () => 'a problem' })).toMatchObject({
      profilesProblem: 'a problem',
    });
    expect(describeProfiles(sourceOf({}).profiles)).toEqual({ profiles: {} });
  });

  it.each<[string, string, Record<string, string>, RegExp | null]>([
    ['of 1 MiB', ownProfile.padEnd(1024 * 1024), {}, null],
    ['of a byte more', ownProfile.padEnd(1024 * 1024 + 1), {}, /larger than 1048576 bytes$/],
    ['without the one that is configured', ownProfile, { UPSTREAM_PROFILE: 'mine' }, /no profile 'mine', which/],
    ['that is no profile', 'profiles:\n  own: 5\n', {}, /own/],
  ])('of a file %s stop the start, or do not', (name, text, environment, problem) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, text);
    const open = () => sourceOf({ ...environment, UPSTREAM_PROFILES_FILE: file });
    if (problem === null) expect(open().profiles.names()).toContain('own');
    else {
      expect(open).toThrow(ConfigError);
      expect(open).toThrow(problem);
      expect(open).toThrow(/^Configuration: UPSTREAM_PROFILES_FILE: /);
    }
  });
});
