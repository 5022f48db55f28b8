/**
 * What `explain` prints, whole, for requests and answers in which as much as possible becomes something else. What a change makes of it
 * is seen in `test/golden/explain`: `npx vitest run test/golden/explained.test.ts -u` writes the files.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { writeShortJson as shortJson } from '../../src/tools/cli/terminal.ts';
import { explain } from '../../src/tools/explain/explain-command.ts';
import { explainRequest } from '../../src/tools/explain/explain-request.ts';
import type { RequestExplanation } from '../../src/tools/explain/explanation.ts';
import { readPath } from '../../src/tools/explain/fields.ts';
import { type ExchangeFile, exchangeFileHead } from '../../src/tools/files/exchange-file.ts';
import { explainSetupOf } from '../support/config-of-settings.ts';
import { createdAt } from '../support/context.ts';
import { explainedRequests } from '../support/explained-requests.ts';
import { goldenTexts } from '../support/golden-text.ts';
import { runSubcommand } from '../support/run-subcommand.ts';

const golden = goldenTexts('explain');
const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-explained-'));
afterAll(() => rmSync(folder, { recursive: true }));

const call = { type: 'function_call', call_id: 'call_1', id: 'fc_1', name: 'shell', arguments: '{"command":["ls"]}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'a.txt\nb.txt' };
const shell = {
  type: 'function',
  name: 'shell',
  description: 'Runs a command',
  strict: false,
  parameters: { type: 'object', properties: { command: { type: 'array', items: { type: 'string' } } } },
};
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
};

/** A turn of an agent that has every kind of item, and most fields. */
const turn = {
  model: 'gpt-5-codex',
  instructions: 'You are an agent.',
  stream: true,
  store: false,
  parallel_tool_calls: false,
  prompt_cache_key: 'thread-1',
  include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
  reasoning: { effort: 'xhigh', summary: 'auto', odd: 1 },
  text: { verbosity: 'low', format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } },
  service_tier: 'flex',
  tool_choice: { type: 'function', name: 'shell' },
  tools: [shell, patch, { type: 'web_search' }, { type: 'local_shell' }, { ...shell, name: 'other', odd: true }],
  max_output_tokens: 900,
  metadata: { session: 's' },
  safety_identifier: 'u1',
  user: 'me',
  temperature: 0.5,
  top_p: 0.9,
  truncation: 'auto',
  top_logprobs: 2,
  stop: ['END'],
  client_metadata: { a: 'b' },
  stream_options: { include_obfuscation: false },
  odd_field: 7,
  input: [
    { type: 'message', role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'first' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look:' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
        { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGVsbG8=' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'I list them.' }],
      encrypted_content: 'xyz',
    },
    call,
    output,
    { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done' },
    {
      type: 'local_shell_call',
      call_id: 'call_3',
      status: 'completed',
      action: { type: 'exec', command: ['pwd'], env: {} },
    },
    { type: 'local_shell_call_output', call_id: 'call_3', output: '/work' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
    { role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'Now.', annotations: [] }] },
    { type: 'unheard_of', text: 'What is this?' },
    { role: 'user', content: 'go', odd: 1 },
    { role: 'user', content: 'on' },
  ],
};

/** A plain conversation: long, so that items are grouped and texts are cut. */
const long = {
  model: 'm',
  instructions: 'word '.repeat(60),
  max_tool_calls: 3,
  input: Array.from({ length: 6 }, (_item, index) => ({
    role: index % 2 ? 'assistant' : 'user',
    content: `Line ${index}`,
  })),
  tools: ['a', 'b', 'c', 'd'].map((name) => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
  })),
  metadata: Object.fromEntries(
    Array.from({ length: 9 }, (_pair, index) => [`a_long_key_${index}`, 'value '.repeat(9)]),
  ),
};

/** Everything that may be refused about one request. */
const refused = {
  model: 5,
  background: true,
  conversation: 'c',
  n: 2,
  include: ['code_interpreter_call.outputs', 7],
  tools: [{ type: 'function', name: 'no spaces' }, { type: 'function', name: 'f', parameters: 7 }, { type: 5 }],
  tool_choice: { type: 'function', name: 'g' },
  temperature: 3,
  input: [
    { role: 'nobody', content: 'x' },
    { type: 'function_call_output', call_id: 'none', output: 'x' },
    {
      role: 'user',
      content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'ogg' } }, { type: 'input_text' }],
    },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: 5 },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'odd' }] },
    { type: 'item_reference', id: 'msg_1' },
  ],
};

const events = (...chunks: readonly (object | string)[]) =>
  chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join('');
const delta = (fields: object, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  model: 'up',
  choices: [{ index: 0, delta: fields, finish_reason }],
  usage: null,
});
const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const streamed = events(
  delta({ role: 'assistant', reasoning_content: 'Hm.' }),
  delta({ content: 'Hel' }),
  delta({ content: 'lo\u202e, '.repeat(30) }),
  delta({ tool_calls: [{ index: 0, id: 'call_9', function: { name: 'shell', arguments: '{"command"' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: ':[]}' } }] }),
  delta({}, 'tool_calls'),
  { id: 'chatcmpl-1', model: 'up', choices: [], usage },
  '[DONE]',
);
const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'up',
  choices: [
    { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello', reasoning_content: 'Hm.' } },
  ],
  usage,
};
const json = [{ name: 'content-type', value: 'application/json' }];
const exchange = (changes: Partial<ExchangeFile>): ExchangeFile => ({
  ...exchangeFileHead,
  profile: 'vllm',
  started_at: '2026-11-22T11:00:00.900Z',
  client_request: {
    method: 'POST',
    path: '/v1/responses',
    headers: [
      ...json,
      { name: ':authority', value: 'host' },
      { name: 'Authorization', value: 'Bearer sk-secret-1234567' },
      { name: 'x-request-id', value: 'r-1' },
      { name: 'x-client', value: 'c' },
      { name: 'x-twice', value: 'one' },
      { name: 'X-Twice', value: 'two' },
    ],
    body: JSON.stringify({ model: 'm', input: 'say sk-secret-1234567', stream: true, tools: [shell] }),
  },
  chat_request: null,
  chat_response: null,
  client_response: null,
  dropped: [],
  outcome: 'completed',
  error: null,
  ...changes,
});
const answer = (status: number, type: string, ...pieces: readonly (readonly [number, string])[]) => ({
  status,
  headers: [{ name: 'content-type', value: type }],
  pieces: pieces.map(([at_ms, text]) => ({ at_ms, text })),
});
const cutAt = streamed.indexOf('Hel') + 90;
const zipped = gzipSync(JSON.stringify(completion), { level: 0 });

/** What is asked by name: the arguments, of which an object stands for a file that has it; the variables; and what is piped in. */
interface Asked {
  readonly args?: readonly (string | object)[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: unknown;
}
const asked: Readonly<Record<string, Asked>> = {
  'a turn of an agent': { input: turn },
  'a turn of an agent for openai, whole': { input: turn, args: ['--profile', 'openai', '--full'] },
  'a turn of an agent for vllm': { input: turn, args: ['--profile', 'vllm'] },
  'a small request, as JSON': {
    input: { model: 'm', input: 'Hi', text: { verbosity: 'low' }, max_output_tokens: 99, user: null },
    args: ['--profile', 'vllm', '--json'],
  },
  'a turn of an agent for deepseek': { input: turn, args: ['-p', 'deepseek', '-m', 'deepseek-reasoner'] },
  'a turn of an agent for mistral': { input: turn, args: ['-p', 'mistral', '-m', 'magistral'] },
  'fields of a turn': {
    input: turn,
    args: ['--field', 'input[2].content[1].detail', '--field', 'text', '--field', 'none', '--field', 'input[4].name'],
  },
  'a turn under other settings': {
    input: turn,
    env: { SESSION_HEADER: 'x-session', UNKNOWN_FIELDS: 'ignore', STRICT_ECHO: 'true', UPSTREAM_PROFILE: 'ollama' },
  },
  'a long conversation': { input: long },
  'a conversation that an assistant begins': {
    input: { model: 'm', input: ['a', 'b', 'c'].map((content) => ({ role: 'assistant', content })) },
  },
  'an answer in colours': {
    env: { FORCE_COLOR: '1' },
    input: { model: 'm', input: 'Hi', stream: true },
    args: ['-r', events(delta({ content: 'Hi' }), delta({}, 'stop'), '[DONE]')],
  },
  'a long conversation in colours': { input: long, env: { FORCE_COLOR: '1' } },
  'a request with every mistake': { input: refused },
  'a request with every mistake, as JSON': { input: refused, args: ['--json'] },
  'a request that is refused for its fields': {
    input: { model: 'm', input: 'Hi', odd: 1, moderation: { model: 'm' }, previous_response_id: 'r' },
    env: { UNKNOWN_FIELDS: 'reject' },
  },
  'a request for something else': { input: { model: 'm', input: 'x' }, args: ['--path', '/v1/embeddings'] },
  'the catalog': { args: ['--path', '/v1/models?client_version=1'] },
  'a request of megabytes': { input: { model: 'm', input: `Hi${'!'.repeat(2_600_000)}` } },
  'a profile of an operator': {
    input: { model: 'm', input: [{ role: 'assistant', content: 'x' }] },
    args: [
      ...['-p', 'mine', '--profiles-file'],
      'profiles:\n  mine:\n    extends: generic\n    needsUser: true\n    defaults: { stop: ["a long list of words", "that does not fit", "on a line of a terminal", "or of a pipe, which has more room", "than it needs"] }\n',
    ],
  },
  'a request that warms a cache': { input: { model: 'm', input: 'Hi', generate: false } },
  'a request to compact': { input: { model: 'm', input: [call, output] }, args: ['--path', '/v1/responses/compact'] },
  'a request with its path and headers': {
    input: {
      path: '/openai/v1/responses?api-version=1',
      headers: { 'x-forwarded-for': '10.0.0.1', cookie: 'a=b', 'user-agent': 'x'.repeat(150), 'x-n': 7 },
      body: { model: 'm', input: 'Hi' },
    },
  },
  'an exchange with its answer as events': {
    args: [
      exchange({
        chat_response: answer(200, 'text/event-stream', [12.34, streamed.slice(0, cutAt)], [56, streamed.slice(cutAt)]),
      }),
    ],
  },
  'an exchange with its answer as events, as JSON': {
    args: [
      '--json',
      exchange({ chat_response: answer(200, 'text/event-stream', [1, events(delta({ content: 'Hi' }))]) }),
    ],
  },
  'an exchange whose answer breaks off': {
    args: ['--full', exchange({ chat_response: answer(200, 'text/event-stream', [1, streamed.slice(0, cutAt)]) })],
  },
  'an exchange whose answer is an error': {
    args: [exchange({ chat_response: answer(429, 'application/json', [1, '{"error":{"message":"slow "}}']) })],
  },
  'an exchange whose answer is compressed': {
    args: [
      exchange({
        client_request: { method: 'POST', path: '/v1/responses', headers: json, body: '{"model":"m","input":"x"}' },
        chat_response: {
          status: 200,
          headers: [...json, { name: 'content-encoding', value: 'gzip' }],
          pieces: [zipped.subarray(0, 20), zipped.subarray(20)].map((bytes, index) => ({
            at_ms: index,
            base64: bytes.toString('base64'),
          })),
        },
      }),
    ],
  },
  'an answer in JSON': { input: { model: 'm', input: 'Hi' }, args: ['--response', completion] },
  'an answer in JSON, as JSON': { input: { model: 'm', input: 'Hi' }, args: ['--json', '--response', completion] },
  'an answer in lines': {
    input: { model: 'm', input: 'Hi', stream: true },
    args: [
      '-r',
      [delta({ content: 'Hel' }), delta({ content: 'lo' }, 'stop')].map((one) => `${JSON.stringify(one)}\n`).join(''),
    ],
  },
  'an answer with another status': {
    input: { model: 'm', input: 'Hi' },
    args: ['--status', '503', '-r', 'overloaded'],
  },
  'an error inside events': {
    input: { model: 'm', input: 'Hi', stream: true },
    args: ['-r', events(delta({ content: 'Hel' }), { error: { message: 'gone', code: 500 } }), '--full'],
  },
};

/** What is small, in one file: usage that is wrong, inputs that are not whole, and what brings its own request or its own path. */
const saved = exchange({ chat_response: answer(200, 'application/json', [1, JSON.stringify(completion)]) });
const small = { model: 'm', input: 'Hi' };
const short: readonly Asked[] = [
  ...[
    ['a', 'b'],
    ['--status', '199'],
    ['--status', '600'],
    ['--status', '200.5'],
    ['--path', 'v1'],
    ['--field', 'a['],
    ['--odd'],
  ].map((args) => ({ args })),
  { args: ['no-such-file'] },
  { args: ['-r', 'no-such-file', '-'] },
  { args: ['--profile', 'no-such-profile'], input: small },
  { env: { MAX_REQUEST_BYTES: 'x\u001b' }, input: small },
  { args: [{ ...saved, version: 2, profile: 7 }] },
  { args: ['--response', exchange({})], input: small },
  { args: ['--response', { ...saved, outcome: 7 }], input: small },
  // The exchange of the answer brings the request, unless there is another one.
  { args: ['--response', saved] },
  { args: ['--response', saved, '-'], input: small },
  { args: ['--response', completion, '--status', '599'], input: small },
  { args: ['--response', completion], input: { model: 'm' } },
  { args: ['--response', completion, '--path', '/v1/embeddings'], input: small },
  {
    args: [
      '--response',
      { object: 'list', data: [{ id: 'm', object: 'model' }] },
      '--path',
      '/v1/models?client_version=1',
    ],
  },
  { args: ['--model', 'other'], input: small },
  { args: ['--model', 'other'], input: '{' },
  // The path belongs to the profile of the configuration.
  ...[[], ['--profile', 'vllm'], ['--profile', 'groq']].map((args) => ({
    ...{ args, input: small, env: { UPSTREAM_PROFILE: 'vllm', UPSTREAM_PATH: '/of/it' } },
  })),
  { input: small, env: { UPSTREAM_PROFILES_FILE: 'no-such-file' } },
  { args: ['--profiles-file', 'no-such-file'], input: small, env: { UPSTREAM_PROFILES_FILE: 'another' } },
];

it('explain answers to short commands', async () => {
  const outputs: string[] = [];
  for (const one of short) outputs.push(await outputOf(one));
  const text = outputs.join('\n').replaceAll(/\nHeaders of[\s\S]*?(?=\nThe answer|\nexit code)/g, '…');
  // What Node says, and the profiles that there are.
  const steady = text.replaceAll(/(not valid JSON: |be one of generic)[\s\S]*?(?=Send|, or)/g, '$1… ');
  await golden.expect('short-commands.txt', steady);
});

function fileWith(content: unknown, name: string): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

it.each(Object.entries(asked))('explain prints of %s what stands in the golden file', async (name, one) => {
  await golden.expect(fileOf(name), await outputOf(one));
});

async function outputOf({ args = [], env = {}, input }: Asked): Promise<string> {
  // An object is a file, and so is a text of answers.
  const isContent = (arg: string | object) => typeof arg === 'object' || /[\n{]|^overloaded$/.test(arg);
  const given = args.map((arg, index) => (isContent(arg) ? fileWith(arg, `${index}.json`) : String(arg)));
  const piped = input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input);
  const { code, out, err } = await runSubcommand(explain, given, { env, input: piped });
  const shown = args.map((arg) => (isContent(arg) ? 'FILE' : arg)).join(' ');
  const set = Object.entries(env).map(([variable, value]) => `${variable}=${value} `);
  // The time of an answer is when it is replayed, but for a saved exchange.
  const steady = out.replaceAll(/"(created_at|completed_at)": ?\d{10}/g, '"$1": …');
  const text = `$ ${set.join('')}explain ${shown}\n${err}${steady}exit code ${code}\n`;
  return text.replaceAll('\u001b', '␛').replaceAll(folder, 'FOLDER');
}

/** What became of a request, a line for each field. */
function fatesIn({ outcome, fields, dropped, added, refusals }: RequestExplanation): string[] {
  const placed = (places: readonly { readonly path: string; readonly value: unknown }[]) =>
    places.map(({ path, value }) => `${path} = ${shortJson(value, 60)}`).join(', ');
  const because = (causes: readonly { readonly name: string }[]) =>
    causes.length === 0 ? '' : ` | because of ${causes.map(({ name }) => name).join(', ')}`;
  const about = (link: string) => ` | ${link.replace(/^.*#row-/, '')}`;
  const isSame = (field: string, one: RequestExplanation['fields'][number]) =>
    one.fate === 'sent' && one.dropped.length === 0 && one.becomes.length === 1 && one.becomes[0]?.path === field;
  return [
    ...(outcome === 'sent' ? [] : [outcome]),
    ...fields
      .filter((field) => !isSame(field.field, field))
      .map(({ field, fate, becomes, in_response: shown, dropped: lost, causes, link }) =>
        [
          `${field} ${fate.replace('_', ' ')}${becomes.length === 0 ? '' : `: ${placed(becomes)}`}`,
          shown.length === 0 ? '' : ` | Response: ${shown.join(', ')}`,
          lost.length === 0 ? '' : ` | without ${lost.join(', ')}`,
          because(causes),
          about(link),
        ].join(''),
      ),
    ...dropped.map(({ name, causes, link }) => `dropped ${name}${because(causes)}${about(link)}`),
    ...added.map(({ causes, ...place }) => `added ${placed([place])}${because(causes)}`),
    ...refusals.map(
      ({ error, causes, link }) => `refused ${error.param} ${error.code}${because(causes)}${about(link)}`,
    ),
  ];
}

it('what becomes of the fields of many requests', async () => {
  const sections = Object.entries(explainedRequests).map(([name, { body, settings = {}, fields }]) => {
    const whole = { model: 'm', input: 'Hi', ...body };
    const headers = new Map([['content-type', 'application/json']]);
    const request = { method: 'POST', path: '/v1/responses', headers, body: Buffer.from(JSON.stringify(whole)) };
    const named = (fields ?? Object.keys(body)).map((field) => readPath(field) ?? []);
    const of = (paths: typeof named | null) =>
      explainRequest({ setup: explainSetupOf(settings), request, now: createdAt, fields: paths, linkBase: '' });
    const lines = fatesIn(of(fields === undefined ? null : named));
    return [`## ${name}`, ...lines, ''].join('\n');
  });
  await golden.expect('fates.txt', sections.join('\n'));
});

it('every golden file is of a case', () => {
  expect(golden.names()).toEqual([...Object.keys(asked).map(fileOf), 'fates.txt', 'short-commands.txt'].toSorted());
});

function fileOf(name: string): string {
  return `${name.replaceAll(/\W+/g, '-')}.txt`;
}
