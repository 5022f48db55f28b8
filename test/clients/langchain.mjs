// LangChain.  node test/clients/langchain.mjs [base URL]
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { answers, baseURL, check, failureOf, question } from './check.mjs';

const chat = (model, more = {}) =>
  new ChatOpenAI({ model, apiKey: 'none', useResponsesApi: true, maxRetries: 0, configuration: { baseURL }, ...more });
const getWeather = tool(async ({ city }) => `${city}: sunny`, {
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
});

async function joined(stream) {
  let whole;
  for await (const piece of stream) whole = whole === undefined ? piece : whole.concat(piece);
  return whole;
}

async function toolLoop(ask) {
  const model = chat('demo').bindTools([getWeather]);
  const messages = [new HumanMessage(question)];
  const reply = await ask(model, messages);
  messages.push(reply);
  for (const { id, args } of reply.tool_calls)
    messages.push(new ToolMessage({ tool_call_id: id, content: await getWeather.invoke(args) }));
  return (await model.invoke(messages)).text;
}

await check('langchain: invoke', ['You said: Hello'], async () => (await chat('demo').invoke('Hello')).text);
await check(
  'langchain: stream',
  ['You said: Hello'],
  async () => (await joined(await chat('demo').stream('Hello'))).text,
);
await check('langchain: two parallel tools', answers, () => toolLoop((model, messages) => model.invoke(messages)));
await check('langchain: tools, streamed', answers, () => {
  return toolLoop(async (model, messages) => joined(await model.stream(messages)));
});
await check('langchain: structured output', ['"n":1'], async () => {
  const schema = z.object({ city: z.string(), n: z.number() });
  return JSON.stringify(await chat('demo').withStructuredOutput(schema, { method: 'jsonSchema' }).invoke('Hello'));
});
await check('langchain: reasoning, given back', ['words', 'You said: Again'], async () => {
  const model = chat('demo-reasoning', { reasoning: { effort: 'low', summary: 'auto' }, zdrEnabled: true });
  const first = await model.invoke('Hello');
  const second = await model.invoke([new HumanMessage('Hello'), first, new HumanMessage('Again')]);
  return `${JSON.stringify(first.additional_kwargs.reasoning)} ${second.text}`;
});
await check('langchain: 429', ['429', 'try again in'], () => failureOf(() => chat('demo-error-429').invoke('Hello')));
