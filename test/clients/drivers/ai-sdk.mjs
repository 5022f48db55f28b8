import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;
const tools = {
  get_weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `${city}: sunny`,
  }),
};
const loop = { prompt: 'Compare the weather in Paris and Rome.', tools, stopWhen: stepCountIs(4) };
const common = { instructions: 'Be brief.', prompt: 'Hi' };

/** The same scenarios for a provider: `modelOf` makes its model, `providerOptions` are its settings. */
export function scenariosOf(modelOf, providerOptions) {
  const generate = (options, more) => generateText({ model: modelOf(options), providerOptions, ...common, ...more });
  const text = async (options) => (await generate(options)).text;
  async function stream(options, more) {
    let failure;
    const onError = ({ error }) => {
      failure = error;
    };
    const result = streamText({ model: modelOf(options), providerOptions, ...common, onError, ...more });
    const whole = { text: '', shown: '' };
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') whole.text += part.text;
      if (part.type === 'reasoning-delta') whole.shown += part.text;
    }
    if (failure !== undefined) throw failure instanceof Error ? failure : new Error(JSON.stringify(failure));
    return { ...whole, text: await result.text, messages: (await result.response).messages };
  }
  return {
    text,
    stream: async (options) => (await stream(options)).text,
    tools: async (options) => (await generate(options, loop)).text,
    'tools-stream': async (options) => (await stream(options, loop)).text,
    async structured(options) {
      const output = Output.object({ schema: z.object({ city: z.string(), n: z.number() }) });
      return (await generate(options, { output })).output;
    },
    async reasoning(options) {
      const { shown, messages } = await stream(options);
      const turns = [{ role: 'user', content: 'Hi' }, ...messages, { role: 'user', content: 'And now?' }];
      return { shown, text: (await generate(options, { prompt: undefined, messages: turns })).text };
    },
    async bells(options) {
      const rung = [];
      const ring = tool({
        description: 'Rings a bell.',
        inputSchema: z.object({ bell: z.string() }),
        async execute({ bell }) {
          rung.push(bell);
          return `${bell} rang`;
        },
      });
      const settings = { prompt: 'Ring both bells.', tools: { ring }, stopWhen: stepCountIs(4) };
      try {
        return { rung, text: (await stream(options, settings)).text };
      } catch (error) {
        return { rung, error: String((error.lastError ?? error).message) };
      }
    },
    'rate-limit': text,
    error: text,
    cut: async (options) => (await stream(options)).text,
  };
}
