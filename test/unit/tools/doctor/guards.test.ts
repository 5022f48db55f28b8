import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import type { Profile } from '../../../../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { readProfilesFile } from '../../../../src/filter/upstream/profiles-file.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { chatRequestBody } from '../../../../src/filter/wire/schema/chat-request.ts';
import { createCountedIds } from '../../../support/context.ts';
import { goldenRequests } from '../../../support/golden.ts';
import { type Behaviour, type ProbedBody, startProbedServer } from '../../../support/probed-server.ts';
import { type DoctorReport, runDoctorJson } from '../../../support/run-doctor.ts';
import { type ServerGuard, serverGuards } from '../../../support/server-guards.ts';
import { createTestSettings } from '../../../support/settings.ts';
import { refusalOf, type TemplateGuard, templateGuards } from '../../../support/template-guards.ts';
import { refusalsOfVllm } from '../../../support/vllm-rules.ts';

/** A model whose name says nothing: what is found is found by the probes. */
const nameless = 'some-model';

const requests = goldenRequests();

/** The profile and the flags that the doctor proposes for a server that refuses what the guard refuses. */
const expectedForServers: Readonly<Record<string, { base: string; flags: object; code: number }>> = {
  // At its own host it is known by that; elsewhere nothing confirms the rest of its profile.
  zai: {
    base: 'generic',
    flags: {
      parallelToolCalls: false,
      toolChoice: { sent: false, required: null, named: false, allowed: false },
      refusedFields: ['presence_penalty', 'frequency_penalty', 'logprobs'],
      jsonSchema: 'json_object',
    },
    code: 0,
  },
  minimax: { base: 'minimax', flags: {}, code: 0 },
  cerebras: { base: 'generic', flags: { refusedFields: ['presence_penalty', 'frequency_penalty'] }, code: 0 },
  bedrock: { base: 'generic', flags: { stubTools: true }, code: 0 },
  databricks: { base: 'generic', flags: { stubTools: true }, code: 0 },
  perplexity: {
    base: 'generic',
    flags: { tools: false, includeUsage: false, alternateRoles: true, refusedFields: ['logprobs', 'stop'] },
    code: 1,
  },
  cohere: { base: 'cohere', flags: {}, code: 0 },
  nim: { base: 'nim', flags: {}, code: 0 },
  // The rest of their rules are their models', and this one has no name.
  huggingface: { base: 'huggingface', flags: {}, code: 0 },
  openai: { base: 'generic', flags: {}, code: 0 },
  vertex: {
    base: 'generic',
    flags: { geminiSignatures: true, effortRules: [{ models: '/./', efforts: { xhigh: 'high', max: 'high' } }] },
    code: 0,
  },
  together: {
    base: 'generic',
    flags: {
      effortRules: [{ models: '/./', efforts: { none: 'low', minimal: 'low', xhigh: 'high', max: 'high' } }],
    },
    code: 0,
  },
  'llama-cpp-python': { base: 'llama-cpp-python', flags: {}, code: 0 },
};

const expectedForTemplates: Readonly<Record<string, { flags: object; code: number }>> = {
  'open-mistral-nemo-2407': { flags: { callIdForm: 'alphanumeric_9', alternateRoles: true }, code: 0 },
  'Devstral-2-123B-Instruct-2512': { flags: { alternateRoles: true, emptyAssistantContent: 'empty' }, code: 0 },
  'mistralai/Mistral-Small-3.2-24B-Instruct-2506': {
    flags: { assistantAfterTool: true, callIdForm: 'alphanumeric_9', needsUser: true },
    code: 0,
  },
  // A turn after a tool is no alternation there: no tools for that model.
  'google/gemma-3-27b-it': { flags: { alternateRoles: true }, code: 1 },
  'gemma-3-12b-it-with-tools': { flags: { alternateRoles: true, emptyAssistantContent: 'empty' }, code: 0 },
  'Qwen/Qwen3-32B': { flags: {}, code: 0 },
  'Qwen/Qwen3.5-122B-A10B': { flags: { needsUser: true }, code: 0 },
  'meta-llama/Llama-3.3-70B-Instruct': { flags: { singleCalls: true }, code: 0 },
  'deepseek-ai/DeepSeek-V3.1': { flags: {}, code: 0 },
  'openai/gpt-oss-120b': { flags: { emptyAssistantContent: 'empty' }, code: 0 },
};

describe.each(serverGuards)('a server like $profile', (guard) => {
  it('is recognised, and takes every golden request by the profile that is proposed', async () => {
    const expected = expectedForServers[guard.profile];
    const { code, report } = await diagnose(behaviourOf(guard));
    const { path: _path, ...flags } = flagsOf(report);
    expect({ base: report.profile?.extends, flags, code }).toEqual(expected);
    const profile = proposed(report);
    const checked = requests.flatMap(({ where, request }) => {
      const body = bodyOf({ ...request, model: nameless }, profile);
      if (body === null) return [];
      return [{ where, body, refusal: refusalOf(() => guard.check(body as GuardBody)) }];
    });
    expect(checked.filter(({ refusal }) => refusal !== null)).toEqual([]);
    expect(checked.length).toBeGreaterThan(50);
  });
});

it('a model that takes tools only without reasoning is recognised, and gets its tools so', async () => {
  const guard = serverGuards.find(({ profile }) => profile === 'openai');
  if (guard?.model === undefined) throw new Error('The guard of OpenAI names no model.');
  const { code, report } = await diagnose(behaviourOf(guard), guard.model);
  expect({ base: report.profile?.extends, flags: flagsOf(report), code }).toEqual({
    base: 'generic',
    flags: { effortWithTools: { effort: 'none', when: 'offered' } },
    code: 0,
  });
});

describe.each(templateGuards)('a server with the template of $model', (guard) => {
  const behaviour: Behaviour = {
    check: ({ messages, tools }) => guard.check(messages as Messages, tools !== undefined),
  };

  it('is recognised by the probes alone, and takes every golden request by the profile that is proposed', async () => {
    const { code, report } = await diagnose(behaviour);
    const found = { base: report.profile?.extends, flags: flagsOf(report), code };
    expect(found).toEqual({ base: 'generic', ...expectedForTemplates[guard.model] });
    expect(accepted(guard, nameless, proposed(report))).toBeGreaterThan(100);
  });

  it('needs no flag where the model’s name says enough', async () => {
    const { report } = await diagnose(behaviour, guard.model);
    expect(flagsOf(report)).toEqual({});
    expect(accepted(guard, guard.model, proposed(report))).toBeGreaterThan(100);
  });
});

it('a server that refuses what vLLM refuses needs no flag', async () => {
  const { code, report } = await diagnose({
    check(body) {
      const [refused] = refusalsOfVllm(body);
      if (refused !== undefined) throw new Error(refused);
    },
  });
  expect({ code, base: report.profile?.extends, flags: flagsOf(report) }).toEqual({
    code: 0,
    base: 'generic',
    flags: {},
  });
});

/** Every guard stands in the tables, so that a new one is expected to give something. */
it('the tables have each guard', () => {
  expect(Object.keys(expectedForServers).toSorted()).toEqual(serverGuards.map(({ profile }) => profile).toSorted());
  expect(Object.keys(expectedForTemplates).toSorted()).toEqual(templateGuards.map(({ model }) => model).toSorted());
});

type GuardBody = Parameters<ServerGuard['check']>[0];
type Messages = Parameters<TemplateGuard['check']>[0];

/** MiniMax does not refuse a request that does not split: it leaves the reasoning in the text. */
function behaviourOf({ profile, check }: ServerGuard): Behaviour {
  const checked: Behaviour = { check: (body) => check(body as GuardBody) };
  // Its streams have no usage (observed).
  if (profile === 'llama-cpp-python') return { ...checked, ignores: ['stream_options'] };
  if (profile !== 'minimax') return checked;
  return {
    reasoning: 'tags',
    reasoningField: 'reasoning_split',
    check: (body) => check({ ...(body as GuardBody), reasoning_split: true }),
  };
}

async function diagnose(behaviour: Behaviour, model = nameless): Promise<{ code: number; report: DoctorReport }> {
  const server = await startProbedServer(behaviour);
  try {
    return await runDoctorJson([`http://127.0.0.1:${server.port}`, '--model', model]);
  } finally {
    await server.close();
  }
}

function flagsOf({ profile }: DoctorReport): Record<string, unknown> {
  return Object.fromEntries((profile?.flags ?? []).map(({ flag, value }) => [flag, value]));
}

/** The profile as the service reads it from the file. */
function proposed({ profile }: DoctorReport): Profile {
  if (profile === null) throw new Error('No profile was proposed.');
  const own = [...readProfilesFile(profile.file, 'probed.yaml').values()];
  expect(own.length).toBe(1);
  const [first] = own;
  return first ?? (builtInProfiles.get('generic')?.profile as Profile);
}

/** How many golden requests reach the template; fails for those that it refuses. */
function accepted(guard: TemplateGuard, model: string, profile: Profile): number {
  const checked = requests.flatMap(({ where, request }) => {
    const body = bodyOf({ ...request, model }, profile);
    if (body === null || (guard.withoutTools && hasTools(body))) return [];
    const { messages, tools } = body;
    return [{ where, messages, refusal: refusalOf(() => guard.check(messages as Messages, tools !== undefined)) }];
  });
  expect(checked.filter(({ refusal }) => refusal !== null)).toEqual([]);
  return checked.length;
}

function hasTools({ messages }: ProbedBody): boolean {
  return messages.some((message) => message.role === 'tool' || message['tool_calls'] !== undefined);
}

/** The body as the upstream gets it; null for a request that is refused, or answered without the upstream. */
function bodyOf(request: object, profile: Profile): ProbedBody | null {
  const settings = { ...createTestSettings({ orphanOutputs: 'synthesize', missingOutputs: 'synthesize' }), profile };
  try {
    const clock = { now: () => 1, newId: createCountedIds() };
    const { chat, passthrough, context } = translateRequest(request, settings, clock);
    if (!context.answer.asksUpstream) return null;
    return JSON.parse(JSON.stringify(chatRequestBody(chat, passthrough)));
  } catch (thrown) {
    if (thrown instanceof ApiError) return null;
    throw thrown;
  }
}
