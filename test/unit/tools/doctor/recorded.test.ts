import { describe, expect, it } from 'vitest';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import { doctorRecordings, replayDoctor } from '../../../support/doctor-recordings.ts';

/** What the engines do, of what is in their profiles or in docs/upstreams.md. */
const expected: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'llama.cpp': {
    tool_call: 'works',
    tool_parallel: 'works',
    tool_named: 'ignored',
    parallel_off: 'ignored',
    tool_custom: 'refused',
    json_schema: 'works',
    schema_with_tools: 'ignored',
    image: 'refused',
    reasoning: 'works',
    effort_none: 'works',
    error_model: 'ignored',
    overflow: 'works',
    cancel: 'works',
  },
  transformers: {
    max_tokens: 'works',
    max_completion_tokens: 'ignored',
    tool_call: 'ignored',
    json_schema: 'ignored',
    image: 'ignored',
    unknown_field: 'refused',
    reasoning: 'ignored',
    error_field: 'refused',
  },
  'vllm-plain': {
    tool_call: 'works',
    tool_named: 'works',
    tool_allowed: 'refused',
    parallel_off: 'works',
    json_schema: 'works',
    reasoning: 'ignored',
    error_model: 'works',
    overflow: 'works',
    cancel: 'works',
  },
  // Whole answers are taken for reasoning: nothing follows from that for schemas, tools or stop words.
  'vllm-wrong-parser': { text: 'broken', stream: 'works', tool_call: 'not_tested', json_schema: 'not_tested' },
  'vllm-qwen3': { tool_call: 'works', tool_stream: 'works', json_schema: 'works', reasoning: 'works', cancel: 'works' },
};

/** Agents cannot work with it, and no flag would change that. */
const unusable = ['vllm-wrong-parser', 'transformers'];

const ofVllm = {
  image: 'omit',
  audio: false,
  customTools: 'wrapped_strict',
  jsonSchema: 'native_without_tools',
  reasoningReplay: 'reasoning_content',
};

const withoutName: Readonly<Record<string, object>> = {
  transformers: { image: 'omit', jsonSchema: 'prompt', refusedFields: ['logprobs'] },
  'llama.cpp': {
    image: 'omit',
    audio: false,
    jsonSchema: 'native_without_tools',
    reasoningReplay: 'reasoning_content',
    toolChoice: { allowed: false, named: false, required: 'required', sent: true },
  },
  'vllm-plain': ofVllm,
  'vllm-qwen3': ofVllm,
  'vllm-wrong-parser': { image: 'omit', audio: false, reasoningReplay: 'reasoning_content' },
};

it('every recording is expected to show something', () => {
  expect(Object.keys(expected).toSorted()).toEqual(doctorRecordings.toSorted());
});

describe.each(doctorRecordings)('recorded answers of %s', (name) => {
  it('show what the engine does', async () => {
    const { run, verdict } = await replayDoctor(name);
    const results = Object.fromEntries([...run.findings].map(([probe, { result }]) => [probe, result]));
    expect(results).toMatchObject(expected[name] ?? {});
    const answered = [...run.findings.values()].filter(({ detail }) => detail !== 'not recorded');
    expect(answered.length).toBeGreaterThan(0.9 * run.findings.size);
    expect(verdict.outcome).toBe(unusable.includes(name) ? 'unusable' : 'usable');
  });

  it('show its flags even where the engine does not say what it is', async () => {
    const { proposal } = await replayDoctor(name, ['models', 'software']);

    expect(proposal?.base).toBe('generic');
    const flags = Object.fromEntries((proposal?.differences ?? []).map(({ flag, value }) => [flag, value]));
    expect(flags).toEqual(withoutName[name]);
  });
});

describe('recorded answers of an engine that has a profile', () => {
  const engineOf = (name: string) => (name.startsWith('vllm') ? 'vllm' : name);
  const withProfile = doctorRecordings.filter((name) => builtInProfiles.has(engineOf(name)));

  it.each(withProfile)('fit that, but for what the model lacks: %s', async (name) => {
    const { proposal } = await replayDoctor(name);
    expect(proposal?.base).toBe(engineOf(name));
    const flags = proposal?.differences.map(({ flag }) => flag);
    expect(flags).toEqual(engineOf(name) === 'vllm' ? ['image', 'video', 'audio'] : ['image', 'audio']);
  });
});
