import { afterAll, beforeAll, expect, test } from 'vitest';
import { findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';

/** Of vLLM, which keeps prompts; `/plain/` is a route to a server of which nothing is known. */
let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({
    webSocket: true,
    environment: { UPSTREAM_PROFILE: 'vllm' },
    edit(config) {
      const { routes } = findConnectionManager(config).route_config.virtual_hosts[0];
      const grpc_initial_metadata = [{ key: 'x-upstream-profile', value: 'generic' }];
      routes.unshift({
        ...structuredClone(findEnvoyRoute(config, 'responses')),
        match: { prefix: '/plain/' },
        typed_per_filter_config: {
          'envoy.filters.http.ext_proc': {
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute',
            overrides: { grpc_initial_metadata },
          },
        },
      });
    },
  });
});
afterAll(() => mesh.close());

const answer = [delta({ role: 'assistant', content: '' }), delta({ content: 'He' }), finish('length'), usage(3, 2)];
const eventsIn = (text: string) =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as { type: string; response: object });

test.each([false, true])('a request to warm the cache of a server that has one, with stream %s', async (stream) => {
  const model = `warm-${stream}`;
  const whole = completion({ content: 'He' }, 'length');
  mesh.upstream.script(model, stream ? { headers: eventStream, body: [...answer, done] } : { body: [whole] });
  const body = { model, input: 'Hi', stream, prompt_cache_options: { prewarm: true } };
  const response = await mesh.post(body);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-responses-dropped')).toBeNull();
  const text = await response.text();
  const answered = stream ? eventsIn(text).at(-1)?.response : JSON.parse(text);
  expect(answered).toMatchObject({ status: 'completed', output: [], usage: { input_tokens: 3, output_tokens: 2 } });
  expect(mesh.upstream.received(model).map((request) => request.json())).toMatchObject([{ max_completion_tokens: 1 }]);
});

// Envoy sends the answer itself; it repeats what the request said, here of 400 kB, once or in three events.
test.each([false, true])('a server without a cache is not asked, with stream %s', async (stream) => {
  const instructions = 'x'.repeat(400_000);
  const body = { model: 'cold', instructions, input: [], stream, generate: false };
  const response = await mesh.post(body, { path: '/plain/v1/responses' });
  expect(response.status).toBe(200);
  expect(response.headers.get('x-responses-dropped')).toBe('generate');
  expect(response.headers.get('content-type')).toBe(stream ? 'text/event-stream; charset=utf-8' : 'application/json');
  const text = await response.text();
  const answered = stream ? eventsIn(text).at(-1)?.response : JSON.parse(text);
  expect(answered).toMatchObject({ status: 'completed', output: [], instructions, usage: { total_tokens: 0 } });
  expect(mesh.upstream.received('cold')).toEqual([]);
});

test('a warm-up on a WebSocket reaches a server that has a cache, and the next turn goes on from it', async () => {
  mesh.upstream.script('turns', { headers: eventStream, body: [...answer, done] });
  const client = await openWebSocket(`${mesh.url}/v1/responses`, {});
  const instructions = 'Be brief.';
  const warm = await client.turn({ model: 'turns', generate: false, instructions, input: [] });
  expect(warm.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [] } });
  const next = await client.turn({
    model: 'turns',
    instructions,
    previous_response_id: warm.at(-1)?.response?.id,
    input: 'Hi',
  });
  expect(next.at(-1)?.type).toBe('response.incomplete');
  const system = { role: 'system', content: instructions };
  expect(mesh.upstream.received('turns').map((request) => request.json())).toMatchObject([
    { messages: [system, { role: 'user', content: '.' }], max_completion_tokens: 1 },
    { messages: [system, { role: 'user', content: 'Hi' }] },
  ]);
  await client.close();
});
