import { HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, tools } from '@langchain/openai';
import { z } from 'zod';

const chat = ({ baseURL, model }, more = {}) =>
  new ChatOpenAI({ model, apiKey: 'none', useResponsesApi: true, configuration: { baseURL }, ...more });
const prompt = (text) => [new SystemMessage('Be brief.'), new HumanMessage(text)];
const weather = {
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
};
const getWeather = tool(async ({ city }) => `${city}: sunny`, weather);
const deferred = tool(async ({ city }) => `${city}: sunny`, { ...weather, extras: { defer_loading: true } });

const text = async (options) => (await chat(options).invoke(prompt('Hi'))).text;

async function streamed(model, messages) {
  let whole;
  for await (const piece of await model.stream(messages)) whole = whole === undefined ? piece : whole.concat(piece);
  return whole;
}

async function toolLoop(options, ask, offered = [getWeather]) {
  const model = chat(options).bindTools(offered);
  const messages = prompt('Compare the weather in Paris and Rome.');
  const reply = await ask(model, messages);
  messages.push(reply);
  for (const { id, args } of reply.tool_calls)
    messages.push(new ToolMessage({ tool_call_id: id, content: await getWeather.invoke(args) }));
  return (await ask(model, messages)).text;
}

export const scenarios = {
  text,
  stream: async (options) => (await streamed(chat(options), prompt('Hi'))).text,
  tools: (options) => toolLoop(options, (model, messages) => model.invoke(messages)),
  'tools-stream': (options) => toolLoop(options, streamed),
  'tool-search': (options) =>
    toolLoop(options, (model, messages) => model.invoke(messages), [tools.toolSearch(), deferred]),
  structured(options) {
    const schema = z.object({ city: z.string(), n: z.number() });
    return chat(options).withStructuredOutput(schema, { method: 'jsonSchema' }).invoke(prompt('Hi'));
  },
  async reasoning(options) {
    const model = chat(options, { reasoning: { effort: 'low', summary: 'auto' }, zdrEnabled: true });
    const first = await streamed(model, prompt('Hi'));
    const shown = first.additional_kwargs.reasoning.summary.map(({ text }) => text).join('');
    const second = await model.invoke([...prompt('Hi'), first, new HumanMessage('And now?')]);
    return { shown, text: second.text };
  },
  'rate-limit': text,
  error: text,
  cut: async (options) => (await streamed(chat(options), prompt('Hi'))).text,
};
