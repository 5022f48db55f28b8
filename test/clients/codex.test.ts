import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { done, eventStream, finish } from '../support/upstream.ts';
import {
  answer,
  brokenCalls,
  brokenStreams,
  call,
  firstPiece,
  knows,
  overflows,
  rateLimited,
  saidTwice,
  toolNamed,
} from './answers.ts';
import { clientTest } from './clients.ts';
import { type Codex, type CodexOptions, createCodex } from './codex.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ environment: { UPSTREAM_PROFILE: 'vllm' } });
});
afterAll(() => mesh?.close());

let codex: Codex;
afterEach(() => codex?.remove());
function start(model: string, options: Omit<CodexOptions, 'url' | 'model'> = {}): Codex {
  codex = createCodex({ url: mesh.url, model, ...options });
  return codex;
}

const messagesOf = (model: string, index: number) => mesh.upstream.received(model)[index]?.json().messages ?? [];

/** A script for a model whose name Codex must know; other names are the scripts' own. */
const scriptedAs = (name: string) => ({ providerSettings: [`http_headers = { "x-test-script" = "${name}" }`] });
/** Settings of an MCP server. */
const words = [
  '[mcp_servers.words]',
  `command = ${JSON.stringify(process.execPath)}`,
  `args = [${JSON.stringify(join(import.meta.dirname, 'words-server.mjs'))}]`,
  'default_tools_approval_mode = "approve"',
];

describe('Codex', () => {
  clientTest('codex', 'stream', 'prints the answer of a turn, and sends its prompts first', async () => {
    mesh.upstream.script('plain', answer({ text: 'Hello!' }));
    const run = await start('plain').exec('Say hello.');

    expect(run).toMatchObject({ code: 0, answer: 'Hello!' });
    expect(run.events.at(-1)).toMatchObject({ type: 'turn.completed', usage: { input_tokens: 3, output_tokens: 2 } });
    expect(mesh.upstream.received('plain')).toHaveLength(1);
    expect(messagesOf('plain', 0).map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    expect(messagesOf('plain', 0).at(-1)).toEqual({ role: 'user', content: 'Say hello.' });
  });

  clientTest('codex', 'stream', 'works with the lines of README.md alone', async () => {
    const list = { object: 'list', data: [{ id: 'readme', object: 'model' }] };
    mesh.upstream.script('/v1/models?client_version=0.171.0', { body: [JSON.stringify(list)] });
    mesh.upstream.script('readme', answer({ text: 'Hello!' }));
    const run = await start('readme', { provider: { page: 'README.md' } }).exec('Say hello.');

    expect(run).toMatchObject({ code: 0, answer: 'Hello!' });
    // It asked for the catalog.
    expect(JSON.stringify(run.items('error'))).not.toContain('Model metadata');
    expect(mesh.upstream.received('readme')).toHaveLength(1);
  });

  clientTest('codex', 'stream', 'falls back from a WebSocket at once with openai_base_url', async () => {
    mesh.upstream.script('plain-base-url', answer({ text: 'Hello!' }));
    const run = await start('plain-base-url', { provider: 'openai_base_url' }).exec('Say hello.');

    expect(run).toMatchObject({ code: 0, answer: 'Hello!' });
    expect(mesh.upstream.received('plain-base-url')).toHaveLength(1);
  });

  clientTest('codex', 'tools-stream', 'runs two commands of one answer, and gives back what each printed', async () => {
    mesh.upstream.script(
      'two-calls',
      (request) =>
        answer({
          calls: ['one', 'two'].map((word) => ({
            name: toolNamed(request, 'exec_command'),
            arguments: { cmd: `echo ${word}` },
          })),
        })(request),
      answer({ text: 'One and two.' }),
    );
    const run = await start('two-calls').exec('Count.');
    const idOf = (index: number) => `call_${messagesOf('two-calls', 0).length}_${index}`;

    expect(run).toMatchObject({ code: 0, answer: 'One and two.' });
    // They run side by side, and either may end first.
    expect(
      run
        .items('command_execution')
        .map(({ aggregated_output }) => aggregated_output)
        .sort(),
    ).toEqual(['one\n', 'two\n']);
    const [calls, ...outputs] = messagesOf('two-calls', 1).slice(-3);
    expect(calls).toMatchObject({ role: 'assistant', tool_calls: [{ id: idOf(0) }, { id: idOf(1) }] });
    const printed = Object.fromEntries(outputs.map(({ tool_call_id, content }) => [tool_call_id, content]));
    expect(printed).toEqual({
      [idOf(0)]: expect.stringContaining('one\n'),
      [idOf(1)]: expect.stringContaining('two\n'),
    });
  });

  clientTest('codex', 'shell', 'works in its shell over several requests', async () => {
    mesh.upstream.script(
      'shell',
      call('exec_command', { cmd: 'echo heron > bird.txt' }),
      call('exec_command', { cmd: 'cat bird.txt' }),
      answer({ text: 'A heron.' }),
    );
    const run = await start('shell').exec('Which bird?');

    expect(run).toMatchObject({ code: 0, answer: 'A heron.' });
    expect(codex.file('bird.txt')).toBe('heron\n');
    expect(messagesOf('shell', 2).filter(({ role }) => role === 'tool')).toHaveLength(2);
    expect(messagesOf('shell', 2).at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('heron') });
  });

  clientTest('codex', 'apply-patch', 'applies a patch from its shell', async () => {
    const patch = '*** Begin Patch\n*** Add File: bird.txt\n+heron\n*** End Patch';
    mesh.upstream.script(
      'patch',
      call('exec_command', { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` }),
      answer({ text: 'Written.' }),
    );
    const run = await start('patch').exec('Write the bird down.');

    expect(run).toMatchObject({ code: 0, answer: 'Written.' });
    expect(codex.file('bird.txt')).toBe('heron\n');
    expect(messagesOf('patch', 1).at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('bird.txt') });
  });

  clientTest('codex', 'mcp', 'calls a tool of an MCP server, which is a namespace to it', async () => {
    mesh.upstream.script('mcp', call('word_of', { room: 'cellar' }), answer({ text: 'It is bittern.' }));
    const run = await start('mcp', { settings: words }).exec('What is the word in the cellar?');

    expect(run).toMatchObject({ code: 0, answer: 'It is bittern.' });
    expect(run.items('mcp_tool_call')).toMatchObject([{ server: 'words', tool: 'word_of', status: 'completed' }]);
    const [assistant, tool] = messagesOf('mcp', 1).slice(-2);
    expect(assistant).toMatchObject({ tool_calls: [{ function: { name: 'mcp__words__word_of' } }] });
    expect(tool).toMatchObject({ role: 'tool', content: expect.stringContaining('In the cellar: bittern') });
  });

  clientTest(
    'codex',
    'apply-patch',
    'applies a patch of its free-form tool, which models it knows are offered',
    async () => {
      const patch = '*** Begin Patch\n*** Add File: bird.txt\n+heron\n*** End Patch\n';
      mesh.upstream.script('freeform', call('apply_patch', { input: patch }), answer({ text: 'Written.' }));
      const run = await start('gpt-5.5', scriptedAs('freeform')).exec('Write the bird down.');

      expect(run).toMatchObject({ code: 0, answer: 'Written.' });
      expect(run.items('file_change')).toMatchObject([{ status: 'completed' }]);
      expect(codex.file('bird.txt')).toBe('heron\n');
      const [assistant, tool] = messagesOf('freeform', 1).slice(-2);
      expect(assistant).toMatchObject({ tool_calls: [{ function: { arguments: JSON.stringify({ input: patch }) } }] });
      expect(tool).toMatchObject({ role: 'tool', content: expect.stringContaining('bird.txt') });
    },
  );

  clientTest('codex', 'mcp', 'finds a tool of an MCP server by searching, and calls it', async () => {
    mesh.upstream.script(
      'tool-search',
      call('tool_search', { query: 'word kept in a room' }),
      call('word_of', { room: 'cellar' }),
      answer({ text: 'It is bittern.' }),
    );
    const run = await start('gpt-5.5', { settings: words, ...scriptedAs('tool-search') }).exec(
      'What is the word in the cellar?',
    );

    expect(run).toMatchObject({ code: 0, answer: 'It is bittern.' });
    const offered = [0, 1].map((index) =>
      JSON.stringify(mesh.upstream.received('tool-search')[index]?.json()['tools']),
    );
    expect(offered[0]).not.toContain('mcp__words__word_of');
    expect(offered[1]).toContain('mcp__words__word_of');
    expect(messagesOf('tool-search', 2).at(-1)).toMatchObject({ content: expect.stringContaining('cellar: bittern') });
  });

  clientTest('codex', 'code-mode', 'runs a program over its tools', async () => {
    const input = 'notify("half way"); text((await tools.exec_command({ cmd: "echo heron" })).output);';
    mesh.upstream.script('code-mode', call('exec', { input }), answer({ text: 'A heron.' }));
    const run = await start('gpt-6.1-sol', scriptedAs('code-mode')).exec('Which bird?');

    expect(run).toMatchObject({ code: 0, answer: 'A heron.' });
    expect(run.items('command_execution')).toMatchObject([{ aggregated_output: 'heron\n', exit_code: 0 }]);
    // `notify` gives the call a second output; a Chat server takes one.
    const [assistant, ...outputs] = messagesOf('code-mode', 1).slice(3);
    expect(assistant).toMatchObject({ tool_calls: [{ function: { name: 'functions__exec' } }] });
    expect(outputs).toMatchObject([{ role: 'tool', content: expect.stringMatching(/heron\s+half way/) }]);
  });

  clientTest('codex', 'structured', 'asks the server for the schema it was given', async () => {
    mesh.upstream.script('schema', answer({ text: '{"city":"Paris"}' }));
    const properties = { city: { type: 'string' } };
    const schema = { type: 'object', properties, required: ['city'], additionalProperties: false };
    const run = await start('schema').exec('Where?', { schema });

    expect(run).toMatchObject({ code: 0, answer: '{"city":"Paris"}' });
    // Beside a schema this server's models can call no tool: the prompt has it instead.
    expect(mesh.upstream.received('schema')[0]?.json()).not.toHaveProperty('response_format');
    expect(JSON.stringify(messagesOf('schema', 0))).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1));
  });

  clientTest('codex', 'reasoning', 'shows reasoning, and gives it back with the result of a call', async () => {
    mesh.upstream.script(
      'reasoning',
      call('exec_command', { cmd: 'echo three' }, { reasoning: 'Count the birds.' }),
      answer({ text: 'Three.' }),
    );
    const run = await start('reasoning').exec('How many birds?');

    expect(run).toMatchObject({ code: 0, answer: 'Three.' });
    expect(run.items('reasoning')).toMatchObject([{ text: 'Count the birds.' }]);
    expect(messagesOf('reasoning', 1).at(-2)).toMatchObject({
      role: 'assistant',
      reasoning_content: 'Count the birds.',
      tool_calls: [{}],
    });
  });

  clientTest('codex', 'local-compaction', 'sums up by itself at the token limit, and still knows a fact', async () => {
    const summary = 'The code word is heron.';
    mesh.upstream.script(
      'local-compaction',
      call('exec_command', { cmd: 'echo the code word is heron' }, { usage: [90_000, 10] }),
      answer({ text: summary }),
      answer({ text: 'Noted.' }),
      (request) => answer({ text: knows(request, summary) ? 'It was heron.' : 'I forgot.' })(request),
    );
    start('local-compaction', { settings: ['model_auto_compact_token_limit = 50000'] });
    expect(await codex.exec('Find the code word.')).toMatchObject({ code: 0, answer: 'Noted.' });
    expect(await codex.exec('What was it?', { resume: true })).toMatchObject({ code: 0, answer: 'It was heron.' });

    expect(mesh.upstream.received('local-compaction')).toHaveLength(4);
    expect(messagesOf('local-compaction', 1).at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('CONTEXT CHECKPOINT COMPACTION'),
    });
    const afterwards = messagesOf('local-compaction', 3);
    expect(afterwards.filter(({ role }) => role === 'tool')).toEqual([]);
    expect(afterwards.at(-1)).toEqual({ role: 'user', content: 'What was it?' });
  });

  clientTest('codex', 'rate-limit', 'tries again after a 429', async () => {
    mesh.upstream.script('rate-limit', rateLimited, answer({ text: 'Hello!' }));
    expect(await start('rate-limit').exec('Say hello.')).toMatchObject({ code: 0, answer: 'Hello!' });
    expect(mesh.upstream.received('rate-limit')).toHaveLength(2);
  });

  clientTest('codex', 'error', 'prints the server’s error with its message', async () => {
    mesh.upstream.script('error', { status: 400, body: [JSON.stringify({ error: { message: 'The moon is down.' } })] });
    const run = await start('error').exec('Say hello.');
    expect(run.code).not.toBe(0);
    expect(run.events.at(-1)).toMatchObject({
      type: 'turn.failed',
      error: { message: expect.stringContaining('The moon is down.') },
    });
    expect(mesh.upstream.received('error')).toHaveLength(1);
  });

  for (const [how, broken] of Object.entries(brokenStreams))
    clientTest('codex', 'cut', `tries again when a stream ${how}`, async () => {
      const model = `cut-${how}`;
      mesh.upstream.script(model, broken, answer({ text: 'Whole again.' }));
      expect(await start(model).exec('Say hello.')).toMatchObject({ code: 0, answer: 'Whole again.' });
      expect(mesh.upstream.received(model)).toHaveLength(2);
    });

  for (const [how, overflow] of Object.entries(overflows))
    clientTest('codex', 'error', `says that it ran out of room where ${how}`, async () => {
      const model = `overflow-${how.replaceAll(/\W+/g, '-')}`;
      mesh.upstream.script(model, overflow);
      const run = await start(model).exec('Say hello.');

      expect(run.code).not.toBe(0);
      expect(run.events.at(-1)).toMatchObject({
        type: 'turn.failed',
        error: { message: expect.stringContaining('ran out of room') },
      });
      // It would not fit the next time either.
      expect(mesh.upstream.received(model)).toHaveLength(1);
    });

  clientTest('codex', 'tools-stream', 'runs a call that is said twice once', async () => {
    mesh.upstream.script(
      'said-twice',
      (request) => saidTwice(toolNamed(request, 'exec_command'), { cmd: 'echo ding >> bells.txt' }),
      answer({ text: 'The bell rang.' }),
    );
    const run = await start('said-twice').exec('Ring the bell.');

    expect(codex.file('bells.txt')).toBe('ding\n');
    expect(run).toMatchObject({ code: 0, answer: 'The bell rang.' });
    expect(run.items('command_execution')).toHaveLength(1);
  });

  clientTest('codex', 'tools-stream', 'reads a session’s number that was written as a fraction', async () => {
    mesh.upstream.script(
      'fraction',
      call('exec_command', { cmd: 'echo ding; sleep 3', yield_time_ms: 300 }),
      (request) => {
        const session = /session ID (\d+)/.exec(JSON.stringify(request.json().messages))?.[1];
        const args = `{"session_id": ${session}.0, "chars": ""}`;
        return {
          headers: eventStream,
          body: [firstPiece(toolNamed(request, 'write_stdin'), args), finish('tool_calls'), done],
        };
      },
      answer({ text: 'It rang.' }),
    );
    const run = await start('fraction').exec('Ring the bell.');

    expect(run).toMatchObject({ code: 0, answer: 'It rang.' });
    expect(JSON.stringify(messagesOf('fraction', 2).at(-1))).not.toContain('floating point');
  });

  for (const [how, broken] of Object.entries(brokenCalls))
    clientTest(
      'codex',
      'code-mode',
      `runs nothing of a program whose stream ${how}, and then all of it once`,
      async () => {
        const script = `code-cut-${how}`;
        const input = 'await tools.exec_command({ cmd: "echo ding >> bells.txt" });\ntext("It rang.");';
        mesh.upstream.script(
          script,
          // Its first line has come, and would run by itself.
          (request) => broken(toolNamed(request, 'exec'), JSON.stringify({ input }).replace(/text\(.*/, '')),
          call('exec', { input }),
          answer({ text: 'The bell rang.' }),
        );
        const run = await start('gpt-6.1-sol', scriptedAs(script)).exec('Ring the bell.');

        expect(codex.file('bells.txt')).toBe('ding\n');
        expect(run).toMatchObject({ code: 0, answer: 'The bell rang.' });
        expect(run.items('command_execution')).toHaveLength(1);
        expect(mesh.upstream.received(script)).toHaveLength(3);
        // Nor is anything of the failed try in the history.
        expect(messagesOf(script, 1)).toEqual(messagesOf(script, 0));
      },
    );
});
