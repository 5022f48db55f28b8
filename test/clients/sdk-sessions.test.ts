import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import type { Received } from '../support/upstream.ts';
import { answer, knows, toolNamed } from './answers.ts';
import { type ClientId, clients, clientTest, type Feature } from './clients.ts';
import { type Driver, startDriver } from './driver.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ environment: { UPSTREAM_PROFILE: 'vllm' } });
});
afterAll(() => mesh?.close());

type Id = Exclude<ClientId, 'codex'>;
const modelOf = (client: Id, feature: Feature) => `${client}/${feature}`;
const requests = (client: Id, feature: Feature) =>
  mesh.upstream.received(modelOf(client, feature)).map((request) => request.json());
const ends = (request: Received, role: string) => request.json().messages.at(-1)?.['role'] === role;

/** Calls the tool, and when its output is there says what it was. */
const toolTurns = (name: string, given: unknown, text: string) => (request: Received) =>
  ends(request, 'tool')
    ? answer({ text: String(request.json().messages.at(-1)?.['content']).includes(text) ? 'Seen.' : 'Lost.' })(request)
    : answer({ calls: [{ name: toolNamed(request, name), arguments: given }] })(request);

function describeClient(client: Id, body: (run: (scenario: string) => ReturnType<Driver['run']>) => void): void {
  describe(clients[client].name, () => {
    let driver: Driver;
    beforeAll(() => {
      driver = startDriver(clients[client].driver);
    });
    afterAll(() => driver?.stop());
    body((scenario) => driver.run(scenario, { baseURL: `${mesh.url}/v1`, model: `${client}/${scenario}` }));
  });
}

for (const client of ['openai', 'openai-python'] as const)
  describeClient(client, (run) => {
    clientTest(client, 'compaction', 'has a conversation summed up, and goes on from the summary', async () => {
      mesh.upstream.script(modelOf(client, 'compaction'), answer({ text: 'SUMMARY: heron' }), (request) =>
        answer({ text: knows(request, 'SUMMARY: heron') ? 'It was heron.' : 'I forgot.' })(request),
      );
      const { outcome } = await run('compaction');
      expect(outcome).toMatchObject({ text: 'It was heron.', types: expect.arrayContaining(['compaction']) });
      const [summary, next] = requests(client, 'compaction');
      expect(JSON.stringify(summary?.messages)).toContain('The code word is heron.');
      expect(next?.messages.at(-1)).toEqual({ role: 'user', content: 'What was it?' });
    });

    clientTest(client, 'input-tokens', 'has a turn counted by a server that can', async () => {
      const counted = { count: 17, max_model_len: 32_768, tokens: [] };
      mesh.upstream.script(modelOf(client, 'input-tokens'), { body: [JSON.stringify(counted)] });
      expect(await run('input-tokens')).toEqual({ outcome: 17 });
      const [request] = mesh.upstream.received(modelOf(client, 'input-tokens'));
      expect(request?.path).toBe('/tokenize');
      expect(request?.json()).toMatchObject({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hi' },
        ],
        tools: [{ function: { name: 'get_weather' } }],
      });
    });
  });

describeClient('openai', (run) => {
  clientTest('openai', 'remark', 'parses the answer, and not the remark before a tool call', async () => {
    const calls = [{ name: 'get_weather', arguments: { city: 'Paris' } }];
    mesh.upstream.script(
      modelOf('openai', 'remark'),
      answer({ text: 'Let me look.', calls }),
      answer({ text: 'Let me look.', calls }),
      answer({ text: '{"city":"Paris","n":1}' }),
    );
    const called = { types: ['message', 'function_call'], parsed: null };
    expect(await run('remark')).toEqual({
      outcome: [called, called, { types: ['message'], parsed: { city: 'Paris', n: 1 } }],
    });
  });
});

describeClient('openai-python', (run) => {
  clientTest('openai-python', 'history', 'goes on with a conversation in which hosted tools ran', async () => {
    mesh.upstream.script(modelOf('openai-python', 'history'), answer({ text: 'Quite sure.' }));
    expect(await run('history')).toEqual({ outcome: 'Quite sure.' });
    const [request] = requests('openai-python', 'history');
    expect(request?.messages.at(-1)).toEqual({ role: 'user', content: 'Sure?' });
    // What a model can read of the calls is kept, and the image is a picture for it.
    const arrived = JSON.stringify(request?.messages);
    for (const text of ['A heron.', 'grey bird with long legs', '42']) expect(arrived).toContain(text);
    expect(arrived).toContain('data:image/png;base64,aGVyb24=');
  });
});

for (const client of ['agents', 'agents-python', 'ai-sdk-openai', 'langchain', 'langchain-python'] as const)
  describeClient(client, (run) => {
    clientTest(client, 'tool-search', 'calls tools that OpenAI would search, at once', async () => {
      mesh.upstream.script(modelOf(client, 'tool-search'), toolTurns('get_weather', { city: 'Paris' }, 'Paris: sunny'));
      expect(await run('tool-search')).toEqual({ outcome: client === 'ai-sdk-openai' ? ['Seen.', 'Seen.'] : 'Seen.' });
      for (const { tools } of requests(client, 'tool-search'))
        expect(tools).toMatchObject([{ type: 'function', function: { name: 'get_weather' } }]);
    });
  });

describeClient('agents', (run) => {
  clientTest('agents', 'tool-search', 'searches tools itself, and calls what it found', async () => {
    mesh.upstream.script(
      'agents/client-tool-search',
      answer({ calls: [{ name: 'tool_search', arguments: { paths: ['get_weather'] } }] }),
      answer({ calls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] }),
      toolTurns('get_weather', {}, 'Paris: sunny'),
    );
    expect(await run('client-tool-search')).toEqual({ outcome: 'Seen.' });
    const offered = mesh.upstream
      .received('agents/client-tool-search')
      .map((request) =>
        (request.json()['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name),
      );
    expect(offered).toEqual(Array.from({ length: 3 }, () => ['get_weather', 'tool_search']));
  });
});

for (const client of ['agents', 'agents-python', 'ai-sdk-openai'] as const)
  describeClient(client, (run) => {
    // The AI SDK runs each twice, the second time streamed.
    const twice = <T>(value: T): T[] => (client === 'ai-sdk-openai' ? [value, value] : [value]);
    const text = client === 'ai-sdk-openai' ? ['Seen.', 'Seen.'] : 'Seen.';

    clientTest(client, 'shell', 'runs the commands of its tool `shell`', async () => {
      mesh.upstream.script(modelOf(client, 'shell'), toolTurns('shell', { commands: ['cat bird.txt'] }, 'heron'));
      expect(await run('shell')).toEqual({ outcome: { text, ran: twice('cat bird.txt') } });
    });

    clientTest(client, 'apply-patch', 'applies the patch of its tool `apply_patch`', async () => {
      const given = { type: 'create_file', path: 'bird.txt', diff: '+heron\n' };
      mesh.upstream.script(modelOf(client, 'apply-patch'), toolTurns('apply_patch', given, 'Wrote bird.txt.'));
      const files = { 'bird.txt': expect.stringMatching(client === 'ai-sdk-openai' ? /^\+heron\n$/ : /^heron\n?$/) };
      expect(await run('apply-patch')).toEqual({ outcome: { text, files } });
    });

    if (client !== 'agents')
      clientTest(client, 'local-shell', 'runs the command of its tool `local_shell`', async () => {
        const given = { command: ['cat', 'bird.txt'] };
        mesh.upstream.script(modelOf(client, 'local-shell'), toolTurns('local_shell', given, 'heron'));
        expect(await run('local-shell')).toEqual({ outcome: { text, ran: twice(['cat', 'bird.txt']) } });
      });

    if (client !== 'ai-sdk-openai')
      clientTest(client, 'compaction', 'has its session summed up, and goes on from the summary', async () => {
        const summaries = client === 'agents' ? 'gpt-agents' : 'gpt-agents-python';
        mesh.upstream.script(summaries, answer({ text: 'SUMMARY: heron' }));
        mesh.upstream.script(modelOf(client, 'compaction'), answer({ text: 'Noted.' }), (request) =>
          answer({ text: knows(request, 'SUMMARY: heron') ? 'It was heron.' : 'I forgot.' })(request),
        );
        const { outcome } = await run('compaction');
        expect(outcome).toMatchObject({ text: 'It was heron.', types: expect.arrayContaining(['compaction']) });
        expect(JSON.stringify(mesh.upstream.received(summaries)[0]?.json().messages)).toContain(
          'The code word is heron.',
        );
        expect(JSON.stringify(requests(client, 'compaction')[1]?.messages)).not.toContain('Noted.');
      });

    if (client !== 'ai-sdk-openai')
      clientTest(client, 'sandbox', 'starts a sandbox agent, which works in its folder', async () => {
        const given = { cmd: 'echo heron > bird.txt && cat bird.txt' };
        mesh.upstream.script(modelOf(client, 'sandbox'), toolTurns('exec_command', given, 'heron'));
        expect(await run('sandbox')).toEqual({ outcome: 'Seen.' });
        expect(requests(client, 'sandbox')).toHaveLength(2);
        for (const request of requests(client, 'sandbox')) expect(request).not.toHaveProperty('context_management');
      });

    if (client === 'ai-sdk-openai')
      clientTest(client, 'effort', 'changes the effort within a conversation', async () => {
        mesh.upstream.script('gpt-6-sol', answer({ text: 'Hello!' }));
        expect(await run('effort')).toEqual({ outcome: 'Hello!' });
        expect(mesh.upstream.received('gpt-6-sol')[0]?.json()).toMatchObject({ reasoning_effort: 'low' });
      });
  });
