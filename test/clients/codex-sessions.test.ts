import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { answer, call, knows } from './answers.ts';
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

const requests = (model: string) => mesh.upstream.received(model).map((request) => request.json());

describe('Codex', () => {
  clientTest('codex', 'sub-agents', 'spawns a child that works, and gets its result', async () => {
    const [task, result] = ['Message Type: NEW_TASK', 'Message Type: FINAL_ANSWER'];
    mesh.upstream.script('sub-agents', (request) => {
      const last = request.json().messages.at(-1);
      // The child has its parent's history, and its own task behind it.
      if (knows(request, `${task}\\nTask name`))
        return last?.['role'] === 'tool'
          ? answer({ text: `The sum is ${String(last['content']).match(/^\d+$/m)?.[0]}.` })(request)
          : call('exec_command', { cmd: 'echo $((17 + 4))' })(request);
      if (knows(request, `${result}\\nTask name`))
        return answer({ text: knows(request, 'The sum is 21.') ? 'The child says 21.' : 'Nothing came.' })(request);
      if (last?.['role'] === 'tool') return call('wait_agent', { timeout_ms: 30_000 })(request);
      return call('spawn_agent', { task_name: 'adder', message: 'Add 17 and 4.' })(request);
    });
    const run = await start('sub-agents', { settings: ['features.multi_agent_v2.enabled = true'] }).exec(
      'Let a sub-agent add 17 and 4.',
    );

    expect(run).toMatchObject({ code: 0, answer: 'The child says 21.' });
    const all = requests('sub-agents');
    const [received] = all.flatMap(({ messages }) => messages.filter(({ content }) => has(content, `${task}\n`)));
    expect(received).toMatchObject({ role: 'user', content: expect.stringMatching(/Payload:\nAdd 17 and 4\.$/) });
    const [returned] = all.flatMap(({ messages }) => messages.filter(({ content }) => has(content, `${result}\n`)));
    expect(returned).toMatchObject({ role: 'user', content: expect.stringMatching(/Payload:\nThe sum is 21\.$/) });
    // `encrypted` in a parameter's schema is a word between Codex and OpenAI.
    expect(JSON.stringify(all.map(({ tools }) => tools))).not.toContain('"encrypted"');
  });

  for (const [way, model, options] of [
    ['openai_base_url', 'remote-compaction', { provider: 'openai_base_url' }],
    [
      'a capability of the provider',
      'remote-compaction-v2',
      { providerSettings: ['[model_providers.envoy.capabilities]', 'remote_compaction = "v2"'] },
    ],
  ] as const)
    clientTest('codex', 'compaction', `has the server sum up, twice, and still knows a fact, with ${way}`, async () => {
      const full = { usage: [90_000, 10] } as const;
      mesh.upstream.script(
        model,
        call('exec_command', { cmd: 'echo the code word is heron' }, full),
        answer({ text: 'SUMMARY ONE: the code word is heron.' }),
        answer({ text: 'Noted.' }),
        call('exec_command', { cmd: 'echo nothing new' }, full),
        (request) => answer({ text: knows(request, 'SUMMARY ONE') ? 'SUMMARY TWO: heron, still.' : 'Lost.' })(request),
        (request) => answer({ text: knows(request, 'SUMMARY TWO: heron') ? 'It was heron.' : 'I forgot.' })(request),
      );
      start(model, {
        ...options,
        settings: ['model_auto_compact_token_limit = 50000'],
      });
      expect(await codex.exec('Find the code word.')).toMatchObject({ code: 0, answer: 'Noted.' });
      expect(await codex.exec('What was it?', { resume: true })).toMatchObject({ code: 0, answer: 'It was heron.' });

      const all = requests(model);
      expect(all).toHaveLength(6);
      for (const compaction of [all[1], all[4]]) expect(compaction).not.toHaveProperty('tools');
      expect(JSON.stringify(all[1]?.messages)).toContain('the code word is heron\\n');
      expect(all[5]?.messages.filter(({ role }) => role === 'tool')).toEqual([]);
    });

  clientTest('codex', 'text-only', 'goes on after a screenshot with a model that takes no images', async () => {
    const profiles = join(mkdtempSync(join(tmpdir(), 'profiles-')), 'profiles.json');
    writeFileSync(profiles, JSON.stringify({ profiles: { blind: { extends: 'vllm', image: 'omit' } } }));
    const blind = await startTestMesh({ environment: { UPSTREAM_PROFILE: 'blind', UPSTREAM_PROFILES_FILE: profiles } });
    onTestFinished(() => blind.close());
    blind.upstream.script(
      'text-only',
      (request) => call('view_image', { path: join(codex.project, 'shot.png') })(request),
      answer({ text: 'I cannot see it.' }),
      answer({ text: 'Still here.' }),
    );
    codex = createCodex({ url: blind.url, model: 'text-only' });
    writeFileSync(join(codex.project, 'shot.png'), screenshot);
    expect(await codex.exec('Look at shot.png.')).toMatchObject({ code: 0, answer: 'I cannot see it.' });
    expect(await codex.exec('Are you there?', { resume: true })).toMatchObject({ code: 0, answer: 'Still here.' });

    const sent = blind.upstream.received('text-only').map((request) => JSON.stringify(request.json().messages));
    expect(sent).toHaveLength(3);
    for (const messages of sent.slice(1)) expect(messages).toContain('[An image was here.');
    for (const messages of sent) expect(messages).not.toContain('image_url');
  });

  clientTest('codex', 'catalog', 'sends no image to a model whose catalog entry takes none', async () => {
    const list = { data: [{ id: 'text-only-catalog', architecture: { input_modalities: ['text'] } }] };
    for (const path of ['/v1/models', '/v1/models?client_version=0.171.0'])
      mesh.upstream.script(path, { body: [JSON.stringify(list)] });
    mesh.upstream.script(
      'text-only-catalog',
      (request) => call('view_image', { path: join(codex.project, 'shot.png') })(request),
      answer({ text: 'I cannot see it.' }),
    );
    start('text-only-catalog', { providerSettings: [`model_catalog_url = "${mesh.url}/v1/models"`] });
    writeFileSync(join(codex.project, 'shot.png'), screenshot);
    expect(await codex.exec('Look at shot.png.')).toMatchObject({ code: 0, answer: 'I cannot see it.' });

    // The server's profile takes images: it is Codex that keeps them back, and tells the model so.
    const [, second] = requests('text-only-catalog');
    expect(JSON.stringify(second)).not.toContain('data:image');
    expect(second?.messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('image') });
  });

  clientTest('codex', 'catalog', 'knows the model, its window and its patches from the catalog', async () => {
    const list = { object: 'list', data: [{ id: 'catalog', object: 'model', max_model_len: 32_768 }] };
    for (const path of ['/v1/models', '/v1/models?client_version=0.171.0'])
      mesh.upstream.script(path, { body: [JSON.stringify(list)] });
    const patch = '*** Begin Patch\n*** Add File: bird.txt\n+heron\n*** End Patch';
    mesh.upstream.script(
      'catalog',
      call('apply_patch', { input: patch }, { usage: [31_000, 10] }),
      answer({ text: 'bird.txt has the word heron.' }),
      answer({ text: 'Written.' }),
    );
    const run = await start('catalog', { providerSettings: [`model_catalog_url = "${mesh.url}/v1/models"`] }).exec(
      'Write the bird down.',
    );

    expect(run).toMatchObject({ code: 0, answer: 'Written.' });
    expect(run.items('error')).toEqual([]); // “Model metadata for … not found” otherwise
    expect(run.items('file_change')).toMatchObject([{ status: 'completed' }]);
    expect(codex.file('bird.txt')).toBe('heron\n');
    // 31,000 tokens are too many for the window of 32,768, though not for the 272,000 that Codex assumes otherwise.
    expect(requests('catalog')).toHaveLength(3);
    expect(requests('catalog')[1]?.messages.at(-1)).toMatchObject({
      content: expect.stringContaining('CONTEXT CHECKPOINT COMPACTION'),
    });
  });
});

/** One red pixel. */
const screenshot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
);

const has = (content: unknown, text: string) => typeof content === 'string' && content.includes(text);
