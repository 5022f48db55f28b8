import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, type Received, type Script } from '../support/upstream.ts';
import { toolNamed } from './answers.ts';
import { clients } from './clients.ts';
import { createCodex } from './codex.ts';
import { type Driver, startDriver } from './driver.ts';

// The table “Known limits” of docs/clients.md: what clients do with answers that are right. A test that fails here after
// an upgrade is mostly good news, and a line of that table to change.

const says =
  (message: Readonly<Record<string, unknown>>, reason: string) =>
  (request: Received): Script =>
    request.json()['stream'] === true
      ? { headers: eventStream, body: [delta(message), finish(reason), done] }
      : { body: [completion(message, reason)] };

const scripts = {
  incomplete: says({ content: 'Half' }, 'length'),
  failed: says({ content: 'Half' }, 'error'),
  refusal: says({ refusal: 'No.' }, 'stop'),
  'no-param': { status: 400, body: [JSON.stringify({ error: { message: 'The moon is down.', type: 'x' } })] },
};

type Library = Exclude<keyof typeof clients, 'codex'>;
const limits: readonly (readonly [Library, keyof typeof scripts, 'text' | 'stream', unknown])[] = [
  ['agents', 'incomplete', 'text', raises('unsuccessful terminal state "response.incomplete"')],
  ['agents-python', 'incomplete', 'text', raises('terminal event `response.incomplete`')],
  ['openai-python', 'incomplete', 'stream', raises("Didn't receive a `response.completed` event")],
  ['openai', 'failed', 'text', { outcome: 'Half' }],
  ['openai-python', 'failed', 'text', { outcome: 'Half' }],
  ['ai-sdk-open-responses', 'refusal', 'text', raises("reading 'length'")],
  ['ai-sdk-open-responses', 'refusal', 'stream', { outcome: '' }],
  ['ai-sdk-open-responses', 'no-param', 'text', raises('Bad Request')],
];

let mesh: TestMesh;
const drivers = new Map<Library, Driver>();
beforeAll(async () => {
  mesh = await startTestMesh();
  for (const [name, script] of Object.entries(scripts)) mesh.upstream.script(name, script);
});
afterAll(async () => {
  for (const driver of drivers.values()) await driver.stop();
  await mesh?.close();
});

describe('known limits', () => {
  for (const [client, model, scenario, outcome] of limits)
    test(`${clients[client].name}: ${model}, ${scenario}`, async () => {
      const driver = drivers.get(client) ?? startDriver(clients[client].driver);
      drivers.set(client, driver);
      expect(await driver.run(scenario, { baseURL: `${mesh.url}/v1`, model })).toEqual(outcome);
    });

  test('Codex raises an error when an answer is incomplete', async () => {
    const codex = createCodex({ url: mesh.url, model: 'incomplete' });
    const run = await codex.exec('Say hello.').finally(() => codex.remove());
    expect(run.code).not.toBe(0);
    expect(run.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining('Incomplete response') } });
  });

  test('Codex runs the lines of a program that the token limit cut, and raises an error', async () => {
    const line = 'await tools.exec_command({ cmd: "echo ding >> bells.txt" });';
    const args = JSON.stringify({ input: `${line}\ntext(` }).slice(0, -'\\ntext("}'.length);
    mesh.upstream.script('cut-program', (request) => {
      const called = { name: toolNamed(request, 'exec'), arguments: args };
      return says({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: called }] }, 'length')(request);
    });
    const codex = createCodex({
      url: mesh.url,
      model: 'gpt-6.1-sol',
      providerSettings: ['http_headers = { "x-test-script" = "cut-program" }'],
    });
    try {
      const run = await codex.exec('Ring the bell.');
      expect(run.code).not.toBe(0);
      expect(run.events.at(-1)).toMatchObject({ error: { message: expect.stringContaining('Incomplete response') } });
      expect(codex.file('bells.txt')).toBe('ding\n');
      // It does not try again by itself.
      expect(mesh.upstream.received('cut-program')).toHaveLength(1);
    } finally {
      codex.remove();
    }
  });
});

function raises(message: string): unknown {
  return { error: expect.objectContaining({ message: expect.stringContaining(message) }) };
}
