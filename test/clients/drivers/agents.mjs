import {
  Agent,
  applyDiff,
  applyPatchTool,
  MemorySession,
  OpenAIResponsesCompactionSession,
  OpenAIResponsesModel,
  OpenAIResponsesWSModel,
  run,
  setTracingDisabled,
  shellTool,
  tool,
  toolSearchTool,
} from '@openai/agents';
import { SandboxAgent, UnixLocalSandboxClient } from '@openai/agents/sandbox/local';
import OpenAI from 'openai';
import { z } from 'zod';

setTracingDisabled(true);
const question = 'Compare the weather in Paris and Rome.';
const getWeather = {
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city}: sunny`,
};
const tools = [tool(getWeather)];
const deferred = tool({ ...getWeather, deferLoading: true });

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
  async websocket({ baseURL, model }) {
    const overWebSocket = new OpenAIResponsesWSModel(new OpenAI({ baseURL, apiKey: 'none' }), model);
    const first = await run(agent({ baseURL, model }, { model: overWebSocket, tools }), question);
    const { lastResponseId: previousResponseId } = first;
    const again = await run(agent({ baseURL, model }, { model: overWebSocket, tools }), 'Sure?', {
      previousResponseId,
    });
    await overWebSocket.close();
    return [first.finalOutput, again.finalOutput];
  },
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
  'tool-search': async (options) =>
    (await run(agent(options, { tools: [deferred, toolSearchTool()] }), question)).finalOutput,
  'client-tool-search': async (options) => {
    const search = toolSearchTool({ execution: 'client' });
    return (await streamed(options, { tools: [deferred, search] }, question)).finalOutput;
  },
  async shell(options) {
    const ran = [];
    const shell = {
      async run({ commands }) {
        ran.push(...commands);
        return { output: [{ stdout: 'heron\n', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] };
      },
    };
    const result = await run(agent(options, { tools: [shellTool({ shell })] }), 'Hi');
    return { text: result.finalOutput, ran };
  },
  async 'apply-patch'(options) {
    const files = {};
    const editor = {
      async createFile({ path, diff }) {
        files[path] = applyDiff('', diff, 'create');
        return { status: 'completed', output: `Wrote ${path}.` };
      },
      async updateFile() {},
      async deleteFile() {},
    };
    const result = await run(agent(options, { tools: [applyPatchTool({ editor })] }), 'Hi');
    return { text: result.finalOutput, files };
  },
  async compaction(options) {
    const session = new OpenAIResponsesCompactionSession({
      client: new OpenAI({ baseURL: options.baseURL, apiKey: 'none' }),
      model: 'gpt-agents', // it takes no other names
      underlyingSession: new MemorySession(),
      compactionMode: 'input',
      shouldTriggerCompaction: () => true,
    });
    await run(agent(options), 'The code word is heron.', { session });
    const types = (await session.getItems()).map(({ type }) => type);
    return { types, text: (await run(agent(options), 'What was it?', { session })).finalOutput };
  },
  async sandbox(options) {
    const boxed = new SandboxAgent({ name: 'boxed', instructions: 'Be brief.', model: modelOf(options) });
    return (await run(boxed, 'Hi', { sandbox: { client: new UnixLocalSandboxClient() } })).finalOutput;
  },
  async bells(options) {
    const rung = [];
    const ring = tool({
      name: 'ring',
      description: 'Rings a bell.',
      parameters: z.object({ bell: z.string() }),
      async execute({ bell }) {
        rung.push(bell);
        return `${bell} rang`;
      },
    });
    try {
      return { rung, text: (await streamed(options, { tools: [ring] }, 'Ring both bells.')).finalOutput };
    } catch (error) {
      return { rung, error: String(error.message) };
    }
  },
  'rate-limit': text,
  error: text,
  cut: async (options) => (await streamed(options)).finalOutput,
};
