import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { delta, done, eventStream, finish, type Received, type Script, usage } from '../support/upstream.ts';
import { installAgenticApi, type StateTier, startPostgres, startStateTier } from './agentic-api.ts';

let mesh: TestMesh;
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let home: string;
let port: number;
let tier: StateTier;
let client: OpenAI;
const start = async () => {
  tier = await startStateTier(installAgenticApi(), { proxy: mesh.url, database: postgres.url, home, port });
};
beforeAll(async () => {
  [mesh, postgres, port] = await Promise.all([startTestMesh(), startPostgres(), findFreePort()]);
  home = mkdtempSync(join(tmpdir(), 'responses-extproc-state-'));
  await start();
  client = new OpenAI({ baseURL: `${tier.url}/v1`, apiKey: 'sk-of-the-client', maxRetries: 0 });
});
afterAll(async () => {
  await Promise.all([tier?.stop(), mesh?.close()]);
  await postgres?.remove();
  rmSync(home, { recursive: true, force: true });
});

/** What the model says, streamed or not as the tier in front asks for. */
const says =
  (fields: Readonly<Record<string, unknown>>, reason = 'stop') =>
  (request: Received): Script =>
    request.json()['stream'] === true
      ? {
          headers: eventStream,
          body: [
            delta({
              ...fields,
              ...(Array.isArray(fields['tool_calls']) && {
                tool_calls: fields['tool_calls'].map((call, index) => ({ index, ...call })),
              }),
            }),
            finish(reason),
            usage(3, 2),
            done,
          ],
        }
      : {
          body: [
            JSON.stringify({
              id: 'c',
              object: 'chat.completion',
              created: 1,
              model: 'm',
              choices: [{ index: 0, message: { role: 'assistant', content: null, ...fields }, finish_reason: reason }],
              usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
            }),
          ],
        };
const messagesOf = (model: string) => mesh.upstream.received(model).at(-1)?.json().messages;

describe('agentic-api before the filter gives a Chat server', () => {
  test('a stored response that can be read', async () => {
    mesh.upstream.script('stored', says({ content: 'Noted.' }));
    const { id } = await client.responses.create({ model: 'stored', input: 'The code word is heron.', store: true });
    expect((await client.responses.retrieve(id)).output_text).toBe('Noted.');
    expect(mesh.upstream.received('stored')[0]?.headers['authorization']).toBe('Bearer sk-of-the-client');
  });

  test('a continuation, streamed, after a restart of the tier in front', async () => {
    mesh.upstream.script('restart', says({ content: 'Noted.' }), says({ content: 'It was heron.' }));
    const first = await client.responses.create({ model: 'restart', input: 'The code word is heron.' });
    await tier.stop();
    await expect(client.responses.retrieve(first.id)).rejects.toThrow('Connection error');
    await start();
    let text = '';
    let last = '';
    for await (const event of await client.responses.create({
      model: 'restart',
      previous_response_id: first.id,
      input: 'What was it?',
      stream: true,
    })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      last = event.type;
    }
    expect({ text, last }).toEqual({ text: 'It was heron.', last: 'response.completed' });
    expect(messagesOf('restart')).toEqual([
      { role: 'user', content: 'The code word is heron.' },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'What was it?' },
    ]);
  });

  test('a loop of tools that sends only results', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
    mesh.upstream.script('tools', says({ tool_calls: [call] }, 'tool_calls'), says({ content: 'Sunny.' }));
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const tools = [{ type: 'function' as const, name: 'get_weather', strict: false, parameters }];
    const first = await client.responses.create({ model: 'tools', input: 'Paris?', tools });
    const [item] = first.output;
    if (item?.type !== 'function_call') throw new Error('no call came');
    const second = await client.responses.create({
      model: 'tools',
      previous_response_id: first.id,
      tools,
      input: [{ type: 'function_call_output', call_id: item.call_id, output: 'sunny' }],
    });
    expect(second.output_text).toBe('Sunny.');
    expect(messagesOf('tools')).toMatchObject([
      { role: 'user', content: 'Paris?' },
      { role: 'assistant', tool_calls: [{ id: 'call_1', function: { name: 'get_weather' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ]);
  });

  test('a conversation that requests join, with SQLite', async () => {
    mesh.upstream.script('joined', says({ content: 'Noted.' }), says({ content: 'Heron.' }));
    const database = `sqlite://${join(home, 'state.db')}?mode=rwc`;
    const small = await startStateTier(installAgenticApi(), {
      proxy: mesh.url,
      database,
      home,
      port: await findFreePort(),
    });
    try {
      const withSqlite = new OpenAI({ baseURL: `${small.url}/v1`, apiKey: 'none', maxRetries: 0 });
      const conversation = (await withSqlite.conversations.create({})).id;
      for (const input of ['The code word is heron.', 'What was it?'])
        await withSqlite.responses.create({ model: 'joined', conversation, input });
      expect(messagesOf('joined')?.map(({ content }) => content)).toEqual([
        'The code word is heron.',
        'Noted.',
        'What was it?',
      ]);
    } finally {
      await small.stop();
    }
  });
});

/** docs/state.md says so; when one of these changes, so does the page. */
describe('what is lost on the way', () => {
  test('fields of the Response', async () => {
    mesh.upstream.script('fields', says({ content: 'Hi' }));
    const request = { model: 'fields', input: 'Hi', metadata: { a: 'b' }, temperature: 0.5 };
    const direct = (await (await mesh.post(request)).json()) as object;
    const stored = await client.responses.create(request);
    const lost = Object.keys(direct).filter((name) => !(name in stored));
    expect(lost).toEqual([
      ...['completed_at', 'tools', 'tool_choice', 'parallel_tool_calls', 'truncation', 'text', 'temperature', 'top_p'],
      ...['presence_penalty', 'frequency_penalty', 'top_logprobs', 'reasoning', 'max_output_tokens', 'max_tool_calls'],
      ...['service_tier', 'metadata', 'safety_identifier', 'prompt_cache_key', 'store', 'background'],
    ]);
  });

  test('headers: the request id, and what the service dropped', async () => {
    mesh.upstream.script('headers', says({ content: 'Hi' }));
    const tools = [{ type: 'image_generation' }];
    const body = { model: 'headers', input: 'Hi', tools };
    const direct = await mesh.post(body);
    const stored = await fetch(`${tier.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const names = ['x-request-id', 'x-responses-dropped'];
    expect(names.map((name) => direct.headers.has(name))).toEqual([true, true]);
    expect(names.map((name) => stored.headers.has(name))).toEqual([false, false]);
  });

  test('conversations, with PostgreSQL', async () => {
    const conversation = (await client.conversations.create({})).id;
    await expect(client.responses.create({ model: 'm', conversation, input: 'Hi' })).rejects.toMatchObject({
      status: 500,
    });
  });

  test('the code of an unknown response, and deletion', async () => {
    await expect(
      client.responses.create({ model: 'm', input: 'Hi', previous_response_id: 'resp_nope' }),
    ).rejects.toMatchObject({ status: 404, code: 'not_found' });
    mesh.upstream.script('deleted', says({ content: 'Hi' }));
    const { id } = await client.responses.create({ model: 'deleted', input: 'Hi' });
    await expect(client.responses.delete(id)).rejects.toMatchObject({ status: 405 });
  });
});
