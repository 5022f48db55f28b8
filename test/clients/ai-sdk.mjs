// AI SDK with both of its Responses providers.  node test/clients/ai-sdk.mjs [base URL]
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { answers, baseURL, check, failureOf, question } from './check.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;
const openai = createOpenAI({ baseURL, apiKey: 'none' });
const openResponses = createOpenResponses({ name: 'local', url: `${baseURL}/responses`, apiKey: 'none' });
const tools = {
  get_weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city}: sunny`,
  }),
};

await checkProvider('ai-sdk openai', (name) => openai.responses(name), { openai: { store: false } });
await checkProvider('ai-sdk open-responses', (name) => openResponses(name), {});

async function checkProvider(provider, modelOf, providerOptions) {
  const generate = (model, more) => generateText({ model: modelOf(model), maxRetries: 0, providerOptions, ...more });
  const stream = (model, more) => {
    return streamText({ model: modelOf(model), maxRetries: 0, providerOptions, onError: console.error, ...more });
  };
  const withTools = { tools, stopWhen: stepCountIs(4), prompt: question };

  await check(
    `${provider}: generate`,
    ['You said: Hello'],
    async () => (await generate('demo', { prompt: 'Hello' })).text,
  );
  await check(`${provider}: stream`, ['You said: Hello'], async () => await stream('demo', { prompt: 'Hello' }).text);
  await check(`${provider}: two parallel tools`, answers, async () => (await generate('demo', withTools)).text);
  await check(`${provider}: tools, streamed`, answers, async () => await stream('demo', withTools).text);
  await check(`${provider}: output object`, ['"n":1'], async () => {
    const output = Output.object({ schema: z.object({ city: z.string(), n: z.number() }) });
    return JSON.stringify((await generate('demo', { output, prompt: 'Hello' })).output);
  });
  await check(`${provider}: reasoning, streamed`, ['words', 'You said: Hello'], async () => {
    const result = stream('demo-reasoning', { prompt: 'Hello' });
    return `${await result.reasoningText} ${await result.text}`;
  });
  await check(`${provider}: second turn`, ['You said: Again'], async () => {
    const first = await generate('demo-reasoning', { prompt: 'Hello' });
    const messages = [
      { role: 'user', content: 'Hello' },
      ...first.response.messages,
      { role: 'user', content: 'Again' },
    ];
    return (await generate('demo-reasoning', { messages })).text;
  });
  await check(`${provider}: 429`, ['429'], () => failureOf(() => generate('demo-error-429', { prompt: 'Hello' })));
}
