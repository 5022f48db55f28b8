// OpenAI Agents SDK.  node test/clients/agents.mjs [base URL]
import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { answers, baseURL, check, failureOf, question } from './check.mjs';

setTracingDisabled(true);
const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
const agent = (model, settings = {}) =>
  new Agent({ name: 'helper', instructions: 'Be brief.', model: new OpenAIResponsesModel(client, model), ...settings });
const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city}: sunny`,
});

async function streamed(model, settings) {
  const result = await run(agent(model, settings), question, { stream: true });
  for await (const _ of result) {
    // The events are the SDK's to check.
  }
  await result.completed;
  return result.finalOutput;
}

await check('agents: run', ['You said: Hello'], async () => (await run(agent('demo'), 'Hello')).finalOutput);
await check('agents: streamed', ['You said: Compare'], () => streamed('demo'));
await check('agents: two parallel tools', answers, async () => {
  return (await run(agent('demo', { tools: [getWeather] }), question)).finalOutput;
});
await check('agents: tools, streamed', answers, () => streamed('demo', { tools: [getWeather] }));
await check('agents: handoff', ['by weatherman'], async () => {
  const handoffs = [new Agent({ name: 'weatherman', model: new OpenAIResponsesModel(client, 'demo') })];
  const result = await run(agent('demo', { handoffs }), 'ask the weatherman now');
  return `${result.finalOutput} by ${result.lastAgent?.name}`;
});
await check('agents: output type', ['"n":1'], async () => {
  const outputType = z.object({ city: z.string(), n: z.number() });
  return JSON.stringify((await run(agent('demo', { outputType }), 'Hello')).finalOutput);
});
await check('agents: reasoning, given back', ['You said: Again'], async () => {
  const thinker = agent('demo-reasoning', {
    modelSettings: { store: false, reasoning: { effort: 'low', summary: 'auto' } },
  });
  const first = await run(thinker, 'Hello');
  return (await run(thinker, [...first.history, { role: 'user', content: 'Again' }])).finalOutput;
});
await check('agents: 429', ['429', 'try again in'], () => failureOf(() => run(agent('demo-error-429'), 'Hello')));
