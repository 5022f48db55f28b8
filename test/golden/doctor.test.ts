/**
 * The reports of `doctor` on servers of every kind, whole, and all that it sends them. What a change of the probes, of their words or of
 * what follows from them makes of a report is seen in `test/golden/doctor`: `npx vitest run -u test/golden/doctor.test.ts` writes them.
 */
import { expect, it } from 'vitest';
import { jsonWithPatterns } from '../../src/formats/json/json-with-patterns.ts';
import { plainStyle } from '../../src/tools/cli/style.ts';
import { diagnose } from '../../src/tools/doctor/doctor-command.ts';
import type { Answer, Finding } from '../../src/tools/doctor/probe-types.ts';
import { allProbes } from '../../src/tools/doctor/probes/all-probes.ts';
import { proposeProfile } from '../../src/tools/doctor/proposal.ts';
import { textReport } from '../../src/tools/doctor/report.ts';
import { doctorRecordings, replayDoctor } from '../support/doctor-recordings.ts';
import { goldenTexts } from '../support/golden-text.ts';
import { type Behaviour, type ProbedBody, type ProbedServer, startProbedServer } from '../support/probed-server.ts';
import { runDoctor } from '../support/run-doctor.ts';

const golden = goldenTexts('doctor');

const key = 'sk-not-the-wrong-one';
const roles = ({ messages }: ProbedBody) => messages.map(({ role }) => role);
const json = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });
const problem = (status: number, message: string) => ({ status, body: JSON.stringify({ error: { message } }) });

/** Without what differs from run to run: the port, and how long the last answer took. */
function steady(text: string, port: number): string {
  return text.replaceAll(`127.0.0.1:${port}`, 'server.test').replaceAll(/took \d+\.\d s/g, 'took … s');
}

/** A server that behaves so, asked with these options: what doctor prints, and what the server was sent. */
async function doctorAt(behaviour: Behaviour, args: readonly string[] = []) {
  const server = await startProbedServer(behaviour);
  try {
    const { code, out } = await runDoctor([`http://127.0.0.1:${server.port}/v1`, '-m', 'some-model', ...args]);
    return { text: `${steady(out, server.port)}Exit code ${code}\n`, requests: server.requests };
  } finally {
    await server.close();
  }
}

/** Servers by what is said of them in `test/golden/doctor`. */
const servers: Readonly<Record<string, { readonly behaviour: Behaviour; readonly args?: readonly string[] }>> = {
  // Its window is small enough to be overflown, and its list of models and its metrics say what it is.
  'does everything': {
    args: ['--key', key],
    behaviour: {
      reasoning: 'reasoning_content',
      replay: ['reasoning_content', 'reasoning'],
      respond(path, body, { headers }) {
        if (headers.authorization !== `Bearer ${key}`) return problem(401, 'Wrong key.');
        if (path === '/metrics') return { status: 200, body: 'vllm:num_requests_running{model="m"} 0.0\n' };
        if (path === '/version') return json({ version: '0.11.0' });
        if (path === '/v1/models')
          return {
            ...json({ data: [{ id: 'some-model', max_model_len: 2048, owned_by: 'vllm' }] }),
            headers: { 'keep-alive': 'timeout=5' },
          };
        if (JSON.stringify(body).length > 8000)
          return problem(400, 'This model’s maximum context length is 2048 tokens.');
        return null;
      },
    },
  },
  'takes nothing but text and tools': {
    behaviour: {
      check(body) {
        const { messages, tools, tool_choice: choice } = body;
        const known = ['model', 'messages', 'max_tokens', 'stream', 'tools', 'tool_choice'];
        const strange = Object.keys(body).find((name) => !known.includes(name));
        if (strange !== undefined) throw new Error(`${strange} is not permitted`);
        if (choice !== undefined && choice !== 'any') throw new Error('tool_choice must be auto or any');
        if (tools?.some((tool) => tool.type !== 'function' || 'strict' in tool.function)) throw new Error('a bad tool');
        const signed = JSON.stringify(messages).includes('thought_signature');
        if (roles(body).includes('tool') && !signed) throw new Error('a call without its signature');
        if (roles(body).includes('tool') && tools === undefined) throw new Error('calls without tools');
        if (messages.some((message) => (message['tool_calls'] as unknown[] | undefined)?.length === 2))
          throw new Error('two calls at once');
        if (roles(body).join(' ').includes('tool user')) throw new Error('a user after a tool');
        if (roles(body).includes('developer')) throw new Error('500 no role developer');
        if (/user user|system system/.test(roles(body).join(' '))) throw new Error('two in a row');
        if (roles(body).lastIndexOf('system') > 0) throw new Error('a late system message');
        if (!roles(body).includes('user')) throw new Error('no user');
        if (roles(body)[0] === 'assistant') throw new Error('an assistant first');
        if (messages.some(({ content }) => Array.isArray(content))) throw new Error('content must be text');
      },
    },
  },
  // An Ollama behind LiteLLM, whose template knows no tools in streams.
  'ignores most fields': {
    behaviour: {
      reasoning: 'closing tag',
      ignores: [
        ...['max_completion_tokens', 'stream_options', 'tool_choice', 'parallel_tool_calls', 'response_format'],
        ...['logprobs', 'stop', 'reasoning_effort'],
      ],
      respond(path, body) {
        if (path === '/v1/models') return json({ data: [{ id: 'a-model' }, { id: 'some-model:latest' }, { id: 'b' }] });
        if (path === '/api/version') return json({ version: '0.12.3' });
        if (path === '/api/show')
          return json({ parameters: 'top_k 4', model_info: { 'qwen3.context_length': 40_960 } });
        if (path === '/health/liveliness') return json("I'm alive!");
        if (body?.['reasoning_content'] !== undefined) return problem(400, 'no such field');
        if (JSON.stringify(body).includes('image_url')) return said({ content: 'A blue sky.' });
        return null;
      },
    },
  },
  'takes no tools, and of reasoning nothing back': {
    behaviour: {
      reasoning: 'tags',
      reasoningField: 'reasoning_split',
      check({ tools, messages, reasoning_effort: effort }) {
        if (tools !== undefined) throw new Error('tools are not supported');
        if (JSON.stringify(messages).includes('tool_calls')) throw new Error('calls are not supported');
        if (effort === 'none' || effort === 'xhigh') throw new Error('bad effort');
      },
      respond(path) {
        const data = [...'abcdefghij'].map((id) => ({ id, owned_by: 'library' }));
        return path === '/v1/models' ? json({ data }) : null;
      },
    },
  },
  'has tools only without reasoning': {
    behaviour: {
      reasoning: 'reasoning',
      check({ messages, tools, reasoning_effort: effort }) {
        if (tools !== undefined && effort !== 'none') throw new Error('tools need the effort none');
        if (messages.some((message) => message['reasoning'] !== undefined)) throw new Error('reasoning is not taken');
      },
      respond(path) {
        if (path === '/props')
          return json({
            build_info: 'b7000',
            default_generation_settings: { n_ctx: 40_000 },
            modalities: { vision: false },
          });
        return path === '/slots' ? json([{ is_processing: true }]) : null;
      },
    },
  },
};
/** An answer in JSON, with this message. */
function said(message: object, more: object = {}, usage?: object) {
  return json({ choices: [{ index: 0, message, finish_reason: 'stop', ...more }], usage });
}

it.each(doctorRecordings)('the report on the recorded answers of %s', async (name) => {
  await golden.expect(`recorded-${name}.txt`, textReport(await replayDoctor(name), plainStyle(120)));
});

it('the reports on servers that do all or little, and each request that they are sent', async () => {
  const runs = await Promise.all(
    Object.entries(servers).map(async ([name, { behaviour, args }]) => ({
      name,
      ...(await doctorAt(behaviour, args)),
    })),
  );
  for (const { name, text } of runs) await golden.expect(fileOf(name), text);
  const tools = new Map<string, string>();
  const known = new Set<string>();
  const sections = runs.map(({ name, requests }) => {
    const lines = requests.map((request) => requestLine(request, tools)).filter((line) => !known.has(line));
    for (const line of lines) known.add(line);
    return [`A server that ${name}:`, ...lines, ''].join('\n');
  });
  const ofTools = [...tools].map(([text, name]) => `${name}: ${text}\n`).join('');
  await golden.expect('requests.txt', `${sections.join('\n')}\n${ofTools}`);
});

/** A request on two lines; each of `tools` by its number there, which is given to it when it is seen first. */
function requestLine({ path, headers, body }: ProbedServer['requests'][number], tools: Map<string, string>): string {
  if (body === null) return `GET ${path}`;
  const wrong = headers.authorization?.includes('wrong-key') ? ' with a wrong key' : '';
  const named = (tool: object) => {
    const text = JSON.stringify(tool);
    const name = tools.get(text) ?? `tool ${tools.size + 1}`;
    tools.set(text, name);
    return name;
  };
  const text = JSON.stringify({ ...body, ...(body.tools && { tools: body.tools.map(named) }) })
    .replaceAll(/(?:one ){9,}/g, (words) => `one … ${words.length / 4} times `)
    .replaceAll(/[A-Za-z0-9+/=]{99,}/g, (bytes) => `${bytes.slice(0, 32)}…${bytes.length} characters`);
  return `POST ${path}${wrong}\n  ${text}`;
}

/** Answers of every kind by what is said of them, as the body of a 200 in JSON, as events, or as the whole answer. */
const call = (name: string, text: string, id?: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const cut = { finish_reason: 'length' };
const oslo = '{"city":"Oslo"}';
const answers: Readonly<Record<string, Partial<Answer> | object | readonly object[]>> = {
  'nothing at all': { body: '' },
  'no completion': { body: '{"choices":"none"}' },
  'not JSON': { body: '<html>\nHello\u0007' },
  'an error in a 200': { body: '{"error":{"message":"sorry"}}' },
  'a 400': { status: 400, body: '{"error":{"message":"not so"}}' },
  'a 404 without a body': { status: 404, body: '' },
  'a 500': { status: 500, body: '{"error":{"message":"oops"}}' },
  'a 503': { status: 503, body: 'busy' },
  'a 529': { status: 529, body: 'overloaded' },
  'a time that ran out': { outcome: 'timed_out', status: 0, reason: 'no complete answer within 9 s' },
  'a connection that was cut': { outcome: 'unreachable', status: 0, reason: 'ECONNRESET' },
  'an answer that is too large': { outcome: 'too_large', reason: 'an answer over 8 MiB' },
  'an empty text': said({ content: '' }),
  'an empty text that was cut': said({ content: ' ' }, cut),
  'reasoning alone': said({ content: null, reasoning_content: 'Hm.' }),
  'reasoning alone that was cut': said({ content: '', reasoning: 'Hm.' }, cut),
  'a word': said({ content: 'hello' }, {}, { prompt_tokens: 9, completion_tokens: 32, total_tokens: 41 }),
  'more tokens than asked for': said(
    { content: 'hello' },
    {},
    { prompt_tokens: 9, completion_tokens: 33, total_tokens: 42 },
  ),
  'a long text that was cut': said({ content: 'a'.repeat(321) }, cut),
  'a text at the limit': said({ content: 'b'.repeat(320) }, cut),
  'a word after reasoning in tags': said({ content: '<think>Hm.</think>17 red 17' }),
  'a word after a closing tag': said({ content: 'Hm.</think>Crimson' }),
  'a word after hidden reasoning': said(
    { content: 'a scarlet one' },
    {},
    { prompt_tokens: 3, completion_tokens: 4, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 5 } },
  ),
  'reasoning counted apart': said(
    { content: 'reddish', reasoning_content: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] },
    {},
    { prompt_tokens: 3, completion_tokens: 4, total_tokens: 11, completion_tokens_details: { reasoning_tokens: 5 } },
  ),
  'a call as text': said({ content: `<tool_call>{"name":"get_weather"}</tool_call>` }),
  'a call as text of another kind': said({ content: '[TOOL_CALLS]get_weather' }),
  'a call of another tool, without an id': said({ content: null, tool_calls: [call('get_time', oslo)] }),
  'a call whose arguments are a list': said({ content: 'I call.', tool_calls: [call('get_weather', '[1]', 'a')] }),
  'a call that was cut': said({ content: null, tool_calls: [call('get_weather', `${oslo.slice(0, 9)}`, 'a')] }, cut),
  'two calls': said({ content: '', tool_calls: [call('get_time', oslo, 'a'), call('get_weather', oslo, 'b')] }),
  'a call with long arguments': said({
    content: '',
    tool_calls: [call('write_note', `{"a":"${'x'.repeat(99)}"}`, 'a')],
  }),
  'the JSON of the schema': said({ content: '{"city":"Oslo","population":700000}' }),
  'JSON with a key too few': said({ content: oslo }),
  'JSON with a key too many': said({ content: '{"city":"Oslo","population":1,"alpha":"charlie"}' }),
  'JSON of other types': said({ content: '{"city":7,"population":1}' }),
  'JSON with half a person': said({ content: '{"city":"Oslo","population":1.5}' }),
  'JSON that was cut': said({ content: ' {"city":"Os' }, cut),
  'a list': said({ content: '["bravo"]' }),
  'log probabilities': said(
    { content: 'alpha bravo' },
    {
      logprobs: {
        content: [
          { token: 'a', logprob: -1 },
          { token: 'b', logprob: -1 },
        ],
      },
    },
  ),
  'events without a piece': [{ delta: { role: 'assistant', content: '' } }, { delta: {}, finish_reason: 'stop' }],
  'events of one short piece': [{ delta: { content: 'x'.repeat(40) } }, { delta: {}, finish_reason: 'stop' }],
  'events of one long piece': [{ delta: { content: 'x'.repeat(41) } }, { delta: {}, finish_reason: 'stop' }],
  'events without a reason to finish': [{ delta: { content: 'one ' } }, { delta: { content: 'two' } }],
  'events that repeat the text before them': ['a', 'ab', 'abc', 'abcd', 'abcde'].map((content) => ({
    delta: { content },
  })),
  'events that repeat it too seldom': ['a', 'ab', 'abc', 'abcd'].map((content) => ({ delta: { content } })),
  'events that repeat it, and then do not': ['a', 'ab', 'abc', 'abcd', 'e'].map((content) => ({ delta: { content } })),
  'events of reasoning, then a call': [
    { delta: { reasoning_content: 'Hm.' } },
    { delta: { tool_calls: [{ index: 0, ...call('get_weather', oslo, 'a') }] } },
    { delta: {}, finish_reason: 'tool_calls' },
  ],
  'events without an end': {
    contentType: 'text/event-stream',
    body: 'data: {"choices":[{"delta":{"content":"on"}}]}\n\n',
  },
  'events with an error': {
    contentType: 'text/event-stream',
    body: 'data: {"choices":[{"delta":{"content":"on"}}]}\n\ndata: {"error":{"message":"gone"}}\n\ndata: [DONE]\n\n',
  },
};

const plainAnswer: Answer = {
  ...{ outcome: 'answered', status: 200, contentType: 'application/json', keepAlive: null, retryAfter: null },
  ...{ location: null, body: '', reason: '', milliseconds: 1234 },
};

function answerOf(given: Partial<Answer> | readonly object[]): Answer {
  if (!Array.isArray(given)) return { ...plainAnswer, ...given };
  const events = given.map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
  return { ...plainAnswer, contentType: 'text/event-stream', body: `${events.join('')}data: [DONE]\n\n` };
}

/** A run in which each question to the model but those in `well` gets this answer, and nothing else is there. */
function runWith(answer: Answer, well: readonly string[]) {
  const limits = { requests: 100, tokensPerRequest: 512, tokens: 100_000, seconds: 900 };
  const chatUrl = new URL('http://127.0.0.1/v1/chat/completions');
  const fine = answerOf(said({ content: 'hello' }));
  return diagnose(
    { chatUrl, model: 'some-model', key: 'sk-1', limits },
    ({ path }, { probe }) =>
      Promise.resolve(path === 'chat' ? (well.includes(probe) ? fine : answer) : { ...plainAnswer, status: 404 }),
    { onProgress: () => {}, goOn: () => Promise.resolve(true) },
  );
}

it('what follows from an answer: what every probe makes of each kind, where that is not as for the first', async () => {
  const usual = await runWith(answerOf(said({ content: 'hello' })), ['text']);
  const toldBefore = new Map<string, string>();
  const sections: string[] = [];
  for (const [name, given] of [['“hello”', said({ content: 'hello' })] as const, ...Object.entries(answers)]) {
    const isFirst = sections.length === 0;
    const { run, warnings, proposal } = await runWith(answerOf(given), ['text']);
    const alone = (await runWith(answerOf(given), [])).run;
    const told = [...run.findings].filter(
      ([probe, { detail }]) => isFirst || usual.run.findings.get(probe)?.detail !== detail,
    );
    const groups = [...Map.groupBy(told, ([, { result, detail }]) => `${result}: ${detail}`)].map(
      ([words, probes]) => ({
        words,
        probes: probes.map(([probe]) => probe).join(' '),
      }),
    );
    const [largest] = groups.toSorted((one, other) => other.probes.length - one.probes.length);
    const follows = [
      ...warnings.map((warning) => `- ${warning}`),
      proposal === null
        ? `no profile: ${run.stopped ?? run.ranOut}`
        : `${proposal.base} ${proposal.differences.map(({ flag, value }) => `${flag}: ${jsonWithPatterns(value)}`).join(', ')}`.trim(),
    ].join('\n');
    const before = toldBefore.get(follows);
    if (before === undefined) toldBefore.set(follows, name);
    const text = alone.findings.get('text');
    sections.push(
      `## To each question: ${name}`,
      `text alone: ${alone.stopped === null ? `${text?.result}: ${text?.detail}` : `stopped: ${alone.stopped}`}`,
      ...groups.map(
        ({ words, probes }) => `${words}\n  ${probes === largest?.probes && !isFirst ? 'all others' : probes}`,
      ),
      before === undefined ? follows : `What follows is as for: ${before}`,
      '',
    );
  }
  await golden.expect('answers.txt', sections.join('\n'));
});

const everyResult: readonly Finding['result'][] = ['works', 'accepted', 'ignored', 'refused', 'broken', 'not_tested'];
const served = 'http://127.0.0.1/v1';

/** The profile for a server at that address of which just this was found: `probe: result {facts}`, one after the other. */
function profileFor(found: string, at = served): string {
  const findings = [...found.matchAll(/(\w+): (\w+)(?: (\{.*?\})(?= |$))?/g)].map(
    ([, name = '', result, facts]) =>
      [name, { result, detail: '', facts: JSON.parse(facts ?? '{}') } as Finding] as const,
  );
  const { base, differences } = proposeProfile(new Map(findings), new URL(`${at}/chat/completions`), 'some-model');
  const flags = differences.map(({ flag, value, from }) => `${flag} ${jsonWithPatterns(value)} by ${from}`);
  return [base, ...flags.filter((text) => !text.startsWith('path '))].join('; ');
}

/** Findings that are evidence only together. */
const together: readonly string[] = [
  ...['works', 'accepted', 'ignored', 'refused'].flatMap((older) =>
    ['works', 'accepted', 'ignored', 'refused'].map((newer) => `max_tokens: ${older} max_completion_tokens: ${newer}`),
  ),
  ...['works', 'accepted', 'ignored', 'refused'].flatMap((short) => [
    `max_tokens: accepted max_tokens_short: ${short} max_completion_tokens: accepted`,
    `max_tokens: accepted max_completion_tokens: accepted max_completion_tokens_short: ${short}`,
    `max_tokens: works max_tokens_short: ${short} max_completion_tokens: works`,
  ]),
  ...['ignored', 'refused', 'not_tested'].flatMap((usage) =>
    ['works', 'accepted', 'ignored', 'refused'].map((stream) => `stream: ${stream} stream_usage: ${usage}`),
  ),
  'stream: works {"cumulative":true}',
  ...['empty', 'ids', 'both', 'signed'].map((form) => `tool_result: refused tool_result_${form}: accepted`),
  'tool_result: accepted tool_result_empty: accepted',
  'calls_without_tools: refused user_after_tool: accepted',
  'calls_without_tools: broken user_after_tool: works',
  'calls_without_tools: accepted user_after_tool: accepted',
  'calls_without_tools: refused user_after_tool: refused',
  'two_users: refused user_after_tool: refused assistant_alone: refused',
  ...['refused', 'broken', 'ignored', 'works'].flatMap((json) =>
    ['refused', 'broken', 'ignored'].map((stream) => `tool_call: ${json} tool_stream: ${stream}`),
  ),
  'tool_call: refused tool_stream: refused tools_no_effort: accepted',
  'tool_call: works tools_no_effort: accepted',
  'tool_call: refused tool_stream: works tools_no_effort: works',
  'tools_no_effort: ignored',
  ...['works', 'refused', 'broken', 'ignored'].flatMap((call) =>
    ['tool_strict', 'parallel_off'].map((probe) => `tool_call: ${call} ${probe}: refused`),
  ),
  'tool_call: refused tool_stream: refused tool_custom: refused tool_required: refused tool_none: refused',
  'tool_custom: refused tool_call: works {"badArguments":true}',
  'tool_custom: refused tool_call: works {"badArguments":true} tool_strict: accepted',
  'tool_custom: refused tool_call: works {"badArguments":true} tool_strict: refused',
  'tool_custom: refused tool_call: works tool_strict: accepted',
  'tool_custom: accepted tool_call: works {"badArguments":true} tool_strict: accepted',
  ...['works', 'ignored', 'refused'].flatMap((call) =>
    ['required', 'any', 'named', 'allowed', 'none'].flatMap((choice) =>
      ['works', 'ignored', 'refused', 'broken'].map((result) => `tool_call: ${call} tool_${choice}: ${result}`),
    ),
  ),
  'tool_required: works tool_named: ignored tool_allowed: refused',
  'tool_required: refused tool_any: works tool_named: works tool_allowed: works',
  'tool_required: refused tool_none: refused',
  'tool_required: broken tool_none: broken tool_named: broken',
  'tool_required: ignored tool_none: refused',
  'models: works {"takesImages":false}',
  'models: works {"takesImages":true}',
  'models: works {"takesImages":false} image: works',
  'models: works {"takesImages":false} image: ignored',
  ...['works', 'ignored', 'refused', 'broken'].flatMap((schema) =>
    ['works', 'ignored', 'refused'].map((object) => `json_schema: ${schema} json_object: ${object}`),
  ),
  'json_schema: works schema_with_tools: ignored',
  'presence_penalty: refused stop: ignored logprobs: works frequency_penalty: ignored',
  // Which effort stands in for which.
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].flatMap((known, _at, efforts) =>
    ['', 'works', 'accepted'].map((none) =>
      efforts
        .map((effort) => {
          const result = effort === known ? 'ignored' : effort === 'none' && none !== '' ? none : 'refused';
          return `effort_${effort}: ${result}`;
        })
        .join(' '),
    ),
  ),
  'effort_none: refused effort_minimal: works effort_low: broken effort_medium: works effort_high: refused',
  ...['none', 'low', 'max'].map((effort) => `effort_${effort}: refused`),
  'reasoning_split: works reasoning_format: works',
  'reasoning_split: ignored reasoning_format: works',
  'reasoning_split: works reasoning: ignored {"tags":"closing"}',
  'reasoning_format: works reasoning: ignored {"tags":"whole"}',
  'text: works {"tags":"closing"}',
  'reasoning: ignored {"tags":"whole"}',
  'reasoning: ignored {"tags":"closing"}',
  'reasoning: works {"reasoningExtra":true}',
  'reasoning_replay: works {"replayRead":["reasoning_content","reasoning"],"replayRefused":[]}',
  'reasoning_replay: works {"replayRead":["reasoning"],"replayRefused":["reasoning_content"]}',
  'reasoning_replay: refused {"replayRead":[],"replayRefused":["reasoning_content"]}',
  'reasoning_replay: refused {"replayRead":[],"replayRefused":["reasoning"]}',
  'reasoning_replay: ignored {"replayRead":[],"replayRefused":[]}',
];

/** The first, and servers whose profiles other findings contradict than `generic`: of these, what differs from the first. */
const hosts: Readonly<Record<string, string>> = {
  'A server that does not say what it is': served,
  Perplexity: 'https://api.perplexity.ai',
  'Z.ai': 'https://api.z.ai/api/paas/v4',
  OpenAI: 'https://api.openai.com/v1',
  Mistral: 'https://api.mistral.ai/v1',
  DeepSeek: 'https://api.deepseek.com',
  MiniMax: 'https://api.minimax.io/v1',
  Databricks: 'https://x.cloud.databricks.com/serving-endpoints',
};

it('what follows for the profile: the flags of a server by what was found of it alone', async () => {
  const singles = allProbes.flatMap(({ name }) => everyResult.map((result) => `${name}: ${result}`));
  const all = [...singles, ...new Set(together)];
  const usual = new Map(all.map((found) => [found, profileFor(found, served)]));
  const sections = Object.entries(hosts).map(([title, at]) => {
    const nothing = profileFor('', at);
    // What the others say too is said once.
    const other = (found: string) => (at === served ? nothing : usual.get(found)?.replace(/^[\w.-]+/, nothing));
    const lines = all.map((found) => [found, profileFor(found, at)] as const);
    const groups = Map.groupBy(
      lines.filter(([found, flags]) => flags !== other(found)),
      ([, flags]) => flags,
    );
    const told = [...groups].flatMap(([flags, group]) => [...group.map(([found]) => found), `  ${flags}`]);
    return [`## ${title}`, ...told, ''].join('\n');
  });
  await golden.expect('flags.txt', sections.join('\n'));
});

it('every golden file is of a case', () => {
  const cases = [...doctorRecordings.map((name) => `recorded-${name}.txt`), ...Object.keys(servers).map(fileOf)];
  expect(golden.names()).toEqual([...cases, 'answers.txt', 'flags.txt', 'requests.txt'].toSorted());
});

function fileOf(name: string): string {
  return `${name.replaceAll(/\W+/g, '-')}.txt`;
}
