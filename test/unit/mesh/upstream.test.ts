import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedUpstream, startEmbeddedUpstream } from '../../../mesh/upstream.ts';

let upstream: EmbeddedUpstream;
beforeAll(async () => {
  upstream = await startEmbeddedUpstream();
});
afterAll(() => upstream.close());

const chatPath = '/v1/chat/completions';

function send(path: string, init?: RequestInit): Promise<Response> {
  return fetch(`http://127.0.0.1:${upstream.port}${path}`, init);
}

function chat(request: object, signal: AbortSignal | null = null): Promise<Response> {
  return send(chatPath, { method: 'POST', body: JSON.stringify({ model: 'demo', ...request }), signal });
}

const hello = {
  messages: [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Hi' },
  ],
};
const stamp = { id: 'chatcmpl-demo', created: 0 };
const tokens = (prompt: number, completion: number, reasoning = 0) => ({
  ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: reasoning },
});
const weather = {
  messages: [{ role: 'user', content: 'weather in Paris' }],
  tools: [{ function: { name: 'get_weather', parameters: { properties: { city: {} } } } }],
};

describe('the embedded upstream', () => {
  it('lists its models', async () => {
    const response = await send('/v1/models?limit=1');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    const data = ['demo', 'demo-reasoning', 'demo-slow'].map((id) => ({
      ...{ id, object: 'model', created: 0, owned_by: 'responses-extproc' },
    }));
    expect(await response.json()).toEqual({ object: 'list', data });
  });

  it('answers with a whole completion', async () => {
    const response = await chat({ ...hello, model: 'demo-reasoning' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    const reasoning_content = 'The user said 1 words. I repeat them.';
    const message = { role: 'assistant', content: 'You said: Hi', reasoning_content };
    expect(await response.json()).toEqual({
      ...{ ...stamp, model: 'demo-reasoning', object: 'chat.completion' },
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: tokens(3, 11, 8),
    });
  });

  it('answers with a whole completion that calls tools', async () => {
    const call = { name: 'get_weather', arguments: '{"city":"Paris"}' };
    const tool_calls = [{ id: 'call_demo_1_1', type: 'function', function: call }];
    const message = { role: 'assistant', content: null, tool_calls };
    expect(await (await chat(weather)).json()).toEqual({
      ...{ ...stamp, model: 'demo', object: 'chat.completion' },
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: tokens(3, 1),
    });
  });

  const chunk = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, finish_reason }];
  it.each([
    [
      { ...hello, model: 'demo-reasoning' },
      [
        chunk({ role: 'assistant', content: '' }),
        ...['The', ' user', ' said', ' 1', ' words.', ' I', ' repeat', ' them.'].map((word) =>
          chunk({ reasoning_content: word }),
        ),
        ...['You', ' said:', ' Hi'].map((content) => chunk({ content })),
        chunk({}, 'stop'),
      ],
    ],
    [
      weather,
      [
        chunk({ role: 'assistant', content: '' }),
        chunk({
          tool_calls: [
            { index: 0, id: 'call_demo_1_1', type: 'function', function: { name: 'get_weather', arguments: '' } },
          ],
        }),
        ...['{"city":', '"Paris"}'].map((piece) =>
          chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
        ),
        chunk({}, 'tool_calls'),
      ],
    ],
  ])('streams the answer to %j', async (request, choices) => {
    const response = await chat({ ...request, stream: true });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const model = 'model' in request ? request.model : 'demo';
    const events = choices.map((one) => ({ ...stamp, model, object: 'chat.completion.chunk', choices: one }));
    const written = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    expect(await response.text()).toBe(`${written}data: [DONE]\n\n`);
  });

  it('ends a stream with the usage where that is asked for', async () => {
    const text = await (await chat({ ...hello, stream: true, stream_options: { include_usage: true } })).text();
    const usage = { ...stamp, model: 'demo', object: 'chat.completion.chunk', choices: [], usage: tokens(3, 3) };
    expect(text.split('\n\n').slice(-3)).toEqual([`data: ${JSON.stringify(usage)}`, 'data: [DONE]', '']);
  });

  it('takes 0.3 s for each word of demo-slow', async () => {
    const from = performance.now();
    await (await chat({ model: 'demo-slow', messages: [], stream: true })).text();
    expect(performance.now() - from).toBeGreaterThan(850);
  });

  it('goes on when a client goes away in the middle', async () => {
    const gone = new AbortController();
    const response = await chat({ ...hello, stream: true }, gone.signal);
    gone.abort();
    await expect(response.text()).rejects.toThrow();
    expect((await chat(hello)).status).toBe(200);
  });

  it.each([
    ['GET', chatPath, undefined, 404, 'No such path: /v1/chat/completions'],
    ['POST', '/v1/models?a=b', '{}', 404, 'No such path: /v1/models'],
    ['POST', '/v1/completions', '{}', 404, 'No such path: /v1/completions'],
    ['POST', chatPath, '{"model":"gpt"}', 404, 'The model gpt does not exist: try demo.'],
    ['POST', chatPath, '{"model":"demo","messages":"hello"}', 400, 'messages must be an array.'],
    ['POST', chatPath, '{"model":"demo-error-503"}', 503, 'The model demo-error-503 always fails.'],
    ['POST', chatPath, '{"model":"demo-error-429"}', 429, 'The model demo-error-429 always fails.'],
    ['POST', chatPath, '', 400, 'Unexpected end of JSON input'],
  ])('%s %s %s is refused', async (method, path, body, status, message) => {
    const response = await send(path, { method, ...(body === undefined ? {} : { body }) });
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, status === 429 ? '7' : null]);
    expect(await response.json()).toEqual({ error: { message, type: 'demo_error', param: null, code: null } });
  });

  it('listens where it is told, and no more once it is closed', async () => {
    await expect(startEmbeddedUpstream({ port: upstream.port })).rejects.toThrow('EADDRINUSE');
    await expect(startEmbeddedUpstream({ host: 'no-such-host.invalid' })).rejects.toThrow('no-such-host.invalid');
    const other = await startEmbeddedUpstream();
    const url = `http://127.0.0.1:${other.port}`;
    const idle = await fetch(`${url}${chatPath}`, {
      method: 'POST',
      body: JSON.stringify({ model: 'demo-slow', messages: [], stream: true }),
    });
    await other.close();
    await expect(idle.text()).rejects.toThrow();
    await expect(fetch(`${url}/v1/models`)).rejects.toThrow();
  });
});
