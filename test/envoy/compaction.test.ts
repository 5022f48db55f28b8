import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

interface Recorded {
  readonly body: { readonly input: readonly Record<string, unknown>[]; readonly [field: string]: unknown };
}

function recorded(name: string): Recorded['body'] {
  const url = new URL(`../clients/recorded/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as Recorded).body;
}

test('Codex compacts at its limit, and the model of the next request reads the summary', async () => {
  mesh.upstream.script('compact', {
    headers: eventStream,
    body: [delta({ content: 'The code ' }), delta({ content: 'word is heron.' }), finish('stop'), usage(90, 6), done],
  });
  const compacted = await mesh.post({ ...recorded('codex-remote-compaction'), model: 'compact' });
  expect(compacted.status).toBe(200);
  const events = (await compacted.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
  expect(events.map(({ type }) => type)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.output_item.done',
    'response.completed',
  ]);
  const { item } = events[3];
  expect(item).toMatchObject({ type: 'compaction', id: expect.stringMatching(/^cmp_/) });
  const asked = mesh.upstream.received('compact')[0]?.json() as unknown as Record<string, unknown>;
  expect(asked).not.toHaveProperty('tools');
  expect(asked).not.toHaveProperty('tool_choice');

  mesh.upstream.script('next', { body: [completion({ content: 'Heron.' })] });
  const next = recorded('codex-remote-compaction-goes-on');
  const input = next.input.map((entry) => (entry['type'] === 'compaction' ? item : entry));
  expect(input).toContain(item);
  const answered = await mesh.post({ ...next, model: 'next', stream: false, input });
  expect(answered.status).toBe(200);
  expect(answered.headers.get('x-responses-dropped') ?? '').not.toContain('compaction');
  expect(JSON.stringify(mesh.upstream.received('next')[0]?.json())).toContain('The code word is heron.');
});

test('openai compacts at the endpoint', async () => {
  mesh.upstream.script('endpoint', { body: [completion({ content: 'Heron.' })] });
  const body = { ...recorded('openai-compact'), model: 'endpoint' };
  const response = await mesh.post(body, { path: '/v1/responses/compact' });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    object: 'response.compaction',
    output: [{ type: 'compaction' }],
    usage: { input_tokens: 3 },
  });
  expect(mesh.upstream.received('endpoint')[0]?.path).toBe('/v1/chat/completions');
});

test('openai cannot count input tokens here', async () => {
  const response = await mesh.post(recorded('openai-input-tokens'), { path: '/v1/responses/input_tokens' });
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({ error: { code: 'not_implemented' } });
});
