import { describe, expect, it } from 'vitest';
import { startEmbeddedUpstream } from '../../../../tools/mesh/upstream.ts';
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

/** The findings by probe, as `result: detail`. */
function detailsOf({ findings }: DoctorReport): Record<string, string> {
  return Object.fromEntries(findings.map(({ probe, result, detail }) => [probe, `${result}: ${detail}`]));
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

it('a server that does everything needs no flag, and agents can work with it', async () => {
  const report = await diagnose({ reasoning: 'reasoning_content' });
  expect(report.verdict).toEqual({ outcome: 'usable', failing: [] });
  expect(report.profile).toMatchObject({ name: 'generic', extends: 'generic', flags: [] });
  expect(detailsOf(report)).toEqual({
    models: 'refused: status 404',
    software: 'ignored: it names no engine',
    gateway: 'not_tested: no known gateway answered',
    window: 'not_tested: only Ollama has this',
    max_tokens: 'works: cut at 17',
    max_completion_tokens: 'works: cut at 17',
    max_tokens_short: 'not_tested: not needed',
    max_completion_tokens_short: 'not_tested: not needed',
    text: 'works: “hello”',
    stream: 'works: 81 pieces',
    stream_usage: 'works: 16 in, 2 out',
    tools: 'accepted: answered',
    tools_no_effort: 'not_tested: tools are taken as they are',
    tool_call: 'works: get_weather({"city":"Oslo"})',
    tool_stream: 'works: get_weather({"city":"Oslo"})',
    tool_required: 'works: get_weather({"city":"Oslo"})',
    tool_any: 'not_tested: “required” is not refused',
    tool_named: 'works: get_time({"city":"Oslo"})',
    tool_allowed: 'ignored: get_weather({"city":"Oslo"})',
    tool_none: 'works: no call',
    tool_parallel: 'works: get_weather({"city":"Oslo"}), get_weather({"city":"Rome"})',
    parallel_off: 'works: one call',
    tool_strict: 'accepted: answered',
    tool_custom: 'accepted: answered',
    tool_result: 'works: the answer has the output: “It is 17 degrees in Oslo.”',
    tool_result_empty: 'not_tested: the turn is taken as it is',
    tool_result_ids: 'not_tested: the turn is taken as it is',
    tool_result_both: 'not_tested: the turn is taken as it is',
    tool_result_signed: 'not_tested: the turn is taken as it is',
    two_calls: 'accepted: answered',
    calls_without_tools: 'accepted: answered',
    user_after_tool: 'accepted: answered',
    two_users: 'accepted: answered',
    assistant_first: 'accepted: answered',
    developer: 'accepted: answered',
    two_systems: 'accepted: answered',
    system_later: 'accepted: answered',
    assistant_alone: 'accepted: answered',
    no_user: 'accepted: answered',
    text_parts: 'accepted: answered',
    json_schema: 'works: “{"city":"Oslo","population":700000}”',
    json_object: 'not_tested: schemas are kept',
    schema_with_tools: 'works: a call',
    image: 'works: “Red.”',
    audio: 'accepted: answered',
    logprobs: 'works: 1 tokens',
    stop: 'works: “alpha bravo”',
    presence_penalty: 'accepted: answered',
    frequency_penalty: 'accepted: answered',
    unknown_field: 'accepted: answered',
    user: 'not_tested: fields that it does not know are taken',
    reasoning: 'works: in reasoning_content',
    reasoning_split: 'not_tested: no reasoning in the text',
    reasoning_format: 'not_tested: no reasoning in the text',
    effort_none: 'works: no reasoning',
    effort_minimal: 'accepted: answered',
    effort_low: 'accepted: answered',
    effort_medium: 'accepted: answered',
    effort_high: 'accepted: answered',
    effort_xhigh: 'accepted: answered',
    effort_max: 'accepted: answered',
    reasoning_replay: 'ignored: it adds no token to the prompt',
    error_model: 'works: 404: The model does not exist.',
    error_field: 'works: 400: messages must be an array',
    error_key: 'not_tested: no key is needed',
    overflow: 'not_tested: the server does not report its context window',
    cancel: expect.stringMatching(/^accepted: the next request took \d/),
  });
});

it.each<[outcome: string, behaviour: Behaviour, variable: string, profile: string]>([
  ['needs no file where no flag differs', { reasoning: 'reasoning_content' }, '', 'generic'],
  ['names the file of a new profile', { ignores: ['stop'] }, 'UPSTREAM_PROFILES_FILE=FILE ', 'probed-some-model'],
])('the command to try it %s', async (_outcome, behaviour, variable, profile) => {
  const server = await startProbedServer(behaviour);
  const url = `http://127.0.0.1:${server.port}`;
  const { out } = await runDoctor([url, '--model', 'some-model']).finally(() => server.close());
  expect(out).toContain(`clone:\n  ${variable}npm start -- --upstream ${url}/v1 --profile ${profile}\n`);
});

it.each<[name: string, behaviour: Behaviour, details: object]>([
  ['in tags', { reasoning: 'tags' }, { reasoning: 'ignored: in the text, in tags' }],
  [
    'before a closing tag',
    { reasoning: 'closing tag' },
    { reasoning: 'ignored: in the text, with a closing tag alone' },
  ],
  [
    'nowhere, and tools are ignored',
    { ignores: ['tools', 'tool_choice'] },
    {
      reasoning: 'not_tested: the model did not reason',
      tool_call: 'ignored: text instead of a call',
      parallel_off: 'accepted: answered',
      schema_with_tools: 'not_tested: one of the two does not work alone',
    },
  ],
])('reasoning %s is told in words', async (_name, behaviour, details) => {
  expect(detailsOf(await diagnose(behaviour))).toMatchObject(details);
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

it('a list of models tells that a gateway is in front, and that the model takes no images', async () => {
  const data = [{ id: 'some-model', owned_by: 'gpustack', architecture: { input_modalities: ['text'] } }];
  const report = await diagnose({
    respond: (path) => (path === '/v1/models' ? { status: 200, body: JSON.stringify({ data }) } : null),
  });
  expect(report.findings.find(({ probe }) => probe === 'models')?.detail).toContain('takes no images');
  expect(report.findings.find(({ probe }) => probe === 'software')).toMatchObject({
    result: 'works',
    detail: 'GPUStack',
  });
  expect(report.warnings.join('\n')).toContain('GPUStack is in front of the engine');
});

it.each([
  ['LiteLLM', '/health/liveliness', 200, `"I'm alive!"`],
  [
    'agentic-api',
    '/v1/conversations/conv_1',
    404,
    `{"error":{"message":"storage error: not found: Conversation with id 'conv_1'","type":"not_found","code":"not_found"}}`,
  ],
])('%s is recognised by what it says at %s', async (name, path, status, body) => {
  const report = await diagnose({ respond: (asked) => (asked === path ? { status, body } : null) });
  expect(report.findings.find(({ probe }) => probe === 'gateway')).toMatchObject({ result: 'works', detail: name });
  expect(report.warnings.join('\n')).toContain(`${name} is in front of the engine`);
});

describe('the context window', () => {
  const listed = (window: number, path: string) =>
    path === '/v1/models'
      ? {
          status: 200,
          body: JSON.stringify({ data: [{ id: 'some-model', max_model_len: window, owned_by: 'vllm' }] }),
        }
      : null;

  it('is overflown where that is cheap, and the error must have words that are known', async () => {
    const overflow = (message: string): Behaviour => ({
      respond: (path, body) =>
        JSON.stringify(body ?? '').length > 10_000
          ? { status: 400, body: JSON.stringify({ error: { message } }) }
          : listed(4096, path),
    });
    const known = await diagnose(overflow('This model’s maximum context length is 4096 tokens.'));
    expect(resultsOf(known)).toMatchObject({ models: 'works', software: 'works', overflow: 'works' });
    expect(known.profile?.extends).toBe('vllm');
    expect(resultsOf(await diagnose(overflow('Too much of a good thing.')))['overflow']).toBe('refused');
  });

  it('that is cut without a word is ignored', async () => {
    const usage = { prompt_tokens: 4000, completion_tokens: 1, total_tokens: 4001 };
    const body = JSON.stringify({ choices: [{ message: { content: 'hello' }, finish_reason: 'stop' }], usage });
    const report = await diagnose({
      respond: (path, sent) =>
        JSON.stringify(sent ?? '').length > 10_000 ? { status: 200, body } : listed(4096, path),
    });
    expect(resultsOf(report)['overflow']).toBe('ignored');
    expect(report.warnings.join('\n')).toContain('cut silently');
  });

  it('that is large is left alone', async () => {
    const server = await startProbedServer({ respond: (path) => listed(131_072, path) });
    const { report } = await runDoctorJson([`http://127.0.0.1:${server.port}`, '--model', 'some-model']);
    await server.close();
    expect(resultsOf(report)['overflow']).toBe('not_tested');
    expect(Math.max(...server.requests.map(({ body }) => JSON.stringify(body).length))).toBeLessThan(10_000);
    expect(report.warnings.join('\n')).toContain('model_context_window = 131072');
  });
});

it.each([
  ['freed', false, 'works'],
  ['kept', true, 'ignored'],
])('a slot that is %s after a disconnect', async (_name, busy, result) => {
  const slots = JSON.stringify([{ id: 0, is_processing: busy }]);
  const props = JSON.stringify({ default_generation_settings: { n_ctx: 65_536 } });
  const report = await diagnose({
    respond: (path) => {
      if (path === '/slots') return { status: 200, body: slots };
      return path === '/props' ? { status: 200, body: props } : null;
    },
  });
  expect(resultsOf(report)['cancel']).toBe(result);
  expect(report.profile?.extends).toBe('llama.cpp');
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
