import { describe, expect, it } from 'vitest';
import { profileFlags, profileForModel } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { readProfilesFile } from '../../../../src/filter/upstream/profiles-file.ts';
import { allEvidence } from '../../../../src/tools/doctor/evidence.ts';
import type { Finding } from '../../../../src/tools/doctor/findings.ts';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';
import { proposeProfile } from '../../../../src/tools/doctor/proposal.ts';

function findings(results: Readonly<Record<string, Finding['result']>>): ReadonlyMap<string, Finding> {
  return new Map(Object.entries(results).map(([name, result]) => [name, { result, detail: '' }]));
}

describe('the evidence', () => {
  it('is of flags that a profile has', () => {
    const flags = new Set(Object.keys(profileFlags));
    expect(allEvidence.flatMap((row) => row.flags).filter((flag) => !flags.has(flag))).toEqual([]);
  });

  it('names every probe whose finding says something of a profile', () => {
    const read = new Set<string>(allEvidence.flatMap(({ probes }) => probes));
    const names = allProbes.map(({ name }) => name);
    expect([...read].filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name) => !read.has(name))).toEqual([
      ...['gateway', 'window', 'max_tokens_short', 'max_completion_tokens_short', 'tool_parallel', 'tool_result'],
      ...['unknown_field', 'error_model', 'error_field', 'error_key', 'overflow', 'cancel'],
    ]);
  });
});

describe('a host that is known', () => {
  it.each([
    ['https://api.openai.com/v1', 'openai'],
    ['https://my-team.openai.azure.com/openai/v1', 'azure'],
    ['https://api.groq.com/openai/v1', 'groq'],
    ['https://api.mistral.ai/v1', 'mistral'],
    ['https://api.deepseek.com/v1', 'deepseek'],
    ['https://openrouter.ai/api/v1', 'openrouter'],
    ['https://api.together.xyz/v1', 'together'],
    ['https://api.fireworks.ai/inference/v1', 'fireworks'],
    ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini'],
    ['https://europe-west4-aiplatform.googleapis.com/v1', 'vertex'],
    ['https://api.anthropic.com/v1', 'anthropic'],
    ['https://api.x.ai/v1', 'xai'],
    ['https://api.moonshot.ai/v1', 'moonshot'],
    ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'dashscope'],
    ['https://open.bigmodel.cn/api/paas/v4', 'zai'],
    ['https://api.minimax.io/v1', 'minimax'],
    ['https://api.cerebras.ai/v1', 'cerebras'],
    ['https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1', 'bedrock'],
    ['https://x.cloud.databricks.com/serving-endpoints', 'databricks'],
    ['https://api.perplexity.ai', 'perplexity'],
    ['https://api.cohere.ai/compatibility/v1', 'cohere'],
    ['https://integrate.api.nvidia.com/v1', 'nim'],
    ['https://router.huggingface.co/v1', 'huggingface'],
  ])('names the profile: %s', (url, base) => {
    expect([...builtInProfiles.keys()]).toContain(base);
    const proposal = proposeProfile(findings({ text: 'works' }), new URL(`${url}/chat/completions`), 'm');
    expect(proposal.base).toBe(base);
    expect(proposal.differences.filter(({ flag }) => flag !== 'path')).toEqual([]);
  });

  it.each(['https://api.openai.com.evil.test/v1', 'https://notapi.groq.com/v1', 'https://example.com/v1'])(
    'is the whole name of it: %s',
    (url) => {
      expect(proposeProfile(findings({}), new URL(`${url}/chat/completions`), 'm').base).toBe('generic');
    },
  );
});

it('a path of its own is a flag', () => {
  const url = new URL('https://gateway.test/team/llm/v1/chat/completions');
  const { differences, file, name } = proposeProfile(findings({ text: 'works' }), url, 'm');
  expect(differences).toEqual([{ flag: 'path', value: '/team/llm/v1/chat/completions', from: 'the URL' }]);
  expect(readProfilesFile(file, 'f').get(name)?.path).toBe('/team/llm/v1/chat/completions');
});

it('a flag that a rule of the profile sets for the model is set by a rule again, which wins', () => {
  // By the rule for reasoning models xAI takes no `stop`.
  const url = new URL('https://api.x.ai/v1/chat/completions');
  const model = 'ft:grok-4.9+mini/x "y"';
  const { file, name } = proposeProfile(findings({ stop: 'works' }), url, model);
  const profile = readProfilesFile(file, 'f').get(name);
  if (profile === undefined) throw new Error('The file has no such profile.');
  expect(profileForModel(profile, model).refusedFields).not.toContain('stop');
  expect(profileForModel(profile, 'grok-4.9').refusedFields).toContain('stop');
});

it.each(['generic', 'Qwen/Qwen3-32B', 'é', '-', 'x'.repeat(300), 'a\nb: c'])(
  'the file is one that the service reads, whatever the model is called: %j',
  (model) => {
    const url = new URL('http://127.0.0.1/v1/chat/completions');
    const { file, name, differences } = proposeProfile(findings({ two_users: 'refused' }), url, model);
    expect(differences.map(({ flag }) => flag)).toEqual(['alternateRoles']);
    expect(readProfilesFile(file, 'f').get(name)?.alternateRoles).toBe(true);
  },
);

it.each([
  ['Qwen/Qwen3-32B', 'probed-qwen-qwen3-32b'],
  ['a_b.c', 'probed-a_b.c'],
  ['é', 'probed'],
  ['a--', 'probed-a'],
  ['x'.repeat(60), `probed-${'x'.repeat(50)}`],
])('a profile for %s is called %s, which no built-in profile is', (model, name) => {
  const url = new URL('http://127.0.0.1/v1/chat/completions');
  expect(proposeProfile(findings({ two_users: 'refused' }), url, model).name).toBe(name);
  expect([...builtInProfiles.keys()].filter((one) => one.startsWith('probed'))).toEqual([]);
});

it('the file says which probes are behind a flag, and has rules where the profile has some', () => {
  const proposal = proposeProfile(
    findings({ stop: 'works', two_users: 'refused', image: 'refused' }),
    new URL('https://api.x.ai/v1/chat/completions'),
    'grok-4.9/"x"',
  );
  expect(
    proposal.file,
  ).toBe(`# Made by responses-extproc doctor from what the model "grok-4.9/\\"x\\"" answered; behind each flag, the probes that say so.
profiles:
  "probed-grok-4.9-x":
    extends: "xai"
    alternateRoles: true # two_users
    image: "omit" # image
    models:
      "/^grok-4\\\\.9\\\\/\\\\\\"x\\\\\\"$/":
        refusedFields: ["presence_penalty","frequency_penalty"] # stop
`);
});

it('where no flag differs, the built-in profile is named', () => {
  const { name } = proposeProfile(findings({}), new URL('http://127.0.0.1/v1/chat/completions'), 'm');
  expect(builtInProfiles.get(name)?.profile.name).toBe('generic');
});
