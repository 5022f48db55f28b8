/**
 * The reports of `doctor` on servers of every kind, whole, and all that it sends them. What a change of the probes, of their words or of
 * what follows from them makes of a report is seen in `test/golden/doctor`: `npx vitest run test/golden/doctor.test.ts -u` writes them.
 */
import { expect, it } from 'vitest';
import { jsonWithPatterns } from '../../src/formats/json/loose.ts';
import { createPlainStyle, createStyle } from '../../src/tools/cli/terminal.ts';
import { diagnose } from '../../src/tools/doctor/doctor-command.ts';
import type { Answer, Finding } from '../../src/tools/doctor/findings.ts';
import { allProbes } from '../../src/tools/doctor/probes/all-probes.ts';
import { findNamedEngine } from '../../src/tools/doctor/probes/server-probes.ts';
import { proposeProfile } from '../../src/tools/doctor/proposal.ts';
import { type Report, writeJsonReport, writeTextReport } from '../../src/tools/doctor/report.ts';
import { answersOfAllKinds, call, json, plainAnswer, said } from '../support/doctor-answers.ts';
import { doctorRecordings, replayDoctor } from '../support/doctor-recordings.ts';
import { goldenTexts } from '../support/golden-text.ts';
import { type Behaviour, type ProbedBody, type ProbedServer, startProbedServer } from '../support/probed-server.ts';
import { runDoctor } from '../support/run-doctor.ts';

const golden = goldenTexts('doctor');

const key = 'sk-not-the-wrong-one';
const roles = ({ messages }: ProbedBody) => messages.map(({ role }) => role);
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
it.each(doctorRecordings)('the report on the recorded answers of %s', async (name) => {
  await golden.expect(`recorded-${name}.txt`, writeTextReport(await replayDoctor(name), createPlainStyle(120)));
});

it('a report in colours on a narrow terminal; a wide one has lines of 140', async () => {
  const report = await replayDoctor('vllm-wrong-parser');
  const at = (columns: number) => createStyle({ env: { FORCE_COLOR: '1' }, stdout: { columns } as NodeJS.WriteStream });
  await golden.expect('narrow-in-colours.txt', writeTextReport(report, at(60)).replaceAll('\u001b', '␛'));
  expect(writeTextReport(report, at(200))).toBe(writeTextReport(report, at(140)));
  expect(writeTextReport(report, at(139))).not.toBe(writeTextReport(report, at(140)));
});

it('the report for programs', async () => {
  await golden.expect('recorded-llama.cpp-as-json.txt', writeJsonReport(await replayDoctor('llama.cpp')));
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

/** A run that gets these answers, in this process. */
function runAs(answerTo: (path: string, probe: string, index: number) => Answer) {
  const limits = { requests: 100, tokensPerRequest: 512, tokens: 100_000, seconds: 900 };
  const chatUrl = new URL('http://127.0.0.1/v1/chat/completions');
  return diagnose(
    { chatUrl, model: 'some-model', key: 'sk-1', limits },
    ({ path }, { probe, index }) => Promise.resolve(answerTo(path, probe, index)),
    { onProgress: () => {}, goOn: () => Promise.resolve(true) },
  );
}

const hello = said({ content: 'hello' });
const notThere: Answer = { ...plainAnswer, status: 404 };

/** A run in which each question to the model gets this answer, and nothing else is there; the plain question may go well. */
function runWith(answer: Answer, goesWell: boolean) {
  return runAs((path, probe) => (path !== 'chat' ? notThere : goesWell && probe === 'text' ? hello : answer));
}

/** What a run led to, in lines. */
function conclusions({ run, warnings, proposal }: Report): string {
  const flags = proposal?.differences.map(({ flag, value }) => `${flag}: ${jsonWithPatterns(value)}`) ?? [];
  const profile = proposal === null ? `no profile: ${run.stopped}` : [proposal.base, ...flags].join(', ');
  return [...warnings.map((warning) => `- ${warning}`), profile].join('\n');
}

const wordsOf = ({ result, detail }: Finding) => `${result}: ${detail}`;

it('what follows from an answer: what every probe makes of each kind, where that is not as for the first', async () => {
  const usual = await runWith(hello, true);
  const toldBefore = new Map<string, string>();
  const sections: string[] = [];
  for (const [name, answer] of [['“hello”', hello] as const, ...Object.entries(answersOfAllKinds)]) {
    const isFirst = sections.length === 0;
    const report = await runWith(answer, true);
    const alone = (await runWith(answer, false)).run;
    const usualWords = (probe: string) => wordsOf(usual.run.findings.get(probe) as Finding);
    const told = [...report.run.findings].filter(([probe, found]) => isFirst || usualWords(probe) !== wordsOf(found));
    const groups = [...Map.groupBy(told, ([, found]) => wordsOf(found))].map(([words, probes]) => ({
      words,
      count: probes.length,
      probes: probes.map(([probe]) => probe).join(' '),
    }));
    const [largest] = groups.toSorted((one, other) => other.probes.length - one.probes.length);
    const follows = conclusions(report);
    const before = toldBefore.get(follows);
    if (before === undefined) toldBefore.set(follows, name);
    const text = alone.findings.get('text') as Finding;
    sections.push(
      `## To each question: ${name}`,
      `text alone: ${alone.stopped === null ? wordsOf(text) : `stopped: ${alone.stopped}`}`,
      ...groups.map(
        ({ words, probes, count }) =>
          `${words}\n  ${count > 8 && probes === largest?.probes && !isFirst ? `all ${count} others` : probes}`,
      ),
      before === undefined ? follows : `What follows is as for: ${before}`,
      '',
    );
  }
  await golden.expect('answers.txt', sections.join('\n'));
});

const listed = (row: object, more: Partial<Answer> = {}) => json({ data: [{ id: 'some-model', ...row }] }, more);
const counted = (prompt: number) =>
  said({ content: 'hello' }, {}, { prompt_tokens: prompt, completion_tokens: 1, total_tokens: prompt + 1 });
const overflown = json({ error: { message: 'This model’s maximum context length is 64 tokens.' } }, { status: 400 });
const cutOff: Answer = { ...plainAnswer, outcome: 'aborted' };
const running = (count: string): Answer => ({
  ...plainAnswer,
  body: `# x\nvllm:num_requests_running{a="b"} ${count}\n`,
});
const slots = { '/props': json({ default_generation_settings: {} }), '/slots': json([]) };
const window64 = { '/v1/models': listed({ max_model_len: 64 }) };

/** What servers say of themselves, by path, and what they answer to a probe, one or one after the other; `hello` to all others. */
const told: Readonly<Record<string, Readonly<Record<string, Answer | readonly Answer[]>>>> = {
  'nothing, as nobody answers at any path': {
    '/v1/models': { ...plainAnswer, outcome: 'timed_out', status: 0, reason: 'no complete answer within 5 s' },
    software: Array.from({ length: 5 }, () => ({
      ...plainAnswer,
      outcome: 'unreachable',
      status: 0,
      reason: 'ECONNRESET',
    })),
  },
  'that the key may not see its models': { '/v1/models': { ...plainAnswer, status: 403, keepAlive: 'timeout=7' } },
  'that the key may see nothing but the model': {
    '/v1/models': { ...plainAnswer, status: 401 },
    ...Object.fromEntries(['/props', '/slots'].map((path) => [path, { ...plainAnswer, status: 403 }])),
  },
  'that its list is broken': { '/v1/models': json({ error: {} }, { status: 500, keepAlive: 'timeout=65, max=100' }) },
  'a list that is no list': { '/v1/models': json({ data: { id: 'some-model' } }) },
  'a list of nothing': { '/v1/models': json({ data: [] }) },
  'a list without the model': {
    '/v1/models': json({ data: ['x', { id: 7 }, { id: '' }, { id: 'other', owned_by: 'sglang' }] }),
  },
  'its model with a tag': {
    '/v1/models': json({
      data: [
        { id: 'a', owned_by: 'vllm' },
        { id: 'some-model:latest', owned_by: 'sglang' },
      ],
    }),
  },
  'two models of a name, and the exact one counts': {
    '/v1/models': json({ data: [{ id: 'some-model:latest' }, { id: 'some-model', max_model_len: 50_000 }] }),
  },
  'that it is vLLM': { '/v1/models': listed({ owned_by: 'vllm', max_model_len: 32_000 }) },
  'that it is SGLang, with a small window': { '/v1/models': listed({ owned_by: 'sglang', max_model_len: 31_999 }) },
  'that it is llama.cpp': { '/v1/models': listed({ owned_by: 'llamacpp', meta: { n_ctx_train: 4096 } }) },
  'that its model does not see': { '/v1/models': listed({ architecture: { input_modalities: ['text'] } }) },
  'that it is agentic-api': {
    '/v1/conversations/conv_1': json(
      { error: { message: "storage error: not found: Conversation with id 'conv_1'" } },
      { status: 404 },
    ),
  },
  'that its model sees': { '/v1/models': listed({ architecture: { input_modalities: ['text', 'image'] } }) },
  'that it is GPUStack in front of nothing known': { '/v1/models': listed({ owned_by: 'gpustack' }) },
  'that it closes what is idle, without a number': { '/v1/models': listed({}, { keepAlive: 'max=5' }) },
  'the properties of llama.cpp': {
    '/props': json({ build_info: 'b1', default_generation_settings: { n_ctx: 9000 }, modalities: { vision: true } }),
    '/slots': json([]),
    '/version': json({ version: '1.2' }),
  },
  'properties without a window': {
    '/props': json({ default_generation_settings: { n_ctx: 'x' }, modalities: { vision: 'yes' } }),
  },
  'properties of something else': { '/props': json({ build_info: 'b1' }), '/slots': json({}) },
  'properties with an error': { '/props': json({ default_generation_settings: { n_ctx: 5 } }, { status: 500 }) },
  'a version of nothing': { '/api/version': json({ version: '' }), '/version': json({ version: 7 }) },
  'a version alone': { '/version': json({ version: '0.9.2' }) },
  'metrics of something else': { '/metrics': { ...plainAnswer, body: 'requests 1' } },
  'an answer of LiteLLM with another status': { '/health/liveliness': json("I'm alive!", { status: 201 }) },
  'an answer that is not LiteLLM’s': { '/health/liveliness': json('ok') },
  'an answer of agentic-api with another status': {
    '/v1/conversations/conv_1': json('storage error: not found: Conversation with id'),
  },
  'that no conversation is there': { '/v1/conversations/conv_1': json('no such path', { status: 404 }) },
  ...Object.fromEntries(
    Object.entries({
      'a window from its file': json({
        parameters: 'stop "x"\nnum_ctx    2048 \n',
        model_info: { 'a.context_length': 5 },
      }),
      'a window in another line': json({
        parameters: 'a num_ctx 2048',
        model_info: { 'a.context_length': 4096, x: 1 },
      }),
      'a window without a number': json({ parameters: 'num_ctx 1234567890', model_info: { 'a.context_length': 'x' } }),
      'nothing of its model': json([]),
      'an error': { ...plainAnswer, status: 404 },
      'an error without an answer': { ...plainAnswer, outcome: 'timed_out' as const, status: 0, reason: 'too late' },
    }).map(([name, shown]) => [`Ollama and ${name}`, { '/api/version': json({ version: '0.9' }), '/api/show': shown }]),
  ),
  'a window that is just small enough to be overflown': {
    '/v1/models': listed({ max_model_len: 9032 }),
    overflow: overflown,
  },
  'a window that is too large to be overflown': { '/v1/models': listed({ max_model_len: 9033 }), overflow: overflown },
  'a window, and cuts the prompt to it': { ...window64, overflow: counted(64) },
  'a window, and takes more': { ...window64, overflow: counted(65) },
  'a window, and counts nothing': { ...window64, overflow: hello },
  'a window, and refuses in unknown words': {
    ...window64,
    overflow: json({ error: { message: 'Too long.' } }, { status: 413 }),
  },
  'a window, and the words of a refusal in a 200': { ...window64, overflow: { ...overflown, status: 200 } },
  'a window, and breaks down': { ...window64, overflow: { ...overflown, status: 500 } },
  'nothing, and cannot be cancelled': { cancel: [hello, hello] },
  'nothing, and the cancelled answer was an error': {
    cancel: [{ ...plainAnswer, status: 400, body: '{"error":"no"}' }, hello],
  },
  'nothing, and the cancelled question timed out': {
    cancel: [{ ...plainAnswer, outcome: 'timed_out', status: 0, reason: 'no complete answer within 9 s' }, hello],
  },
  'nothing, and no answer was seen before the cut': { cancel: [cutOff, hello] },
  'nothing, and the next question is refused': {
    cancel: [cutOff, { ...plainAnswer, status: 400, body: '{"error":"no"}' }],
  },
  ...Object.fromEntries(
    Object.entries({
      'is free at once': [running('0'), running('0.0')],
      'is free a second later': [running('1.0'), running('0')],
      'stays busy': [running('0'), running('2')],
      'says nothing of it': [notThere, notThere],
    }).map(([name, looks]) => [
      `metrics, and ${name}`,
      { '/metrics': running('0'), cancel: [cutOff, ...looks, { ...hello, milliseconds: 1650 }] },
    ]),
  ),
  'slots, one of them busy': {
    ...slots,
    cancel: [
      cutOff,
      json([{ is_processing: false }]),
      json([{ is_processing: false }, { is_processing: true }]),
      hello,
    ],
  },
  'slots, none of them busy': {
    ...slots,
    cancel: [cutOff, json([{ is_processing: true }]), json([{ is_processing: 1 }, {}]), hello],
  },
  'that all parallel calls come': {
    tool_parallel: said({ content: '', tool_calls: [call('get_weather', '{}', 'a'), call('get_weather', '{}', 'b')] }),
    parallel_off: said({ content: '', tool_calls: [call('get_weather', '{}', 'a')] }),
  },
  'that one call comes of two': {
    tool_parallel: said({ content: '', tool_calls: [call('get_weather', '{}', 'a')] }),
    parallel_off: said({ content: '', tool_calls: [call('get_weather', '{}', 'a')] }),
  },
  'that it reasons, and without an effort not': { reasoning: said({ content: 'x', reasoning: 'Hm.' }) },
  'that it reasons, and without an effort says nothing': {
    reasoning: said({ content: 'x', reasoning: 'Hm.' }),
    effort_none: said({ content: ' ' }),
  },
  ...Object.fromEntries(
    Object.entries({
      'the first field': [counted(20), counted(21), counted(20)],
      'both fields': [counted(20), counted(25), counted(25)],
      'the second field, and refuses the first': [counted(20), notThere, counted(30)],
      'none, and refuses both': [counted(20), notThere, notThere],
      'none, and counts nothing': [hello, counted(21), counted(22)],
      none: [counted(20), counted(20), counted(19)],
    }).map(([name, replay]) => [`that it reads back ${name}`, { reasoning_replay: replay }]),
  ),
};

it('what servers tell of themselves, and how they bear their limits', async () => {
  const silent = await runAs((path) => (path === 'chat' ? hello : notThere));
  const sections: string[] = [];
  for (const [name, answers] of Object.entries(told)) {
    const report = await runAs((path, probe, index) => {
      const own = answers[probe] ?? answers[path === 'models' ? '/v1/models' : path];
      if (own === undefined) return path === 'chat' ? hello : notThere;
      return Array.isArray(own) ? own[index] : own;
    });
    const usual = (probe: string) => wordsOf(silent.run.findings.get(probe) as Finding);
    const found = [...report.run.findings].filter(([probe, finding]) => usual(probe) !== wordsOf(finding));
    const usualLines = conclusions(silent).split('\n');
    sections.push(
      `## A server tells ${name}`,
      ...found.map(([probe, finding]) => `${probe} ${wordsOf(finding)}`),
      ...conclusions(report)
        .split('\n')
        .filter((line) => !usualLines.includes(line)),
      '',
    );
  }
  await golden.expect('servers.txt', sections.join('\n'));
});

it.each([
  [
    'its list',
    { models: listed({ owned_by: 'sglang' }), '/props': json({ default_generation_settings: {} }) },
    'sglang',
    [],
  ],
  ['the first path of its own', { '/props': json({ default_generation_settings: {} }) }, 'llama.cpp', ['/props']],
  ['a later path', { '/api/version': json({ version: '1' }) }, 'ollama', ['/props', '/api/version']],
  ['metrics', { '/metrics': running('0') }, 'vllm', ['/props', '/api/version', '/metrics']],
  [
    'nothing',
    { '/props': json({ default_generation_settings: {} }, { status: 500 }) },
    null,
    ['/props', '/api/version', '/metrics'],
  ],
] as const)('an engine is named by %s', async (_name, answers: Readonly<Record<string, Answer>>, engine, paths) => {
  const asked: string[] = [];
  const found = await findNamedEngine(answers['models'] ?? listed({}), async (path) => {
    asked.push(path);
    return answers[path] ?? notThere;
  });
  expect([found, asked]).toEqual([engine, paths]);
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
  MiniMax: 'https://api.minimax.io/v1',
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
  expect(golden.names()).toEqual(
    [
      ...cases,
      'answers.txt',
      'flags.txt',
      'requests.txt',
      'servers.txt',
      'recorded-llama.cpp-as-json.txt',
      'narrow-in-colours.txt',
    ].toSorted(),
  );
});

function fileOf(name: string): string {
  return `${name.replaceAll(/\W+/g, '-')}.txt`;
}
