import { describe, expect, it } from 'vitest';
import { startEmbeddedUpstream } from '../../../../mesh/upstream.ts';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';
import { judgeServer } from '../../../../src/tools/doctor/report.ts';
import { type Behaviour, type ProbedBody, startProbedServer } from '../../../support/probed-server.ts';
import { type DoctorReport, runDoctor, runDoctorJson } from '../../../support/run-doctor.ts';

async function diagnose(behaviour: Behaviour, args: readonly string[] = []): Promise<DoctorReport> {
  const server = await startProbedServer(behaviour);
  try {
    return (await runDoctorJson([`http://127.0.0.1:${server.port}`, '--model', 'some-model', ...args])).report;
  } finally {
    await server.close();
  }
}

/** The results by probe. */
function resultsOf({ findings }: DoctorReport): Record<string, string> {
  return Object.fromEntries(findings.map(({ probe, result }) => [probe, result]));
}

function flagsOf({ profile }: DoctorReport): Record<string, unknown> {
  return Object.fromEntries((profile?.flags ?? []).map(({ flag, value }) => [flag, value]));
}

function refusing(refused: (body: ProbedBody) => boolean): Behaviour {
  return {
    check(body) {
      if (refused(body)) throw new Error('not supported');
    },
  };
}

it.each<[outcome: string, behaviour: Behaviour, variable: string, profile: string]>([
  ['needs no file where no flag differs', { reasoning: 'reasoning_content' }, '', 'generic'],
  ['names the file of a new profile', { ignores: ['stop'] }, 'UPSTREAM_PROFILES_FILE=FILE ', 'probed-some-model'],
])('the command to try it %s', async (_outcome, behaviour, variable, profile) => {
  const server = await startProbedServer(behaviour);
  const url = `http://127.0.0.1:${server.port}`;
  const { out } = await runDoctor([url, '--model', 'some-model']).finally(() => server.close());
  expect(out).toContain(`clone:\n  ${variable}npm start -- --upstream ${url}/v1 --profile ${profile}\n`);
});

/** A behaviour, what its probe finds, and the flags that follow. `ignored` and `refused` are not the same. */
const cases: readonly (readonly [string, Behaviour, Record<string, string>, object])[] = [
  [
    'max_tokens is refused',
    refusing((body) => body.max_tokens !== undefined),
    { max_tokens: 'refused', max_completion_tokens: 'works' },
    { maxTokensField: 'max_completion_tokens' },
  ],
  [
    'max_tokens is ignored',
    { ignores: ['max_tokens'] },
    { max_tokens: 'ignored', max_completion_tokens: 'works' },
    { maxTokensField: 'max_completion_tokens' },
  ],
  [
    'max_completion_tokens is ignored',
    { ignores: ['max_completion_tokens'] },
    { max_tokens: 'works', max_completion_tokens: 'ignored' },
    {},
  ],
  ['streams are ignored', { ignores: ['stream'] }, { stream: 'ignored', text: 'works' }, {}],
  [
    'stream_options is refused',
    refusing((body) => body.stream_options !== undefined),
    { stream: 'works', stream_usage: 'refused' },
    { includeUsage: false },
  ],
  ['stream_options is ignored', { ignores: ['stream_options'] }, { stream_usage: 'ignored' }, { includeUsage: false }],
  [
    'tools are refused',
    refusing((body) => body.tools !== undefined),
    { tool_call: 'refused', tool_result: 'not_tested' },
    { tools: false },
  ],
  ['tools are ignored', { ignores: ['tools'] }, { tool_call: 'ignored', tool_required: 'ignored' }, {}],
  [
    'tool_choice is ignored',
    { ignores: ['tool_choice'] },
    { tool_required: 'ignored', tool_named: 'ignored', tool_none: 'ignored' },
    { toolChoice: { sent: true, required: 'ignored', named: false, allowed: false } },
  ],
  [
    'a named choice is refused',
    refusing((body) => typeof body.tool_choice === 'object'),
    { tool_named: 'refused', tool_allowed: 'refused' },
    { toolChoice: { sent: true, required: 'required', named: false, allowed: false } },
  ],
  [
    'required has another word',
    refusing((body) => body.tool_choice === 'required'),
    { tool_required: 'refused', tool_any: 'works' },
    { toolChoice: { sent: true, required: 'any', named: true, allowed: false } },
  ],
  [
    'parallel_tool_calls is refused',
    refusing((body) => body.parallel_tool_calls !== undefined),
    { parallel_off: 'refused' },
    { parallelToolCalls: false },
  ],
  [
    'the grammar of a schema holds from the first token',
    { ignores: ['tools'], ignoresWith: 'response_format' },
    { tool_call: 'works', json_schema: 'works', schema_with_tools: 'ignored' },
    { jsonSchema: 'native_without_tools' },
  ],
  [
    'a schema beside tools is refused',
    refusing((body) => body.tools !== undefined && body.response_format !== undefined),
    { tool_call: 'works', json_schema: 'works', schema_with_tools: 'refused' },
    { jsonSchema: 'native_without_tools' },
  ],
  ['parallel_tool_calls is ignored', { ignores: ['parallel_tool_calls'] }, { parallel_off: 'ignored' }, {}],
  [
    'a custom tool is refused',
    refusing((body) => body.tools?.some(({ type }) => type === 'custom') ?? false),
    { tool_custom: 'refused' },
    {},
  ],
  [
    'the role developer is refused',
    refusing((body) => roles(body).includes('developer')),
    { developer: 'refused' },
    {},
  ],
  [
    'a later system message is refused',
    refusing((body) => roles(body).lastIndexOf('system') > 1),
    { system_later: 'refused' },
    {},
  ],
  [
    'parts of text are refused',
    refusing((body) =>
      body.messages.some(
        ({ role, content }) => role === 'user' && JSON.stringify(content).includes('},{"type":"text"'),
      ),
    ),
    { text_parts: 'refused' },
    {},
  ],
  [
    'schemas are refused',
    refusing((body) => body.response_format?.type === 'json_schema'),
    { json_schema: 'refused', json_object: 'works' },
    { jsonSchema: 'json_object' },
  ],
  [
    'schemas are ignored',
    { ignores: ['response_format'] },
    { json_schema: 'ignored', json_object: 'ignored' },
    { jsonSchema: 'prompt' },
  ],
  [
    'sound is refused',
    refusing((body) => JSON.stringify(body.messages).includes('input_audio')),
    { audio: 'refused' },
    { audio: false },
  ],
  ['logprobs are ignored', { ignores: ['logprobs'] }, { logprobs: 'ignored' }, { refusedFields: ['logprobs'] }],
  ['stop is ignored', { ignores: ['stop'] }, { stop: 'ignored' }, { refusedFields: ['stop'] }],
  [
    'an unknown field is refused',
    refusing((body) => body['x_unknown_field'] !== undefined),
    { unknown_field: 'refused' },
    {},
  ],
  ['each delta has all of the text so far', { cumulative: true }, { stream: 'works' }, { cumulativeDeltas: true }],
  [
    'reasoning is in tags',
    { reasoning: 'tags' },
    { reasoning: 'ignored', effort_none: 'accepted', json_schema: 'works' },
    {},
  ],
  [
    'reasoning has a closing tag alone',
    { reasoning: 'closing tag' },
    { reasoning: 'ignored', json_schema: 'works' },
    { implicitThink: true },
  ],
  [
    'reasoning leaves the text by reasoning_format',
    { reasoning: 'tags', reasoningField: 'reasoning_format' },
    { reasoning_format: 'works' },
    { defaults: { reasoning_format: 'parsed' } },
  ],
  [
    'reasoning is read back',
    { reasoning: 'reasoning', replay: ['reasoning'] },
    { reasoning_replay: 'works' },
    { reasoningReplay: 'reasoning' },
  ],
  ['reasoning is not read back', { reasoning: 'reasoning' }, { reasoning_replay: 'ignored' }, {}],
  [
    'efforts are refused',
    refusing((body) => body.reasoning_effort !== undefined),
    { effort_none: 'refused', effort_high: 'refused' },
    { reasoningEffort: 'none' },
  ],
  [
    'the greatest efforts are refused',
    refusing((body) => ['xhigh', 'max'].includes(body.reasoning_effort ?? '')),
    { effort_high: 'accepted', effort_xhigh: 'refused' },
    { effortRules: [{ models: '/./', efforts: { xhigh: 'high', max: 'high' } }] },
  ],
];

describe.each(cases)('when %s', (_name, behaviour, results, flags) => {
  it('the probes say so, and the flags follow', async () => {
    const report = await diagnose(behaviour);
    expect(resultsOf(report)).toMatchObject(results);
    expect(report.profile?.extends).toBe('generic');
    expect(flagsOf(report)).toEqual(flags);
  });
});

it.each([
  ['tools are refused', refusing((body) => body.tools !== undefined), ['tool_call', 'tool_stream']],
  ['streams are ignored', { ignores: ['stream'] }, ['stream']],
  ['calls come as text', asText(), ['tool_call', 'tool_stream']],
  ['no form of a finished call is taken', refusing((body) => roles(body).includes('tool')), ['tool_result']],
] as const)('agents cannot work with a server when %s', async (_name, behaviour, failing) => {
  const report = await diagnose(behaviour);
  expect(report.verdict).toEqual({ outcome: 'unusable', failing });
});

it('a call that comes as text is told apart from a model that does not call', async () => {
  const { warnings } = await diagnose(asText());
  expect(warnings.join('\n')).toContain('--enable-auto-tool-choice');
});

it.each([502, 503, 504])('nothing follows from a %i: the server is in trouble', async (status) => {
  const body = '{"error":{"message":"overloaded"}}';
  const report = await diagnose({ respond: (_path, sent) => (sent?.stop === undefined ? null : { status, body }) });
  expect(report.findings.find(({ probe }) => probe === 'stop')).toMatchObject({
    result: 'not_tested',
    detail: `${status}: overloaded`,
  });
  expect(flagsOf(report)).toEqual({});
});

it('answers that say nothing are broken, not refused', async () => {
  const report = await diagnose({
    respond: (_path, body) => (body?.stop === undefined ? null : { status: 200, body: '' }),
  });
  expect(resultsOf(report)).toMatchObject({ stop: 'broken' });
  expect(flagsOf(report)).toEqual({ refusedFields: ['stop'] });
});

it('an answer of which all tokens are reasoning shows nothing', async () => {
  const cut = JSON.stringify({
    choices: [{ index: 0, message: { content: null, reasoning_content: 'Hm' }, finish_reason: 'length' }],
  });
  const report = await diagnose({
    respond: (_path, body) => (body?.tools === undefined ? null : { status: 200, body: cut }),
  });
  expect(report.findings.find(({ probe }) => probe === 'tool_call')).toMatchObject({
    result: 'not_tested',
    detail: expect.stringContaining('--max-tokens'),
  });
  expect(report.verdict.outcome).toBe('unclear');
});

it('the embedded server of npm start can be used by agents', async () => {
  const upstream = await startEmbeddedUpstream();
  const { code, report } = await runDoctorJson([`http://127.0.0.1:${upstream.port}/v1`, '--model', 'demo-reasoning']);
  await upstream.close();
  expect({ code, extends: report.profile?.extends, flags: flagsOf(report) }).toEqual({
    code: 0,
    extends: 'generic',
    flags: { refusedFields: ['logprobs', 'stop'], image: 'omit' },
  });
});

function roles({ messages }: ProbedBody): string[] {
  return messages.map(({ role }) => role);
}

function asText(): Behaviour {
  const content = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>';
  const message = JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] });
  const asks = (body: ProbedBody | null) => body?.tools !== undefined && body.messages.at(-1)?.role === 'user';
  return { respond: (_path, body) => (asks(body) ? { status: 200, body: message } : null) };
}

it('a limit is shown to be ignored by an answer that must reach it, where a short one does not', async () => {
  const short: Behaviour = {
    respond(_path, body) {
      if (body?.messages === undefined || body.tools !== undefined || body.stream === true) return null;
      const limit = body.max_tokens ?? 99;
      const tokens = Math.min(limit, 9);
      const choice = {
        finish_reason: tokens < 9 ? 'length' : 'stop',
        message: { role: 'assistant', content: 'word '.repeat(tokens).trim() },
      };
      const usage = { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens };
      return { status: 200, body: JSON.stringify({ choices: [{ index: 0, ...choice }], usage }) };
    },
  };
  const report = await diagnose(short);
  expect(resultsOf(report)).toMatchObject({
    max_tokens: 'accepted',
    max_tokens_short: 'works',
    max_completion_tokens: 'accepted',
    max_completion_tokens_short: 'ignored',
  });
  expect(report.profile?.file).not.toContain('maxTokensField: "max_completion_tokens"');
});

it('a model that calls only where a call is required is told apart from a server that does not read calls', async () => {
  const report = await diagnose({
    respond(_path, body) {
      if (body?.tools === undefined || body.stream === true || body.tool_choice !== undefined) return null;
      const message = { role: 'assistant', content: 'It is sunny.' };
      return { status: 200, body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }) };
    },
  });
  expect(resultsOf(report)).toMatchObject({ tool_call: 'ignored', tool_required: 'works' });
  const means = report.findings.find(({ probe }) => probe === 'tool_call')?.means;
  expect(means).toMatch(/^The server reads calls where one is required: this model does not call by itself/);
  expect(report.warnings).toContain(means);
  expect(report.verdict).toEqual({ outcome: 'unusable', failing: ['tool_call'] });
});

it('mlx-lm is recognised by the fingerprint of its answers', async () => {
  const message = { role: 'assistant', content: 'hello' };
  const report = await diagnose({
    respond(path, body) {
      if (body === null || body.stream === true || body.tools !== undefined || !path.endsWith('/chat/completions'))
        return null;
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      const system_fingerprint = '0.32.2-0.30.1-macOS-15.4-arm64-arm-64bit-applegpu_g13s';
      return { status: 200, body: JSON.stringify({ system_fingerprint, choices }) };
    },
  });
  expect(report.profile?.extends).toBe('mlx-lm');
});

it('one essential probe that could not be tested leaves the verdict open', () => {
  const finding = (result: 'works' | 'not_tested') => ({ result, detail: '' });
  const essential = allProbes.filter((probe) => probe.essential).map(({ name }) => name);
  const all = essential.map((name) => [name, finding('works')] as const);
  expect(judgeServer(new Map(all), true)).toEqual({ outcome: 'usable', failing: [] });
  for (const name of essential) {
    const findings = new Map([...all, [name, finding('not_tested')]]);
    expect(judgeServer(findings, true)).toEqual({ outcome: 'unclear', failing: [name] });
  }
});
