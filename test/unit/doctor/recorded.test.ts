import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/doctor/command.ts';
import type { Answer } from '../../../src/doctor/probe.ts';
import type { Report } from '../../../src/doctor/report.ts';

interface Recording {
  readonly about: { readonly model: string; readonly note: string };
  readonly answers: Readonly<Record<string, readonly Answer[]>>;
}

const folder = new URL('../../recordings/doctor/', import.meta.url);
const names = readdirSync(folder).map((file) => file.replace(/\.json$/, ''));

/** The doctor, asking a recording; probes in `hidden` get a 404. What was not recorded fails the test: record anew. */
function replay(name: string, hidden: readonly string[] = []): Promise<Report> {
  const { about, answers } = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Recording;
  const limits = { requests: 100, tokensPerRequest: 512, tokens: 100_000, seconds: 900 };
  return diagnose(
    { chatUrl: new URL('http://127.0.0.1:1/v1/chat/completions'), model: about.model, key: null, limits },
    async (_request, { probe, index }) => {
      const answer = answers[probe]?.[index];
      if (answer === undefined) throw new Error(`${name} has no answer to request ${index} of ${probe}`);
      return hidden.includes(probe) ? { ...answer, status: 404, body: '' } : answer;
    },
    () => {},
  );
}

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
  'vllm-qwen3': { tool_call: 'works', tool_stream: 'works', json_schema: 'works', reasoning: 'works', cancel: 'works' },
};

const withoutName: Readonly<Record<string, object>> = {
  'llama.cpp': {
    audio: false,
    reasoningReplay: 'reasoning_content',
    toolChoice: { sent: true, required: 'required', named: false, allowed: false },
  },
  'vllm-plain': { audio: false, customTools: 'wrapped_strict', reasoningReplay: 'reasoning_content' },
  'vllm-qwen3': { audio: false, customTools: 'wrapped_strict', reasoningReplay: 'reasoning_content' },
};

it('every recording is expected to show something', () => {
  expect(Object.keys(expected).toSorted()).toEqual(names.toSorted());
});

describe.each(names)('recorded answers of %s', (name) => {
  const profile = name.startsWith('vllm') ? 'vllm' : name;

  it('show what the engine does', async () => {
    const { run, verdict } = await replay(name);
    const results = Object.fromEntries([...run.findings].map(([probe, { result }]) => [probe, result]));
    expect(results).toMatchObject(expected[name] ?? {});
    expect(verdict.outcome).toBe('usable');
  });

  it('fit the profile that was written for it, but for the model’s deafness', async () => {
    const { proposal } = await replay(name);
    expect(proposal?.base).toBe(profile);
    expect(proposal?.differences.map(({ flag }) => flag)).toEqual(['audio']);
  });

  it('show its flags even where the engine does not say what it is', async () => {
    const { proposal } = await replay(name, ['models', 'software']);
    expect(proposal?.base).toBe('generic');
    const flags = Object.fromEntries((proposal?.differences ?? []).map(({ flag, value }) => [flag, value]));
    expect(flags).toEqual(withoutName[name]);
  });
});
