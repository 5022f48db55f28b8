// An agent's loop: the model calls a tool, perhaps several times at once, and answers from the results. Nothing is
// stored between the turns, so the whole conversation is sent each time.
//   node docs/examples/tools.mjs [base URL] [model]
import OpenAI from 'openai';
import { baseURL, model } from './target.mjs';

const client = new OpenAI({ baseURL });

const tools = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'The weather in a city, now.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    strict: true,
  },
];
const getWeather = ({ city }) => `${city}: 21 degrees, sunny`;

const input = [{ role: 'user', content: 'Compare the weather in Paris and Rome.' }];
let response;
for (let turn = 0; turn < 5; turn++) {
  response = await client.responses.create({ model, tools, input, store: false });
  const calls = response.output.filter(({ type }) => type === 'function_call');
  if (calls.length === 0) break;
  input.push(...response.output); // the calls, and the reasoning that led to them
  for (const { call_id, name, arguments: json } of calls) {
    console.log(`${name}(${json})`);
    input.push({ type: 'function_call_output', call_id, output: getWeather(JSON.parse(json)) });
  }
}

console.log(response.output_text);
