import type { OpenAI } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

const hello = [
  delta({ role: 'assistant', content: '' }),
  delta({ content: 'Hel' }),
  delta({ content: 'lo' }),
  finish('stop'),
  usage(3, 2),
  done,
];

describe('the official SDK through a real Envoy', () => {
  test('a string as input becomes one user message, and the answer has its text', async () => {
    mesh.upstream.script('string', { body: [completion({ content: 'Hello!' })] });

    const response = await mesh.client.responses.create({ model: 'string', input: 'Hi' });

    expect(response.output_text).toBe('Hello!');
    expect(response).toMatchObject({ object: 'response', status: 'completed', store: false });
    expect(response.usage).toMatchObject({ input_tokens: 3, output_tokens: 2, total_tokens: 5 });
    const [request] = mesh.upstream.received('string');
    expect(request).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
    expect(request?.json().messages).toEqual([{ role: 'user', content: 'Hi' }]);
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer sk-of-the-client',
      'accept-encoding': 'identity',
      'content-length': String(request?.body.length),
    });
  });

  test('instructions, a message list and the history that a client sends back arrive in order', async () => {
    mesh.upstream.script(
      'turns',
      { body: [completion({ content: 'Ada.' })] },
      { body: [completion({ content: 'Yes.' })] },
    );
    const instructions = 'Be brief.';
    const first = await mesh.client.responses.create({
      model: 'turns',
      instructions,
      input: [{ role: 'user', content: 'Who wrote the first program?' }],
    });
    const second = await mesh.client.responses.create({
      model: 'turns',
      instructions,
      input: [
        { role: 'user', content: 'Who wrote the first program?' },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { role: 'user', content: [{ type: 'input_text', text: 'Really?' }] },
      ],
    });

    expect(second.output_text).toBe('Yes.');
    expect(mesh.upstream.received('turns')[1]?.json().messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Who wrote the first program?' },
      { role: 'assistant', content: 'Ada.' },
      { role: 'user', content: 'Really?' },
    ]);
  });

  test('create with stream: true yields the events', async () => {
    mesh.upstream.script('events', { headers: eventStream, body: hello });

    const stream = await mesh.client.responses.create({ model: 'events', input: 'Hi', stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);

    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(mesh.upstream.received('events')[0]?.json()).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('responses.stream() accumulates the same response', async () => {
    mesh.upstream.script('helper', { headers: eventStream, body: hello });

    const response = await mesh.client.responses.stream({ model: 'helper', input: 'Hi' }).finalResponse();

    expect(response.output_text).toBe('Hello');
    expect(response.usage).toMatchObject({ input_tokens: 3, output_tokens: 2 });
  });

  test('a tool loop of two turns with two parallel calls', async () => {
    const weather = {
      type: 'function',
      name: 'get_weather',
      description: 'Weather in a city',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
      strict: true,
    } as const;
    const call = (index: number, id: string, city: string) => [
      delta({ tool_calls: [{ index, id, type: 'function', function: { name: 'get_weather', arguments: '' } }] }),
      delta({ tool_calls: [{ index, function: { arguments: '{"city":' } }] }),
      delta({ tool_calls: [{ index, function: { arguments: `"${city}"}` } }] }),
    ];
    mesh.upstream.script(
      'tools',
      {
        headers: eventStream,
        body: [...call(0, 'call_1', 'Paris'), ...call(1, 'call_2', 'Rome'), finish('tool_calls'), done],
      },
      { body: [completion({ content: 'Paris 18, Rome 24.' })] },
    );
    const question = { role: 'user', content: 'Weather in Paris and Rome?' } as const;

    const first = await mesh.client.responses
      .stream({ model: 'tools', input: [question], tools: [weather], parallel_tool_calls: true })
      .finalResponse();
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(calls.map((item) => [item.call_id, item.name, item.arguments])).toEqual([
      ['call_1', 'get_weather', '{"city":"Paris"}'],
      ['call_2', 'get_weather', '{"city":"Rome"}'],
    ]);

    const second = await mesh.client.responses.create({
      model: 'tools',
      input: [
        question,
        // As users write it: the SDK's parsed items go back as they came.
        ...(calls as OpenAI.Responses.ResponseInputItem[]),
        { type: 'function_call_output', call_id: 'call_1', output: '18' },
        { type: 'function_call_output', call_id: 'call_2', output: '24' },
      ],
      tools: [weather],
    });
    expect(second.output_text).toBe('Paris 18, Rome 24.');
    expect(mesh.upstream.received('tools')[1]?.json().messages.slice(1)).toMatchObject([
      {
        role: 'assistant',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
          { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '18' },
      { role: 'tool', tool_call_id: 'call_2', content: '24' },
    ]);
  });

  test('responses.parse gives the object of a zod schema', async () => {
    mesh.upstream.script('parse', { body: [completion({ content: '{"name":"Ada","born":1815}' })] });
    const person = z.object({ name: z.string(), born: z.number() });

    const response = await mesh.client.responses.parse({
      model: 'parse',
      input: 'Who?',
      text: { format: zodTextFormat(person, 'person') },
    });

    expect(response.output_parsed).toEqual({ name: 'Ada', born: 1815 });
    expect(mesh.upstream.received('parse')[0]?.json()['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'person', strict: true, schema: { required: ['name', 'born'] } },
    });
  });

  test('an image as data URL reaches the upstream as image_url', async () => {
    mesh.upstream.script('image', { body: [completion({ content: 'A dot.' })] });
    const image_url = `data:image/png;base64,${Buffer.from('not really a picture').toString('base64')}`;

    await mesh.client.responses.create({
      model: 'image',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url, detail: 'low' },
          ],
        },
      ],
    });

    expect(mesh.upstream.received('image')[0]?.json().messages[0]).toMatchObject({
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: image_url, detail: 'low' } },
      ],
    });
  });

  test('a reasoning model streams its summary before its answer', async () => {
    mesh.upstream.script('reasoning', {
      headers: eventStream,
      body: [
        delta({ reasoning_content: 'Greet' }),
        delta({ reasoning_content: ' them.' }),
        delta({ content: 'Hello' }),
        finish('stop'),
        done,
      ],
    });

    const stream = mesh.client.responses.stream({ model: 'reasoning', input: 'Hi', reasoning: { effort: 'low' } });
    const deltas: string[] = [];
    for await (const event of stream) if ('delta' in event) deltas.push(`${event.type} ${event.delta}`);
    const response = await stream.finalResponse();

    expect(deltas).toEqual([
      'response.reasoning_summary_text.delta Greet',
      'response.reasoning_summary_text.delta  them.',
      'response.output_text.delta Hello',
    ]);
    expect(response.output.map((item) => item.type)).toEqual(['reasoning', 'message']);
    expect(mesh.upstream.received('reasoning')[0]?.json()['reasoning_effort']).toBe('low');
  });
});

describe('streaming', () => {
  test('the first delta is with the client while the upstream still sends', async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    mesh.upstream.script('held', {
      headers: eventStream,
      body: [delta({ content: 'first' }), () => held, delta({ content: ' last' }), finish('stop'), done],
    });

    const stream = await mesh.client.responses.create({ model: 'held', input: 'Hi', stream: true });
    const deltas: string[] = [];
    for await (const event of stream) {
      if (event.type !== 'response.output_text.delta') continue;
      deltas.push(event.delta);
      letGo(); // the upstream goes on only now: without incremental translation nothing would ever come
    }

    expect(deltas).toEqual(['first', ' last']);
  });

  test('no delta waits for the next one', async () => {
    const sentAt: number[] = [];
    let arrived: () => void = () => {};
    mesh.upstream.script('paced', {
      headers: eventStream,
      body: (function* () {
        for (let index = 0; index < 20; index += 1) {
          const taken = new Promise<void>((resolve) => {
            arrived = resolve;
          });
          yield async () => sentAt.push(performance.now());
          yield delta({ content: `${index} ` });
          yield () => taken; // a buffer anywhere would keep it for ever
        }
        yield finish('stop');
        yield done;
      })(),
    });

    const delays: number[] = [];
    const stream = await mesh.client.responses.create({ model: 'paced', input: 'Hi', stream: true });
    for await (const event of stream) {
      if (event.type !== 'response.output_text.delta') continue;
      delays.push(performance.now() - (sentAt[delays.length] ?? Number.NaN));
      arrived();
    }

    expect(delays).toHaveLength(20);
    const [median = Number.NaN] = delays.toSorted((a, b) => a - b).slice(10);
    console.log(`upstream to client: first delta ${delays[0]?.toFixed(1)} ms, median ${median.toFixed(1)} ms`);
  });
});

test('the request id is the same for the client, in the log of the service and in that of Envoy', async () => {
  mesh.upstream.script('ids', { body: [completion({ content: 'Hi' })] });

  const response = await mesh.post({ model: 'ids', input: 'Hi' }, { headers: { 'x-request-id': 'of-the-client-1' } });

  expect(response.headers.get('x-request-id')).toBe('of-the-client-1');
  expect(mesh.upstream.received('ids')[0]?.headers['x-request-id']).toBe('of-the-client-1');
  const line = await mesh.service.logged((entry) => entry['request_id'] === 'of-the-client-1');
  expect(line).toMatchObject({ msg: 'exchange', outcome: 'completed', status: 200, model: 'ids' });
  const access = await mesh.accessLog((entry) => entry['request_id'] === 'of-the-client-1');
  expect(access).toMatchObject({ status: 200, route: 'responses', path: '/v1/chat/completions' });
});
