import { describe, expect, it } from 'vitest';
import { type FlagName, type Profile, profileFlags, profileForModel } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { ProfilesFileError, readProfilesFile, takenBy } from '../../../../src/filter/upstream/profiles-file.ts';

function read(text: string) {
  return readProfilesFile(text, 'profiles.yaml');
}

function problems(text: string): string[] {
  try {
    read(text);
  } catch (error) {
    expect(error).toBeInstanceOf(ProfilesFileError);
    return (error as Error).message.split('\n');
  }
  throw new Error('The file was taken.');
}

describe('a profiles file', () => {
  it('gives each profile the flags of the one it extends, and its own', () => {
    const mine = read(
      'profiles:\n  mine:\n    extends: vllm\n    video: false\n    effortRules:\n      - { models: /qwen/i, efforts: { max: high } }',
    ).get('mine');
    expect(mine).toEqual({
      ...builtInProfiles.get('vllm')?.profile,
      name: 'mine',
      video: false,
      effortRules: [{ models: /qwen/i, efforts: { max: 'high' } }],
    });
  });

  it('may be JSON', () => {
    expect(read('{"profiles": {"mine": {"extends": "ollama", "audio": true}}}').get('mine')?.audio).toBe(true);
  });

  it('takes every flag of every built-in profile', () => {
    for (const { profile } of builtInProfiles.values()) {
      const { name: _name, models: _models, ...flags } = profile;
      const text = JSON.stringify({ profiles: { copy: { extends: 'generic', ...flags } } }, (_key, value) =>
        value instanceof RegExp ? String(value) : value,
      );
      expect(read(text).get('copy')).toEqual({
        ...profile,
        name: 'copy',
        // Nothing is left for the rules of the built-in profile to set.
        models: builtInProfiles.get('generic')?.profile.models.map((rule) => ({ ...rule, flags: {} })),
      });
    }
  });

  it.each([
    [
      'profiles:\n  a: {extends: vlm}',
      /^profiles\.yaml: profile 'a': 'extends' must be one of generic, llama.cpp, .* \(got "vlm"\)$/,
    ],
    ['profiles:\n  a: {}', /^profiles\.yaml: profile 'a': 'extends' must be one of generic, /],
    [
      'profiles:\n  a: {extends: vllm, think_tags: true}',
      /^profiles\.yaml: profile 'a': unknown flag 'think_tags'; did you mean 'thinkTags'\?$/,
    ],
    // Names that every object has.
    ['profiles:\n  a: {extends: vllm, toString: 1}', /^profiles\.yaml: profile 'a': unknown flag 'toString'$/],
    ['profiles:\n  a: {extends: vllm, constructor: 1}', /^profiles\.yaml: profile 'a': unknown flag 'constructor'$/],
    ['profiles:\n  a: {extends: vllm, __proto__: 1}', /^profiles\.yaml: profile 'a': unknown flag '__proto__'$/],
    ['profiles:\n  a: {extends: vllm, shine: 1}', /^profiles\.yaml: profile 'a': unknown flag 'shine'$/],
    [
      'profiles:\n  a: {extends: vllm, systemMessages: first}',
      /^profiles\.yaml: profile 'a': flag 'systemMessages' takes "anywhere", .* \(got "first"\)$/,
    ],
    [
      'profiles:\n  a: {extends: vllm, video: 1}',
      /^profiles\.yaml: profile 'a': flag 'video' takes true, false \(got 1\)$/,
    ],
    [
      'profiles:\n  a: {extends: vllm, path: v1}',
      /^profiles\.yaml: profile 'a': flag 'path' takes text that starts with \/ \(got "v1"\)$/,
    ],
    [
      'profiles:\n  a: {extends: vllm, effortRules: [{models: x, efforts: {}}]}',
      /flag 'effortRules' takes a list of \{ models: a regular expression such as "\/qwen3\/i"; efforts: an object of text \}/,
    ],
    [
      'profiles:\n  a: {extends: vllm, models: {/x/: {path: /v2}}}',
      /^profiles\.yaml: profile 'a', models '\/x\/': 'path' cannot depend on the model$/,
    ],
    [
      'profiles:\n  a: {extends: vllm, models: {/x/: {audio: 3}}}',
      /^profiles\.yaml: profile 'a', models '\/x\/': flag 'audio' takes true, false \(got 3\)$/,
    ],
    [
      'profiles:\n  a: {extends: vllm, models: {qwen: {}}}',
      /^profiles\.yaml: profile 'a', models: 'qwen' must be a regular expression such as \/qwen3\/i$/,
    ],
    [
      'profiles:\n  a: {extends: vllm, models: {/^(?=x)/: {}}}',
      /^profiles\.yaml: profile 'a', models: \/\^\(\?=x\)\/ cannot be matched in linear time \(/,
    ],
    [
      'profiles:\n  a: {extends: vllm, effortRules: [{models: /(a)\\1/, efforts: {}}]}',
      /^profiles\.yaml: profile 'a': flag 'effortRules': .* cannot be matched in linear time \(/,
    ],
    [
      'profiles:\n  a: {extends: vllm, models: {/(/: {}}}',
      /^profiles\.yaml: profile 'a', models: '\/\(\/' is not a regular expression \(/,
    ],
    ['profiles:\n  vllm: {extends: generic}', /^profiles\.yaml: profile 'vllm' has the name of a built-in profile$/],
    ['profiles:\n  "a b": {extends: generic}', /^profiles\.yaml: profile 'a b': a name is 1 to 64 letters/],
    ['$schema: 5\nprofiles: {}', /^profiles\.yaml: '\$schema' must be text \(got 5\)$/],
    [
      'profiles:\n  a: { extends: vllm, models: 5 }',
      /profile 'a': 'models' must have an object of flags for each regular expression \(got 5\)$/,
    ],
    ['profiles:\n  a: 3', /^profiles\.yaml: profile 'a' must be an object of flags$/],
    ['profiles: []', /^profiles\.yaml: 'profiles' must be an object with a profile for each name$/],
    ['profile: {}', /unknown key 'profile'; profiles belong under 'profiles'$/],
    ['', /^profiles\.yaml: the file must have the key 'profiles'/],
    ['a: b: c', /^profiles\.yaml: .* at line 1, column 4$/],
    ['profiles:\n  a: &a {extends: vllm}\n  a: *a', /^profiles\.yaml: Map keys must be unique at line 3/],
  ])('that is wrong is refused with what is wrong: %j', (text, message) => {
    expect(problems(text)).toContainEqual(expect.stringMatching(message));
  });

  it('names every problem at once, each once', () => {
    const found = problems(
      'profiles:\n  a: {extends: x, video: 1, audio: 2}\n  b: {extends: vllm, toolChoice: {sent: 1}}',
    );
    expect(found.length).toBe(4);
    expect(new Set(found).size).toBe(4);
  });

  it('says of every problem the place, what belongs there and what was found', () => {
    const file = {
      $schema: null,
      team: {},
      profiles: {
        [`${'x'.repeat(64)}`]: { extends: 'vllm' },
        [`${'x'.repeat(65)}`]: { extends: 'vllm' },
        generic: { extends: 'vllm' },
        list: [],
        nothing: null,
        base: { extends: null, models: [] },
        flags: {
          extends: 'vllm',
          toolChoice: { sent: true, required: 'must', named: true, allowed: false },
          maxToolName: 65,
          refusedFields: ['seed'],
          serviceTiers: { fast: 1 },
          image: 'x'.repeat(200),
          reasoningBackfill: { text: 'x', on: 'some' },
          effortRules: [{ models: '/x/', efforts: { low: null } }],
          contextOverflow: ['too long'],
          'think-tags': 'off',
          VIDEO: true,
          models: { '/y/': 3, '/z/': { tokenizePath: '/x', shine: 1, user: null }, '/(?=a)/': [] },
        },
      },
    };
    const profiles = [...builtInProfiles.keys()].join(', ');
    expect(problems(JSON.stringify(file)).map((line) => line.replace(/^profiles\.yaml: /, ''))).toEqual([
      "unknown key 'team'; profiles belong under 'profiles'",
      "'$schema' must be text (got null)",
      `profile '${'x'.repeat(65)}': a name is 1 to 64 letters, digits, dots, dashes and underscores`,
      "profile 'generic' has the name of a built-in profile",
      "profile 'list' must be an object of flags",
      "profile 'nothing' must be an object of flags",
      `profile 'base': 'extends' must be one of ${profiles} (got null)`,
      "profile 'base': 'models' must have an object of flags for each regular expression (got [])",
      ...[
        `flag 'toolChoice' takes { sent: true, false; required: "required", "any", "ignored", or null; named: true, false; allowed: true, false } (got "must")`,
        `flag 'maxToolName' takes 64, 128 (got 65)`,
        `flag 'refusedFields' takes a list of "temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "stop" (got "seed")`,
        `flag 'serviceTiers' takes an object of text (got 1)`,
        `flag 'image' takes true, false, or "omit" (got "${'x'.repeat(99)})`,
        `flag 'reasoningBackfill' takes { text: text; on: "all", "calls", "calls_while_thinking" }, or null (got "some")`,
        `flag 'effortRules' takes a list of { models: a regular expression such as "/qwen3/i"; efforts: an object of text } (got null)`,
        `flag 'contextOverflow' takes a list of text (got "too long")`,
        `unknown flag 'think-tags'; did you mean 'thinkTags'?`,
        `unknown flag 'VIDEO'; did you mean 'video'?`,
      ].map((problem) => `profile 'flags': ${problem}`),
      "profile 'flags', models '/y/' must be an object of flags",
      "profile 'flags', models '/z/': 'tokenizePath' cannot depend on the model",
      "profile 'flags', models '/z/': unknown flag 'shine'",
      "profile 'flags', models '/z/': flag 'user' takes true, false (got null)",
      "profile 'flags', models '/(?=a)/' must be an object of flags",
      "profile 'flags', models: /(?=a)/ cannot be matched in linear time (error parsing regexp: invalid or unsupported Perl syntax: `(?=`)",
    ]);
  });

  it('cannot be made huge by aliases', () => {
    const bomb = ['a: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level++)
      bomb.push(
        `b${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    expect(problems(bomb.join('\n'))[0]).toMatch(/alias/i);
  });
});

describe('rules for models', () => {
  const text =
    'profiles:\n  mine:\n    extends: vllm\n    models:\n      /qwen/i: { audio: false, video: false }\n      /qwen3/i: { video: true }';
  const mine = read(text).get('mine');
  if (mine === undefined) throw new Error('The profile is missing.');

  it.each([
    ['llama', true, true],
    ['Qwen2.5', false, false],
    ['qwen3-8b', false, true],
  ])('all that match count, later ones win: %s', (model, audio, video) => {
    const { name, ...flags } = profileForModel(mine, model);
    expect([name, flags.audio, flags.video, flags.reasoningReplay]).toEqual(['mine', audio, video, 'both']);
  });

  it('leave the profile as it is where none matches', () => {
    expect(profileForModel(mine, 'llama')).toBe(mine);
  });
});

describe('the flags', () => {
  it.each(Object.keys(profileFlags) as FlagName[])('%s says what it takes and what it means', (flag) => {
    expect(takenBy(flag)).not.toBe('');
    expect(profileFlags[flag].meaning).toMatch(/\.$/);
  });

  it('differ from the base only where a reason is given', () => {
    for (const { profile, base, reasons } of builtInProfiles.values()) {
      if (base === null) continue;
      const flags = Object.keys(profileFlags) as FlagName[];
      const differing = flags.filter((flag) => JSON.stringify(profile[flag]) !== JSON.stringify(base.profile[flag]));
      expect(Object.keys(reasons).toSorted(), profile.name).toEqual(differing.toSorted());
      for (const reason of [...Object.values(reasons), ...profile.models.map((rule) => rule.reason ?? '')])
        expect(reason.length, `${profile.name}: ${reason}`).toBeGreaterThan(5);
    }
  });

  it('have a profile for each name', () => {
    expect(builtInProfiles.size).toBeGreaterThan(15);
    for (const [name, { profile }] of builtInProfiles) expect(profile.name).toBe(name);
  });
});

it('a rule whose expression would take minutes in JavaScript takes no time', () => {
  const rules = 'models: { /^(a+)+$/: { audio: true } }, effortRules: [{ models: /^(b|b)*$/, efforts: { max: high } }]';
  const mine = read(`profiles:\n  mine: { extends: ollama, ${rules} }`).get('mine') as Profile;
  expect(profileForModel(mine, `${'a'.repeat(500)}!`).audio).toBe(false);
  expect(profileForModel(mine, 'a'.repeat(500)).audio).toBe(true);
  expect(mine.effortRules.map(({ models }) => models.test(`${'b'.repeat(500)}!`))).toEqual([false]);
});

it('models without any rule are told as such, not as a defect', () => {
  expect(problems('profiles:\n  mine:\n    extends: vllm\n    models:\n')).toEqual([
    "profiles.yaml: profile 'mine': 'models' must have an object of flags for each regular expression (got null)",
  ]);
});
