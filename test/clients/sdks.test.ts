import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { answer, brokenStreams, rateLimited } from './answers.ts';
import { type Client, type ClientId, clients, clientTest, type Feature } from './clients.ts';
import { type Driver, startDriver } from './driver.ts';

const prompt = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
];

let mesh: TestMesh;
beforeAll(async () => {
  // A profile that gives reasoning back to the server, as `generic` does not.
  mesh = await startTestMesh({ environment: { UPSTREAM_PROFILE: 'vllm' } });
});
afterAll(() => mesh?.close());

for (const [id, { name, driver }] of Object.entries<Client>(clients))
  if (driver !== undefined) describe(name, () => describeLibrary(id as ClientId, driver));

function describeLibrary(client: ClientId, driverName: string): void {
  let driver: Driver;
  beforeAll(() => {
    driver = startDriver(driverName);
  });
  afterAll(() => driver?.stop());

  /** Its model is its script: each feature of each client has its own. */
  const modelOf = (feature: Feature) => `${client}/${feature}`;
  const run = (feature: Feature) => driver.run(feature, { baseURL: `${mesh.url}/v1`, model: modelOf(feature) });
  const requests = (feature: Feature) => mesh.upstream.received(modelOf(feature)).map((request) => request.json());
  const script = (feature: Feature, ...steps: Parameters<TestMesh['upstream']['script']>[1][]) =>
    mesh.upstream.script(modelOf(feature), ...steps);

  clientTest(client, 'text', 'gets the text of a turn', async () => {
    script('text', answer({ text: 'Hello!' }));
    expect(await run('text')).toEqual({ outcome: 'Hello!' });
    expect(requests('text').map(({ messages }) => messages)).toEqual([prompt]);
  });

  clientTest(client, 'stream', 'gets the text of a streamed turn', async () => {
    script('stream', answer({ text: 'Hello!' }));
    expect(await run('stream')).toEqual({ outcome: 'Hello!' });
    expect(requests('stream')).toMatchObject([{ stream: true, messages: prompt }]);
  });

  for (const feature of ['tools', 'tools-stream'] as const)
    clientTest(client, feature, `runs two parallel calls and gives both results back (${feature})`, async () => {
      const calls = ['Paris', 'Rome'].map((city) => ({ name: 'get_weather', arguments: { city } }));
      script(feature, answer({ calls }), answer({ text: 'Sunny in both.' }));
      expect(await run(feature)).toEqual({ outcome: 'Sunny in both.' });

      const [first, second] = requests(feature);
      expect(first?.['stream'] ?? false).toBe(feature === 'tools-stream');
      expect(first?.['tools']).toMatchObject([{ type: 'function', function: { name: 'get_weather' } }]);
      expect(second?.messages.slice(2)).toMatchObject([
        {
          role: 'assistant',
          tool_calls: [
            { id: 'call_2_0', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
            { id: 'call_2_1', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_2_0', content: 'Paris: sunny' },
        { role: 'tool', tool_call_id: 'call_2_1', content: 'Rome: sunny' },
      ]);
    });

  clientTest(client, 'structured', 'gets an object of the schema that the server was sent', async () => {
    script('structured', answer({ text: '{"city":"Paris","n":1}' }));
    expect(await run('structured')).toEqual({ outcome: { city: 'Paris', n: 1 } });
    const [request] = requests('structured');
    const properties = { city: { type: 'string' }, n: expect.objectContaining({}) };
    expect(request?.['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { schema: { properties } },
    });
  });

  clientTest(client, 'reasoning', 'shows reasoning, and gives it back with the next turn', async () => {
    script('reasoning', answer({ reasoning: 'Count the birds.', text: 'Three.' }), answer({ text: 'Still three.' }));
    expect(await run('reasoning')).toEqual({ outcome: { shown: 'Count the birds.', text: 'Still three.' } });
    expect(requests('reasoning')[1]?.messages).toEqual([
      ...prompt,
      // It gives back an item's `content` or `encrypted_content` alone; of a summary it makes a text of its own.
      ...(client === 'pydantic-ai'
        ? [
            { role: 'assistant', content: '<think>\nCount the birds.\n</think>' },
            { role: 'assistant', content: 'Three.' },
          ]
        : [
            {
              role: 'assistant',
              content: 'Three.',
              reasoning_content: 'Count the birds.',
              reasoning: 'Count the birds.',
            },
          ]),
      { role: 'user', content: 'And now?' },
    ]);
  });

  clientTest(client, 'rate-limit', 'tries again after a 429', async () => {
    script('rate-limit', rateLimited, answer({ text: 'Hello!' }));
    expect(await run('rate-limit')).toEqual({ outcome: 'Hello!' });
    expect(requests('rate-limit')).toHaveLength(2);
  });

  clientTest(client, 'error', 'raises the server’s error with its message', async () => {
    script('error', {
      status: 400,
      body: [JSON.stringify({ error: { message: 'The moon is down.', type: 'x', param: 'top_p' } })],
    });
    const { error } = await run('error');
    expect(error?.message).toContain('The moon is down.');
    expect(requests('error')).toHaveLength(1);
  });

  for (const [how, broken] of Object.entries(brokenStreams))
    clientTest(client, 'cut', `takes no half answer for a whole one when a stream ${how}`, async () => {
      const model = `${modelOf('cut')}/${how}`;
      const ask = () => driver.run('cut', { baseURL: `${mesh.url}/v1`, model });
      mesh.upstream.script(model, broken, answer({ text: 'Whole again.' }));
      // Where nothing had arrived yet, the libraries try again by themselves.
      const { outcome, error } = await ask();
      if (error === undefined) expect(outcome).toBe('Whole again.');
      expect(await ask()).toEqual({ outcome: 'Whole again.' });
    });
}
