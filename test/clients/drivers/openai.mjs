import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { z } from 'zod';

const instructions = 'Be brief.';
const tools = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'The weather in a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    strict: true,
  },
];
const visit = z.object({ city: z.string(), n: z.number() });

const responses = (baseURL) => new OpenAI({ baseURL, apiKey: 'none' }).responses;
const create = async ({ baseURL, model, input = 'Hi' }) =>
  (await responses(baseURL).create({ model, instructions, input })).output_text;
const stream = async ({ baseURL, model, ...more }) =>
  (
    await responses(baseURL)
      .stream({ model, instructions, input: 'Hi', ...more })
      .finalResponse()
  ).output_text;

async function toolLoop(ask) {
  const input = [{ role: 'user', content: 'Compare the weather in Paris and Rome.' }];
  const first = await ask(input);
  input.push(...first.output);
  for (const { type, call_id, arguments: given } of first.output)
    if (type === 'function_call')
      input.push({ type: 'function_call_output', call_id, output: `${JSON.parse(given).city}: sunny` });
  return (await ask(input)).output_text;
}

/** A turn on a WebSocket: the Response that its events end with. */
async function turnOn(socket, request) {
  const events = socket.stream()[Symbol.asyncIterator]();
  socket.send({ type: 'response.create', ...request });
  for (;;) {
    const { value } = await events.next();
    if (value.type === 'error') throw value.error;
    if (value.type === 'close') throw new Error(`closed with ${value.code}`);
    if (value.message?.type === 'response.completed') return value.message.response;
  }
}

export const scenarios = {
  async websocket({ baseURL, model }) {
    const socket = new ResponsesWS(new OpenAI({ baseURL, apiKey: 'none' }));
    const settings = { model, instructions, tools, store: false };
    const warm = await turnOn(socket, { ...settings, generate: false, input: [] });
    const question = [{ role: 'user', content: 'Compare the weather in Paris and Rome.' }];
    const first = await turnOn(socket, { ...settings, previous_response_id: warm.id, input: question });
    const results = first.output.map(({ call_id, arguments: given }) => ({
      type: 'function_call_output',
      call_id,
      output: `${JSON.parse(given).city}: sunny`,
    }));
    const second = await turnOn(socket, { ...settings, previous_response_id: first.id, input: results });
    socket.close();
    return second.output[0].content[0].text;
  },
  text: create,
  stream,
  tools: ({ baseURL, model }) => toolLoop((input) => responses(baseURL).create({ model, instructions, input, tools })),
  'tools-stream': ({ baseURL, model }) =>
    toolLoop((input) => responses(baseURL).stream({ model, instructions, input, tools }).finalResponse()),
  async structured({ baseURL, model }) {
    const text = { format: zodTextFormat(visit, 'visit') };
    return (await responses(baseURL).parse({ model, instructions, input: 'Hi', text })).output_parsed;
  },
  async reasoning({ baseURL, model }) {
    const settings = {
      model,
      instructions,
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: false,
    };
    let shown = '';
    const first = responses(baseURL).stream({ ...settings, input: 'Hi' });
    first.on('response.reasoning_summary_text.delta', ({ delta }) => {
      shown += delta;
    });
    const { output } = await first.finalResponse();
    const input = [{ role: 'user', content: 'Hi' }, ...output, { role: 'user', content: 'And now?' }];
    return { shown, text: (await responses(baseURL).create({ ...settings, input })).output_text };
  },
  async compaction({ baseURL, model }) {
    const input = [{ role: 'user', content: 'The code word is heron.' }];
    const compacted = await responses(baseURL).compact({ model, instructions, input });
    const types = compacted.output.map(({ type }) => type);
    const next = [...compacted.output, { role: 'user', content: 'What was it?' }];
    return { types, text: await create({ baseURL, model, input: next }) };
  },
  async remark({ baseURL, model }) {
    const request = { model, instructions, input: 'Hi', tools, text: { format: zodTextFormat(visit, 'visit') } };
    const answers = [
      await responses(baseURL).parse(request),
      await responses(baseURL).stream(request).finalResponse(),
      await responses(baseURL).parse({ ...request, tools: undefined }),
    ];
    return answers.map(({ output, output_parsed: parsed }) => ({ types: output.map(({ type }) => type), parsed }));
  },
  'input-tokens': async ({ baseURL, model }) =>
    (await responses(baseURL).inputTokens.count({ model, instructions, input: 'Hi', tools })).input_tokens,
  'rate-limit': create,
  error: create,
  cut: stream,
};
