import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

setTracingDisabled(true);
const question = 'Compare the weather in Paris and Rome.';
const tools = [
  tool({
    name: 'get_weather',
    description: 'The weather in a city.',
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city}: sunny`,
  }),
];

const modelOf = ({ baseURL, model }) => new OpenAIResponsesModel(new OpenAI({ baseURL, apiKey: 'none' }), model);
const agent = (options, settings = {}) =>
  new Agent({ name: 'helper', instructions: 'Be brief.', model: modelOf(options), ...settings });
const text = async (options) => (await run(agent(options), 'Hi')).finalOutput;

async function streamed(options, settings, input = 'Hi') {
  const result = await run(agent(options, settings), input, { stream: true });
  for await (const _ of result) {
    // The events are the SDK's to read.
  }
  await result.completed;
  return result;
}

export const scenarios = {
  text,
  stream: async (options) => (await streamed(options)).finalOutput,
  tools: async (options) => (await run(agent(options, { tools }), question)).finalOutput,
  'tools-stream': async (options) => (await streamed(options, { tools }, question)).finalOutput,
  structured: async (options) =>
    (await run(agent(options, { outputType: z.object({ city: z.string(), n: z.number() }) }), 'Hi')).finalOutput,
  async reasoning(options) {
    const modelSettings = {
      store: false,
      reasoning: { effort: 'low', summary: 'auto' },
      providerData: { include: ['reasoning.encrypted_content'] },
    };
    const thinker = agent(options, { modelSettings });
    const first = await streamed(options, { modelSettings });
    const shown = first.newItems
      .filter(({ type }) => type === 'reasoning_item')
      .flatMap(({ rawItem }) => rawItem.content.map(({ text }) => text))
      .join('');
    const second = await run(thinker, [...first.history, { role: 'user', content: 'And now?' }]);
    return { shown, text: second.finalOutput };
  },
  'rate-limit': text,
  error: text,
  cut: async (options) => (await streamed(options)).finalOutput,
};
