import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { readFrozen } from '../../scripts/generate/public-names.ts';
import { type ExplanationFile, explain as explainCommand } from '../../src/tools/explain/explain-command.ts';
import { decodeRecorded, type ExchangeFile, exchangeFileHead } from '../../src/tools/files/exchange-file.ts';
import { connectExtProc } from '../support/extproc-client.ts';
import { unpromised } from '../support/promised-types.ts';
import { loadDetail } from '../support/recorded-exchange.ts';
import { runSubcommand } from '../support/run-subcommand.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { serviceMain } from '../support/service-main.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { eventsOf } from '../support/stream-lines.ts';

const root = join(import.meta.dirname, '../..');
const { main, environment } = serviceMain;
const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-explain-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface How {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** `explain` as a person runs it: a process of its own, with files, pipes and terminals. */
function explainProcess(args: readonly string[], { input = '', env = {} }: How = {}) {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const clean = { PATH, NODE_COMPILE_CACHE, ...environment, ...env };
  return spawnSync(process.execPath, [main, 'explain', ...args], { input, env: clean, encoding: 'utf8', cwd: folder });
}

/** The same in a pseudo-terminal of that many columns; many have 0 until somebody sets a size. */
function explainInTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}, columns = 0) {
  const program = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)';
  const sized = ['sh', '-c', `stty cols ${columns} && exec "$@"`, 'sh', process.execPath, main, 'explain', ...args];
  return spawnSync('python3', ['-c', program, ...sized], {
    encoding: 'utf8',
    env: { ...process.env, ...environment, NO_COLOR: '', FORCE_COLOR: '', ...env },
  });
}

/** The command in this process, for what does not depend on a process: most of a run's time is its start. */
async function explain(args: readonly string[], how?: How) {
  const { code, out, err } = await runSubcommand(explainCommand, args, how);
  return { status: code, stdout: out, stderr: err };
}

/** The machine form. */
async function explained(args: readonly string[], how?: How): Promise<ExplanationFile> {
  const { stdout, stderr } = await explain([...args, '--json'], how);
  expect(stderr).toBe('');
  const machine = JSON.parse(stdout);
  expect(Object.keys(machine)).toEqual(Object.keys(readFrozen()['explain'] ?? {}));
  expect(unpromised('explain', machine)).toEqual([]);
  return machine;
}

function fileOf(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const request = { model: 'm', input: 'Hi', stream: true, text: { verbosity: 'low' }, max_output_tokens: 50 };
const requestText = JSON.stringify(request);
const refusedText = JSON.stringify({ model: 'm', input: 'Hi', background: true });
const escapeCode = '\x1b';

function chunk(delta: object, finish_reason: string | null = null): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
}
const sse = [
  chunk({ role: 'assistant', content: 'Hel' }),
  chunk({ content: 'lo' }),
  chunk({}, 'stop'),
  'data: [DONE]\n\n',
];

it('prints no credential of the request, wherever it comes again', async () => {
  const secret = 'sk-1234567890';
  const body = { ...request, instructions: `use ${secret}`, metadata: { api_key: 'key-7654321', user: 'u' } };
  const recorded = { path: '/v1/responses?key=q-12345678', headers: { authorization: `Bearer ${secret}` }, body };
  const file = fileOf('credentials.json', JSON.stringify(recorded));
  for (const args of [[file], [file, '--full'], [file, '--json']]) {
    const { stdout } = await explain(args, { env: { STORE: 'ignore' } });
    expect(stdout).toContain('use [redacted]');
    for (const one of [secret, 'key-7654321', 'q-12345678']) expect(stdout).not.toContain(one);
  }
});

it('prints nothing of a file that a terminal acts upon: escapes, controls, marks that turn the direction', async () => {
  const active = '\x1b[2J\x1b]0;t\x07\x9b31m\x7f\u202e\u2066\r\b';
  const evil = `a${active}b`;
  const headers = [{ name: `x-${evil}`, value: evil }];
  const piece = { at_ms: 1, text: `${chunk({ content: evil, [evil]: evil })}data: ${evil}\n\n` };
  const answer = {
    status: 200,
    headers: [{ name: 'content-type', value: 'text/event-stream' }, ...headers],
    pieces: [piece],
  };
  const body = { ...request, model: evil, instructions: evil, [evil]: evil, metadata: { [evil]: evil } };
  const file = {
    ...{
      ...exchangeFileHead,
      profile: 'generic',
      started_at: '2026-11-22T00:00:00Z',
      outcome: evil,
      error: { [evil]: evil },
    },
    client_request: { method: evil, path: `/v1/responses?${evil}`, headers, body: JSON.stringify(body) },
    ...{ chat_request: null, chat_response: answer, client_response: answer, dropped: [evil] },
  };
  const files = [
    ...[file, { ...file, client_request: { ...file.client_request, method: 'POST' } }],
    ...[
      { ...file, profile: evil },
      { ...file, [evil]: 1, started_at: evil },
      { ...file, client_request: { [evil]: 1 } },
    ],
    ...[{ ...file, client_request: { ...file.client_request, method: 'POST', body: requestText } }],
  ];
  for (const [index, content] of files.entries()) {
    const name = fileOf(`active-${index}.json`, JSON.stringify(content));
    for (const args of [[name], [name, '--full'], [name, '--json'], ['--response', name]]) {
      const { stdout, stderr } = await explain(args);
      expect(stdout + stderr).not.toBe('');
      expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
    }
  }
});

describe('a request', () => {
  it('is read from standard input, from - and from a file, with the same result', async () => {
    const fromStdin = explainProcess([], { input: requestText });
    expect(fromStdin.stdout).toContain('POST /v1/responses → POST /v1/chat/completions');
    expect(fromStdin.stdout).toContain('docs/mapping.md#row-text-verbosity');
    expect(fromStdin.stdout).not.toContain(escapeCode);
    expect(fromStdin).toMatchObject({ status: 0, stderr: '' });
    expect(explainProcess(['-'], { input: requestText }).stdout).toBe(fromStdin.stdout);
    expect((await explain([fileOf('request.json', requestText)])).stdout).toBe(fromStdin.stdout);
  });

  it('has a machine form', async () => {
    const explanation = await explained([], { input: requestText });
    expect(explanation).toMatchObject({
      format: 'responses-extproc explanation',
      version: 1,
      profile: 'generic',
      model: 'm',
      request: { method: 'POST', path: '/v1/responses' },
      outcome: 'sent',
      refusals: [],
      dropped: [{ name: 'text.verbosity' }],
      answer: null,
    });
    expect(explanation.chat_request).toMatchObject({
      path: '/v1/chat/completions',
      body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 },
    });
    expect(explanation.fields.map(({ field, fate }) => `${field} ${fate}`)).toEqual([
      'model sent',
      'input renamed',
      'stream sent',
      'text.verbosity dropped',
      'max_output_tokens renamed',
    ]);
  });

  it('that the service refuses is exit code 1', async () => {
    const { status, stdout } = explainProcess([], { input: refusedText });
    expect(status).toBe(1);
    expect(stdout).toContain('Refused: HTTP 400 unsupported_value, background');
    expect(stdout).toContain('docs/mapping.md#row-background');
    const machine = await explain(['--json'], { input: refusedText });
    expect(machine.status).toBe(1);
    expect(JSON.parse(machine.stdout)).toMatchObject({
      outcome: 'refused',
      refusals: [{ error: { param: 'background' } }],
    });
  });

  it('that is not JSON is refused as the service refuses it', async () => {
    expect(await explain([], { input: '{"model":' })).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('invalid_json'),
    });
  });

  it('may be for another path or model, and of one field only', async () => {
    const compact = await explained(['--path', '/v1/responses/compact'], { input: '{"model":"m","input":"Hi"}' });
    expect(compact.chat_request?.body).toMatchObject({ messages: [{}, { role: 'user' }] });
    const input = JSON.stringify({ model: 'm', input: ['a', 'b'].map((content) => ({ role: 'user', content })) });
    const gemma = await explained(['--model', 'gemma-2'], { input });
    expect(gemma.model).toBe('gemma-2');
    expect(gemma.fields.flatMap(({ causes }) => causes.map(({ name }) => name))).toContain('alternateRoles');
    const one = await explained(['--field', 'text.verbosity', '--field', 'top_p'], { input: requestText });
    expect(one.fields.map(({ field, fate }) => `${field} ${fate}`)).toEqual(['text.verbosity dropped', 'top_p absent']);
  });

  it('runs under the service’s own settings', async () => {
    const input = JSON.stringify({ ...request, odd: 1 });
    const env = { UNKNOWN_FIELDS: 'reject', UPSTREAM_PROFILE: 'vllm' };
    expect(await explained([], { input, env })).toMatchObject({ outcome: 'refused', profile: 'vllm' });
    expect(await explained(['--profile', 'openai'], { input, env: { UPSTREAM_PROFILE: 'vllm' } })).toMatchObject({
      profile: 'openai',
    });
    const path = { UPSTREAM_PROFILE: 'vllm', UPSTREAM_PATH: '/own/v1/chat/completions' };
    const plain = '{"model":"m","input":"Hi"}';
    expect((await explained([], { input: plain, env: path })).chat_request?.path).toBe(path.UPSTREAM_PATH);
    expect((await explained(['-p', 'groq'], { input: plain, env: path })).chat_request?.path).toBe(
      '/openai/v1/chat/completions',
    );
    const profiles = fileOf('profiles.yaml', 'profiles:\n  mine:\n    extends: vllm\n    verbosity: true\n');
    const mine = await explained(['--profiles-file', profiles, '-p', 'mine'], { input });
    expect(mine).toMatchObject({ profile: 'mine', dropped: [], chat_request: { body: { verbosity: 'low' } } });
  });

  it('of Codex, as it was recorded, is explained whole', async () => {
    const recorded = join(root, 'test/clients/recorded');
    const files = readdirSync(recorded).filter((file) => /^codex-.*\.json$/.test(file));
    expect(files.length).toBeGreaterThan(5);
    for (const file of [
      'codex-plain-turn.json',
      'codex-agents-parent-receives-result.json',
      'codex-remote-compaction.json',
    ]) {
      const { body } = JSON.parse(readFileSync(join(recorded, file), 'utf8'));
      const explanation = await explained([join(recorded, file), '--profile', 'vllm']);
      expect(explanation, file).toMatchObject({ outcome: 'sent', request: { path: '/v1/responses' }, notes: [] });
      const followed = explanation.fields.filter(({ field }) => field.startsWith('input['));
      expect(followed, file).toHaveLength(body.input.length);
      for (const { field, becomes, dropped } of followed)
        expect(becomes.length + dropped.length, `${file} ${field}`).toBeGreaterThan(0);
      expect((await explain([join(recorded, file), '--field', 'model'])).status, file).toBe(0);
    }
  });
});

describe('the width', () => {
  it('of a terminal without columns is that of a pipe; a narrow one has 60', async () => {
    const file = fileOf('request.json', requestText);
    const inPipe = (await explain([file])).stdout;
    const widestOf = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
    expect(widestOf(inPipe)).toBeGreaterThan(100);
    const terminal = (columns: number) => {
      const { status, stdout } = explainInTerminal([file], { TERM: 'dumb' }, columns);
      expect(status).toBe(0);
      return stdout.replaceAll('\r\n', '\n');
    };
    expect(terminal(0)).toBe(inPipe);
    const narrow = terminal(60);
    expect(terminal(20)).toBe(narrow);
    expect(narrow).not.toBe(inPipe);
  });
});

describe('colours', () => {
  it('are on a terminal', () => {
    const file = fileOf('request.json', requestText);
    const coloured = explainInTerminal([file], { TERM: 'xterm' });
    expect(coloured.status).toBe(0);
    expect(coloured.stdout).toContain(`${escapeCode}[31mdropped`);
  });

  it('are not in a pipe, unless they are forced', async () => {
    expect((await explain([], { input: requestText })).stdout).not.toContain(escapeCode);
    expect((await explain([], { input: requestText, env: { FORCE_COLOR: '1' } })).stdout).toContain(escapeCode);
    expect((await explain([], { input: requestText, env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).stdout).not.toContain(
      escapeCode,
    );
  });

  it('of a request’s own making are text', async () => {
    const input = JSON.stringify({
      model: `m${escapeCode}[2J`,
      input: `x${escapeCode}]0;title\x07`,
      [`odd${escapeCode}[1m`]: '\u202e',
    });
    const { stdout } = await explain([], { input });
    expect(stdout).not.toContain(escapeCode);
    expect(stdout).not.toContain('\u202e');
    expect(stdout).toContain('\\u001b');
  });
});

describe('a recorded answer', () => {
  it('in a stream is shown chunk by chunk, each with its events', async () => {
    const file = fileOf('answer.sse', sse.join(''));
    const { answer } = await explained(['--response', file], { input: requestText });
    expect(answer).toMatchObject({ status: 200, outcome: 'completed', body: null });
    expect(answer?.chunks.map(({ number, events }) => [number, events.map(({ event }) => event)])).toEqual([
      [1, expect.arrayContaining(['response.created', 'response.output_text.delta'])],
      [2, ['response.output_text.delta']],
      [3, []],
      [4, expect.arrayContaining(['response.output_text.done', 'response.completed', null])],
    ]);
    const { stdout, status } = await explain(['-r', file], { input: requestText });
    expect(status).toBe(0);
    expect(stdout).toMatch(/2 {2}delta \{"content":"lo"\} +response\.output_text\.delta \{"delta":"lo"/);
  });

  it('as JSON is shown as the Response', async () => {
    const completion = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    };
    const file = fileOf('answer.json', JSON.stringify(completion));
    const { answer } = await explained(['-r', file], { input: '{"model":"m","input":"Hi"}' });
    expect(answer).toMatchObject({
      outcome: 'completed',
      body: { object: 'response', output: [{ content: [{ text: 'Hello' }] }] },
    });
    const streamed = (await explained(['-r', file], { input: requestText })).answer;
    expect(streamed?.chunks.flatMap(({ events }) => events).at(-2)?.event).toBe('response.completed');
  });

  it('that cannot be read is the error that the client gets instead', async () => {
    const file = fileOf('half.json', '{"choices":[');
    for (const input of ['{"model":"m","input":"Hi"}', requestText]) {
      const { status, stdout } = await explain(['-r', file, '--json'], { input });
      const { answer } = JSON.parse(stdout) as ExplanationFile;
      const body = { error: { code: 'invalid_upstream_response' } };
      expect({ exit: status, answer }).toMatchObject({ exit: 3, answer: { status: 502, body } });
    }
  });

  it('that is lines of JSON is read as such', async () => {
    const lines = sse.slice(0, 3).map((line) => line.slice('data: '.length).trim());
    const { answer } = await explained(['-r', fileOf('answer.ndjson', `${lines.join('\n')}\n`)], {
      input: requestText,
    });
    expect(answer).toMatchObject({
      outcome: 'completed',
      chunks: [{ number: 1 }, { number: 2 }, { number: 3 }, { number: null }],
    });
  });

  it('that is an error, or breaks off, is exit code 3', async () => {
    const error = fileOf('error.json', '{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}');
    const limited = await explain(['-r', error, '--status', '429'], { input: requestText });
    expect(limited).toMatchObject({ status: 3, stdout: expect.stringContaining('HTTP 429') });
    const broken = fileOf('broken.sse', sse.slice(0, 2).join(''));
    const cut = await explain(['-r', broken], { input: requestText });
    expect(cut).toMatchObject({ status: 3, stdout: expect.stringMatching(/end +of the upstream’s body .*response/) });
  });

  it('of a refused request is not replayed', async () => {
    const { answer, outcome } = await explained(['-r', fileOf('answer.sse', sse.join(''))], { input: refusedText });
    expect({ answer, outcome }).toEqual({ answer: null, outcome: 'refused' });
  });
});

describe('a saved exchange', () => {
  const headers = [{ name: 'content-type', value: 'text/event-stream' }];
  const text = sse.join('');
  const cuts = [text.slice(0, 30), text.slice(30, 400), text.slice(400)];
  const exchange: ExchangeFile = {
    ...exchangeFileHead,
    profile: 'vllm',
    started_at: '2026-11-22T11:00:00.000Z',
    client_request: {
      method: 'POST',
      path: '/v1/responses',
      headers: [{ name: 'Content-Type', value: 'application/json' }],
      body: requestText,
    },
    chat_request: null,
    chat_response: {
      status: 200,
      headers,
      pieces: cuts.map((piece, index) => ({ at_ms: 10 * (index + 1), text: piece })),
    },
    client_response: null,
    dropped: [],
    outcome: 'completed',
    error: null,
  };
  const file = fileOf('exchange.json', JSON.stringify(exchange));

  it('brings its request, its profile and its answer', async () => {
    const whole = await explained([file]);
    expect(whole).toMatchObject({ profile: 'vllm', outcome: 'sent', answer: { outcome: 'completed' } });
    // Chunks end where their events end, and have come when their last byte had.
    expect(whole.answer?.chunks.map(({ number, at_ms }) => [number, at_ms])).toEqual([
      [1, 20],
      [2, 20],
      [3, 30],
      [4, 30],
    ]);
    expect(whole.answer?.chunks.map(({ text: one }) => one)).toEqual(sse);
    expect(await explained(['-r', file])).toEqual(whole);
    expect((await explained([file, '-p', 'generic'])).profile).toBe('generic');
  });

  it('replays to another request', async () => {
    const { request: asked, answer } = await explained(['-r', file], { input: '{"model":"m","input":"Hi"}' });
    expect(asked.path).toBe('/v1/responses');
    expect(answer).toMatchObject({ body: { object: 'response', status: 'completed' }, chunks: [{}, {}, {}, {}] });
  });

  it('that the inspector saved is explained as it ran', async () => {
    const service = await startServiceProcess({ INSPECT: 'on' });
    const client = connectExtProc(service.listen[0] ?? '');
    try {
      const { call } = await sendRequest(client, requestText);
      await beginStream(call);
      await endStream(call);
      call.halfClose();
      const saved = async () => (await loadDetail((path) => service.get(path), 1)).file;
      await expect.poll(async () => (await saved()).outcome).toBe('completed');
      const recorded = await saved();
      const { chat_request, answer, dropped } = await explained([fileOf('saved.json', JSON.stringify(recorded))]);
      const { chat_request: sent, client_response: received } = recorded;
      if (sent === null || received === null) throw new Error('The exchange has no other side.');
      expect(JSON.stringify(chat_request?.body)).toBe(decodeRecorded(sent).toString());
      expect(chat_request?.path).toBe(sent.path);
      expect(dropped.map(({ name }) => name)).toEqual(recorded.dropped);
      const events = eventsOf(received.pieces.map((piece) => decodeRecorded(piece).toString()).join(''));
      const replayed = answer?.chunks.flatMap((one) => one.events.map(({ event }) => event)) ?? [];
      expect(replayed.filter((event) => event !== null)).toEqual(events.map(({ type }) => type));
    } finally {
      client.close();
      await service.remove();
    }
  });

  it('that is compressed is replayed as it arrived', async () => {
    const pieces = [{ at_ms: 1, base64: gzipSync(text).toString('base64') }];
    const encoded = [...headers, { name: 'content-encoding', value: 'gzip' }];
    const gzipped = { ...exchange, chat_response: { status: 200, headers: encoded, pieces } };
    const { answer } = await explained([fileOf('gzip.json', JSON.stringify(gzipped))]);
    expect(answer).toMatchObject({ outcome: 'completed', chunks: [{ number: 1, at_ms: 1 }] });
  });

  it('that is not whole is exit code 2, with the field named', async () => {
    const cut = fileOf('cut.json', JSON.stringify({ ...exchange, client_request: { method: 'POST' } }));
    expect(await explain([cut])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('client_request'),
    });
    const unanswered = fileOf('unanswered.json', JSON.stringify({ ...exchange, chat_response: null }));
    const message = expect.stringContaining('no answer');
    expect(await explain(['-r', unanswered], { input: requestText })).toMatchObject({ status: 2, stderr: message });
  });
});

describe('recorded streams', () => {
  const recordings = join(root, 'test/recordings/vllm-qwen3');
  const files = readdirSync(recordings).filter((file) => file.endsWith('.stream.sse'));

  it.each(files)('of vLLM give every event of the stream that the service makes: %s', async (file) => {
    const { answer } = await explained(['-p', 'vllm', '-r', join(recordings, file)], { input: requestText });
    const events = answer?.chunks.flatMap((one) => one.events) ?? [];
    const text = events.map(({ data }) => `data: ${JSON.stringify(data)}\n`).join('');
    expect(eventsOf(text).map((event) => event['sequence_number'])).toEqual(
      events.slice(0, -1).map((_event, index) => index),
    );
    expect(events.at(-1)?.data).toBe('[DONE]');
  });
});

describe('wrong usage', () => {
  it.each([
    [['--colour'], '--colour'],
    [['a.json', 'b.json'], 'a.json and b.json'],
    [['--status', 'ok'], '--status is ok'],
    [['--path', 'v1'], '--path is v1'],
    [['--field', 'a..b'], '--field is a..b'],
    [['--profile', 'nobody'], 'nobody'],
    [['--profiles-file', '/nowhere.yaml'], 'nowhere.yaml'],
    [['/nowhere.json'], '/nowhere.json cannot be read'],
    [['--response', '/nowhere.sse'], '/nowhere.sse cannot be read'],
  ])('is exit code 2 and says what is wrong: %j', async (args, message) => {
    const { status, stdout, stderr } = await explain(args, { input: requestText });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
  });

  it('is an invalid setting too', async () => {
    const { status, stderr } = await explain([], { input: requestText, env: { UNKNOWN_FIELDS: 'maybe' } });
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('UNKNOWN_FIELDS') });
  });

  it('is a terminal without a file', () => {
    const { status, stdout } = explainInTerminal([]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: expect.stringContaining('No request was given') });
  });

  it('is a file larger than any request', async () => {
    const file = fileOf('large.json', '');
    truncateSync(file, 257 * 1024 * 1024);
    expect(await explain([file])).toMatchObject({ status: 2, stderr: expect.stringContaining('larger than') });
  });
});

describe('docs/explain.md', () => {
  it('has every key of the machine form', async () => {
    const { answer, ...explanation } = await explained(['-r', fileOf('answer.sse', sse.join(''))], {
      input: requestText,
    });
    const page = readFileSync(new URL('../../docs/explain.md', import.meta.url), 'utf8');
    const chunks = answer?.chunks ?? [];
    const objects = [
      explanation,
      explanation.fields[0],
      explanation.chat_request,
      answer,
      chunks[0],
      chunks[0]?.events[0],
    ];
    const causes = explanation.dropped.flatMap((one) => one.causes);
    for (const object of [...objects, explanation.dropped[0], causes[0]])
      for (const key of Object.keys(object ?? { nothing: 0 })) expect(page).toContain(`\`${key}\``);
  });
});

describe('the command', () => {
  it('--help says all of it', async () => {
    const { status, stdout } = await explain(['--help']);
    expect(status).toBe(0);
    const options = 'profile profiles-file model path field response status full json help'.split(' ');
    for (const option of options) expect(stdout).toContain(`--${option}`);
    // A clone has no command of the package's name.
    expect(stdout).toMatch(/^Usage: npm run explain -- \[options\] \[FILE\]/);
    for (const code of [0, 1, 2, 3]) expect(stdout).toMatch(new RegExp(`^ {2}${code} {2}\\w`, 'm'));
  });

  it('ends when its reader does', async () => {
    const input = JSON.stringify({
      ...request,
      // Far more than a pipe holds.
      input: Array.from({ length: 100 }, () => ({ role: 'user', content: 'x'.repeat(2000) })),
    });
    const child = spawn(process.execPath, [main, 'explain', '--full', '--field', 'model'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    child.stdin.end(input);
    await new Promise((resolve) => child.once('close', resolve));
    expect(stderr).toBe('');
  });
});
