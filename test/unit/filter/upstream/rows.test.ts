import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import { translateCompletion } from '../../../../src/filter/translate/chat-to-response/completion.ts';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import { type FlagName, type Profile, profileFlags } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { LinearRegExp } from '../../../../src/filter/upstream/profiles-file.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { providerNameOf } from '../../../../src/service/telemetry/exchange-metrics.ts';
import { allEvidence } from '../../../../src/tools/doctor/evidence.ts';
import type { Finding, Result } from '../../../../src/tools/doctor/findings.ts';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';
import { findProfileOfHost } from '../../../../src/tools/doctor/proposal.ts';
import { createCountedIds } from '../../../support/context.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';
import { blockOf, type GoldenCase, goldenFolder, readGoldenCases } from '../../../support/golden.ts';
import { streamContextOf } from '../../../support/golden-context.ts';
import { runStream } from '../../../support/run-stream.ts';
import { createTestSettings } from '../../../support/settings.ts';
import { upstreamOf } from '../../../support/upstream-notation.ts';

const flagNames = Object.keys(profileFlags) as FlagName[];
const generic = builtInProfiles.get('generic')?.profile as Profile;
const sentence = /^[A-Z][^\n]{15,}\.$/;

describe.each([...builtInProfiles.values()])('the row of $profile.name', ({ profile, recognisedBy, otelName }) => {
  it('says how the server is recognised, or why it cannot be', () => {
    const what =
      'recognisedBy: its hosts, what its engine says in /v1/models, at a path of its own or in an answer, or { not: reason }';
    if ('not' in recognisedBy) expect(recognisedBy.not, `the reason in ${what}`).toMatch(sentence);
    else if ('hosts' in recognisedBy) {
      expect(recognisedBy.hosts, what).not.toEqual([]);
      for (const host of recognisedBy.hosts) {
        expect(host, 'a host, with * for at most one part').toMatch(/^(\*|[a-z0-9-]+)(\*?[a-z0-9.-]+)*$/);
        expect(findProfileOfHost(host.replace('*', 'a')), `${host} is in two rows`).toBe(profile);
      }
    } else {
      const { ownedBy, path, fingerprint } = recognisedBy.engine;
      const sign = ownedBy ?? path ?? fingerprint;
      expect(sign, `${profile.name}: owned_by, a path or a fingerprint of its engine`).toBeDefined();
      expect(sign).not.toBeNull();
    }
  });

  it('is reported by OpenTelemetry’s name for it, or else its own', () => {
    if (otelName !== undefined) expect(otelName).toMatch(/^[a-z_]+(\.[a-z_]+)*$/);
    expect(providerNameOf(profile.name)).toBe(otelName ?? profile.name);
  });
});

it('the expressions of built-in profiles cost no more than the length of a model’s name times itself', () => {
  const expressions = [...builtInProfiles.values()].flatMap(({ profile: { models, effortRules } }) => [
    ...models.map(({ match }) => match),
    ...[...effortRules, ...models.flatMap(({ flags }) => flags.effortRules ?? [])].map((rule) => rule.models),
  ]);
  for (const expression of expressions) {
    expect(() => new LinearRegExp(expression), String(expression)).not.toThrow();
    // One that repeats without end can begin anywhere; a second one inside or after it would cost a power more.
    expect((expression.source.match(/[*+]|\{\d+,\}/g) ?? []).length, String(expression)).toBeLessThanOrEqual(1);
  }
});

it('a profile of an operator’s file is reported by its own name', () => {
  expect(providerNameOf('team-vllm')).toBe('team-vllm');
});

describe('every flag', () => {
  const probed = new Set(allEvidence.flatMap(({ flags }) => flags));

  it.each(flagNames)('has evidence, or a reason why there is none: %s', (flag) => {
    const reason = profileFlags[flag].unprobed;
    if (reason === undefined)
      expect(
        [...probed],
        `${flag}: add a row to src/tools/doctor/evidence.ts, or the reason as the last word of its row`,
      ).toContain(flag);
    else {
      expect([...probed], `${flag} is probed: its reason is superfluous`).not.toContain(flag);
      expect(reason).toMatch(sentence);
    }
  });

  it('is read by something', () => {
    const read = flagsThatAreRead();
    const unread = flagNames.filter((flag) => !read.has(flag));
    expect(
      unread,
      'no golden case makes anything read them: use them in src/filter/translate with a case, or remove them',
    ).toEqual([]);
  });
});

describe.each(allEvidence)('evidence from $probes of $flags', (row) => {
  it('is from probes that there are, and changes the flags it names alone', () => {
    const names = allProbes.map(({ name }) => name);
    for (const probe of row.probes) expect(names).toContain(probe);
    for (const findings of combinations(row.probes)) {
      const evidence = row.read(findings, { path: '/v1/chat/completions', model: 'm' });
      for (const flag of Object.keys(evidence?.change(generic) ?? {})) expect(row.flags).toContain(flag);
    }
  });
});

/** None of the probes, each alone and two by two, with every result. */
function combinations(probes: readonly string[]): ReadonlyMap<string, Finding>[] {
  const results: readonly Result[] = ['works', 'accepted', 'ignored', 'refused', 'broken', 'not_tested'];
  const single = probes.flatMap((probe) => results.map((result) => [probe, { result, detail: '' }] as const));
  return [new Map(), ...single.flatMap((one) => [new Map([one]), ...single.map((other) => new Map([one, other]))])];
}

/** The flags that the golden cases make the product look at. */
function flagsThatAreRead(): ReadonlySet<string> {
  const read = new Set<string>();
  const watched = (profile: Profile): Profile =>
    new Proxy(
      { ...profile, models: [] },
      {
        get(target, name, receiver) {
          read.add(String(name));
          return Reflect.get(target, name, receiver);
        },
        ownKeys: () => {
          throw new Error('A copy of the profile reads every flag: nothing could be seen of what is used.');
        },
      },
    );
  const vllm = builtInProfiles.get('vllm')?.profile as Profile;
  for (const path of ['/v1/responses', '/v1/responses/input_tokens']) {
    const options = exchangeOptions({ profile: 'vllm' });
    const exchange = new Exchange({ ...options, settings: { ...options.settings, profile: watched(vllm) } });
    const headers = headersOf({ ':method': 'POST', ':path': path });
    repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
    repliesOf(exchange, { type: 'request_body', body: Buffer.from('{"model":"m","input":"Hi"}'), endOfStream: true });
  }
  const cases = readdirSync(goldenFolder)
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => readGoldenCases(new URL(name, goldenFolder)).map((golden) => ({ name, golden })));
  for (const { name, golden } of cases) {
    if (name.startsWith('request-'))
      for (const { profile } of builtInProfiles.values()) translateFor(golden, watched(profile));
    else if (name.startsWith('stream-')) answerFor(golden, watched);
  }
  return read;
}

function translateFor(golden: GoldenCase, profile: Profile): void {
  const request = blockOf(golden, 'request');
  if (request === null) return;
  const { profile: _profile, ...settings } = JSON.parse(blockOf(golden, 'settings') ?? '{}');
  try {
    translateRequest(
      JSON.parse(request),
      { ...createTestSettings(settings), profile },
      { now: () => 1, newId: createCountedIds() },
    );
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
  }
}

function answerFor(golden: GoldenCase, watched: (profile: Profile) => Profile): void {
  const context = streamContextOf(golden);
  const json = blockOf(golden, 'upstream json');
  const watching = { ...context, profile: watched(context.profile) };
  if (json === null) runStream([upstreamOf(golden)], watching);
  else translateCompletion(JSON.parse(json), { ...watching, stream: true });
}
