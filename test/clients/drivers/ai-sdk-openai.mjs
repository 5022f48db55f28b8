import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { scenariosOf } from './ai-sdk.mjs';

const modelOf = ({ baseURL, model }) => createOpenAI({ baseURL, apiKey: 'none' }).responses(model);
const providerOptions = {
  openai: { store: false, include: ['reasoning.encrypted_content'], reasoningSummary: 'auto' },
};

/** A tool of the provider's that runs here: first as JSON, then streamed. */
async function withTool(options, tools) {
  const request = { model: modelOf(options), providerOptions, tools, stopWhen: stepCountIs(4), prompt: 'Hi' };
  return [(await generateText(request)).text, await streamText(request).text];
}

export const scenarios = {
  ...scenariosOf(modelOf, providerOptions),
  async shell(options) {
    const ran = [];
    const shell = createOpenAI().tools.shell({
      async execute({ action }) {
        ran.push(...action.commands);
        return { output: [{ stdout: 'heron\n', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] };
      },
    });
    return { text: await withTool(options, { shell }), ran };
  },
  async 'local-shell'(options) {
    const ran = [];
    const local_shell = createOpenAI().tools.localShell({
      async execute({ action }) {
        ran.push(action.command);
        return { output: 'heron\n' };
      },
    });
    return { text: await withTool(options, { local_shell }), ran };
  },
  async 'apply-patch'(options) {
    const files = {};
    const apply_patch = createOpenAI().tools.applyPatch({
      async execute({ operation }) {
        files[operation.path] = operation.diff;
        return { status: 'completed', output: `Wrote ${operation.path}.` };
      },
    });
    return { text: await withTool(options, { apply_patch }), files };
  },
  'tool-search': async (options) => {
    const weather = tool({
      description: 'The weather in a city.',
      inputSchema: z.object({ city: z.string() }),
      providerOptions: { openai: { deferLoading: true } },
      execute: async ({ city }) => `${city}: sunny`,
    });
    return withTool(options, { toolSearch: createOpenAI().tools.toolSearch(), get_weather: weather });
  },
  async effort({ baseURL }) {
    const openai = { ...providerOptions.openai, reasoningEffortUpdate: 'low' };
    const model = createOpenAI({ baseURL, apiKey: 'none' }).responses('gpt-6-sol');
    return (await generateText({ model, providerOptions: { openai }, prompt: 'Hi' })).text;
  },
};
